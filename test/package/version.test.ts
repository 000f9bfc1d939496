import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { version } from '../../src/version.ts'

test('the version in the User-Agent is that of the package', async () => {
  const { version: published } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(version).toBe(published)
})
