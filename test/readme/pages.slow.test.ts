import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { installPacked, type Project } from '../package/packed.ts'
import { importsOf, readPage, root } from './page.ts'
import { programs } from './programs/index.ts'
import { openReader, type Program, saveFiles } from './reader.ts'

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

beforeAll(async () => {
  project = await installPacked()
}, 120_000)
afterAll(() => project.remove())

const only = process.env.PAGE ?? ''

describe.each(Object.entries(programs).filter(([path]) => path.includes(only)))('%s', (path, entries) => {
  const page = readPage(path)
  const folderOf = (name: string) => `${project.folder}/${path}/${name}`

  test('has an entry for each program', () => {
    const imported = [...page.files].flatMap(([name, code]) => importsOf(name, code))
    const names = [...page.files.keys()].filter((name) => !imported.includes(name) || name in entries)
    expect(Object.keys(entries).sort()).toEqual(names.sort())
  })

  test('compiles in strict mode', async () => {
    const folder = folderOf('types')
    await mkdir(folder, { recursive: true })
    await saveFiles(page, folder, project.installed)
    await writeFile(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions }))
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [`${root}node_modules/typescript/bin/tsc`, '--pretty', 'false'],
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
    const folder = folderOf(name.replaceAll('/', '-'))
    await mkdir(folder, { recursive: true })
    await saveFiles(page, folder, project.installed)
    await use(await openReader(folder, name))
  })
})
