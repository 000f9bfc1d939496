// Fails while the package lacks an address that a published package needs. See CONTRIBUTING.md, "Before the first release".
//
//   npm run check:release
//   node scripts/check-release.ts path/to/project
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const root = process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url))
const { repository, homepage, bugs } = JSON.parse(await readFile(`${root}/package.json`, 'utf8'))
const [, reporting = ''] = /## Reporting\n(.*?)(?=\n## |$)/s.exec(await readFile(`${root}/SECURITY.md`, 'utf8')) ?? []

const missing = [
  [
    repository?.url ?? repository,
    '`repository` in package.json, which npm compares with the provenance of the package',
  ],
  [homepage, '`homepage` in package.json'],
  [bugs?.url ?? bugs, '`bugs` in package.json'],
  [/https:\/\/\S+|\S+@\S+\.\S+/.exec(reporting)?.[0], 'the address for vulnerabilities in SECURITY.md, "Reporting"'],
]
  .filter(([value]) => typeof value !== 'string' || value === '')
  .map(([, what]) => `- ${what}`)

if (missing.length > 0) {
  console.error(
    `The package cannot be published yet. Missing:\n${missing.join('\n')}\nSee CONTRIBUTING.md, "Before the first release".`,
  )
  process.exitCode = 1
}
