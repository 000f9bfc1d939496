import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { withEndpointTable } from '../../../scripts/endpoint-table.ts'

test('the endpoint table of the README is up to date', async () => {
  const readme = await readFile(new URL('../../../README.md', import.meta.url), 'utf8')
  expect(readme === withEndpointTable(readme), 'README.md is stale: run `npm run docs`').toBe(true)
})
