import { expect, test, vi } from 'vitest'
import { createSealer } from '../../src/shared/seal.ts'
import { rejection } from '../helpers/client.ts'

vi.mock('../../src/shared/jwe.ts', () => {
  throw new Error("Cannot find module '/srv/app/node_modules/x/dist/jwe.js'")
})

test('an error names the encryption if its file is not there', async () => {
  const sealer = createSealer('a secret of at least thirty-two characters', 'test')
  for (const attempt of [sealer.seal({}), sealer.open('x.y.z')]) {
    expect(await rejection(attempt)).toMatchObject({
      name: 'SupportWorkspaceError',
      remedy: 'retry',
      message: expect.stringContaining('The encryption of this package could not be loaded.'),
    })
  }
})
