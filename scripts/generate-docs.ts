// Writes api.md and the endpoint table of README.md. With --check, writes nothing and fails if they are out of date.
import { writeFile } from 'node:fs/promises'
import { generatePages } from './docs/pages.ts'

const stale = (await generatePages()).filter(({ present, wanted }) => present !== wanted)

if (process.argv.includes('--check')) {
  for (const { name } of stale) console.error(`${name} is out of date. Run \`npm run docs\`.`)
  process.exitCode = stale.length === 0 ? 0 : 1
} else {
  for (const { name, path, wanted } of stale) {
    await writeFile(path, wanted)
    console.log(`Wrote ${name}.`)
  }
}
