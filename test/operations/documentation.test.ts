import { expect, test } from 'vitest'
import { generatePages } from '../../scripts/docs/pages.ts'

test('api.md and the endpoint table of README.md are up to date', async () => {
  for (const { name, present, wanted } of await generatePages()) {
    expect(present === wanted, `${name} is stale: run \`node scripts/generate-docs.ts\``).toBe(true)
  }
}, 60_000)
