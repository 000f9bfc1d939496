import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { publicApi, publicApiFile } from '../../scripts/public-api.ts'

test('the public declarations are those that were agreed to', () => {
  const agreed = readFileSync(publicApiFile, 'utf8')
  const hint = 'If it is meant, run `npm run api`, look at the difference, and add a changeset with `npx changeset`.'
  expect(publicApi(), `The public declarations have changed. ${hint}`).toBe(agreed)
  // Each entry point is there.
  for (const name of ['class SupportWorkspace', 'class ConnectionStore', 'function startSandbox']) {
    expect(agreed).toContain(`export declare ${name}`)
  }
})
