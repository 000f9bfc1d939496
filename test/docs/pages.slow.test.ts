import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { installPacked, type Project } from '../package/packed.ts'
import { importsOf, programOf, readPage, root } from './page.ts'
import { programs } from './programs/index.ts'
import { runByEngines } from './programs/jobs.ts'
import { install, makeFolder, openReader, type Program } from './reader.ts'

/** As the page on TypeScript says. */
const compilerOptions = {
  module: 'nodenext',
  target: 'es2023',
  strict: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  checkJs: true,
  skipLibCheck: true,
  types: ['node'],
}

let project: Project
/** Apart from the project, whose packages the pages would find as well. */
let pages: string

beforeAll(async () => {
  project = await installPacked()
  pages = await mkdtemp(join(tmpdir(), 'pages-'))
}, 300_000)
afterAll(async () => {
  await project.remove()
  await rm(pages, { recursive: true, force: true })
})

const only = process.env.PAGE ?? ''

describe.each(Object.entries(programs).filter(([path]) => path.includes(only)))('%s', (path, entries) => {
  const page = readPage(path)
  // Pages that install the same packages share them, as copying and compiling the package takes long.
  const modules = () => join(pages, [...page.packages].sort().join('+').replaceAll('/', '-'), 'node_modules')
  const save = async (name: string, files = page.files) => {
    const folder = `${pages}/${path}/${name.replaceAll('/', '-')}`
    await makeFolder(folder, files, modules())
    return folder
  }

  // `test/engines` installs the packages of the others, and compiles and runs their programs.
  const isHere = Object.values(entries).some((entry) => entry !== runByEngines)
  beforeAll(() => (isHere && !existsSync(modules()) ? install(page, modules(), project.installed) : undefined))

  test('has an entry for each program', () => {
    const imported = [...page.files].flatMap(([name, code]) => importsOf(name, code))
    const names = [...page.files.keys()].filter((name) => !imported.includes(name) || name in entries)
    expect(Object.keys(entries).sort()).toEqual(names.sort())
  })

  test.runIf(isHere)('compiles in strict mode', async () => {
    const folder = await save('types')
    await writeFile(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions }))
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [`${root}node_modules/typescript-7/bin/tsc`, '--pretty', 'false'],
      { cwd: folder },
    ).catch((error: { stdout: string }) => error)
    expect(stdout).toBe('')
  })

  const runnable = Object.entries(entries).filter(
    (entry): entry is [string, Exclude<Program, object & { typesOnly: string }>] => {
      return typeof entry[1] === 'function'
    },
  )
  test.each(runnable)('%s', async (name, use) => {
    await use(await openReader(page, await save(name, programOf(page, name)), name))
  })
})
