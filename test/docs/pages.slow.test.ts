import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { installPacked, type Project } from '../package/packed.ts'
import { commentExamples } from './comment-examples.ts'
import { importsOf, type Page, programOf, readPage, root } from './page.ts'
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
const chosen = Object.entries(programs).filter(([path]) => path.includes(only))
// `test/engines` installs the packages of the others, and compiles and runs their programs.
const isHere = ([, entries]: (typeof chosen)[number]) => Object.values(entries).some((one) => one !== runByEngines)

/** Saves files of a page in a folder of their own. */
async function save(page: Page, name: string, files = page.files) {
  // Pages that install the same packages share them, as copying and compiling the package takes long.
  const modules = join(pages, [...page.packages].sort().join('+').replaceAll('/', '-'), 'node_modules')
  if (!existsSync(modules)) await install(page, modules, project.installed)
  const folder = `${pages}/${page.path}/${name.replaceAll('/', '-')}`
  await makeFolder(folder, files, modules)
  return folder
}

/** Compiles the files below a folder in strict mode, and returns what the compiler says. */
async function compile(folder: string, include: string): Promise<string> {
  const typeRoots = [`${root}node_modules/@types`]
  const settings = { compilerOptions: { ...compilerOptions, typeRoots }, include: [include] }
  await writeFile(`${folder}/tsconfig.json`, JSON.stringify(settings))
  const compiler = `${root}node_modules/typescript-7/bin/tsc`
  const { stdout } = await promisify(execFile)(process.execPath, [compiler, '--pretty', 'false'], {
    cwd: folder,
  }).catch((error: { stdout: string }) => error)
  return stdout
}

test('every page compiles', async () => {
  for (const [path] of chosen.filter(isHere)) await save(readPage(path), 'types')
  expect(await compile(pages, '**/types/**/*')).toBe('')
})

test('every example of a docs comment compiles', async () => {
  const examples = commentExamples()
  expect(examples.length).toBeGreaterThan(30)
  const files = new Map(examples.map(({ path, code }) => [path, code]))
  files.set('globals.d.ts', await readFile(`${root}test/docs/comment-globals.d.ts`, 'utf8'))
  const folder = await save({ path: 'comments', files, packages: ['express', '@types/express'] }, 'examples')
  await writeFile(`${folder}/package.json`, '{ "type": "module" }')
  expect(await compile(folder, '**/*')).toBe('')
})

describe.each(chosen)('%s', (path, entries) => {
  const page = readPage(path)

  test('has an entry for each program', () => {
    const imported = [...page.files].flatMap(([name, code]) => importsOf(name, code))
    const names = [...page.files.keys()].filter((name) => !imported.includes(name) || name in entries)
    expect(Object.keys(entries).sort()).toEqual(names.sort())
  })

  const runnable = Object.entries(entries).filter(
    (entry): entry is [string, Exclude<Program, object & { typesOnly: string }>] => {
      return typeof entry[1] === 'function'
    },
  )
  test.each(runnable)('%s', async (name, use) => {
    await use(await openReader(page, await save(page, name, programOf(page, name)), name))
  })
})

/** Lets retries wait as short as they can. */
const withoutPauses = { NODE_OPTIONS: '--import=data:text/javascript,Math.random=()=>0' }

/** The programs of the pages that tell a supervisor how they ended. */
const supervised = chosen.flatMap(([path]) => {
  const text = readFileSync(root + path, 'utf8')
  const files = [...readPage(path).files].filter(([name]) => text.includes(`// ${name}\n`)) // not those of other pages
  return files.filter(([, code]) => code.includes('exitCodeOf(error)')).map(([name]) => [path, name] as const)
})

/** How these end with a revoked token, a rejected request, and without a service. */
const exitCodes: Readonly<Record<string, readonly number[]>> = {
  'watch.mts': [77], // the feed goes on after the others
  'send.mts': [0, 0, 0], // nothing is to be sent
}

test.each(supervised)('%s: the exit codes of %s', async (path, name) => {
  const page = readPage(path)
  const folder = await save(page, `exit-codes-of-${name}`, programOf(page, name))
  await writeFile(`${folder}/emails.txt`, 'new@example.com')
  const args = name === 'export.mts' ? ['conversations.ndjson'] : []
  const { sandbox, run } = await openReader(page, folder, name)
  const revoked = sandbox.issueToken({ actor: 'self' })
  sandbox.revoke(revoked)
  const [reconnect, fix, retry] = exitCodes[name] ?? [77, 70, 75]
  const asRevoked = await run({ args, env: { SUPPORT_WORKSPACE_TOKEN: revoked } })
  expect(asRevoked.code, asRevoked.stderr).toBe(reconnect)
  if (fix === undefined) return
  sandbox.faults.add({ status: 400, times: Number.POSITIVE_INFINITY })
  const rejected = await run({ args })
  expect(rejected.code, rejected.stderr).toBe(fix)
  await sandbox.close()
  const unreachable = await run({ args, env: withoutPauses })
  expect(unreachable.code, unreachable.stderr).toBe(retry)
})
