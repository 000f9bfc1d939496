import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { version } from '../../src/shared/version.ts'

test('the version in the User-Agent is the version in package.json', async () => {
  const { version: published } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(version).toBe(published)
})
