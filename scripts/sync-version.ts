// Copies the version of package.json to src/shared/version.ts. Part of `npm run version-package`.
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const { version } = JSON.parse(await readFile(`${root}package.json`, 'utf8'))
const file = `${root}src/shared/version.ts`
const text = await readFile(file, 'utf8')
await writeFile(file, text.replace(/version = '.*'/, `version = '${version}'`))
