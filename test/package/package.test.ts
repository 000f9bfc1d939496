import { readdirSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Consumer, compile, compilers } from './consumers.ts'
import { installPacked, type Project } from './packed.ts'
import { comparesCopies, countsFiles, runsMe, runsStorageTests, watchesLoading } from './programs.ts'
import { violationsIn } from './public-types.ts'

let project: Project

beforeAll(async () => {
  project = await installPacked()
}, 300_000)

afterAll(() => project?.remove())

async function runProgram(name: string, text: string): Promise<unknown> {
  await writeFile(join(project.folder, name), text)
  return JSON.parse(await project.run(process.execPath, name))
}

test('the tarball contains exactly these files', () => {
  const names = project.files.map((path) => path.replace(/\/[a-z]+-[\w-]{8}\./, '/[shared].')).sort()
  const code = ['cjs', 'js']
  const maps = ['cjs.map', 'js.map']
  const types = ['d.cts', 'd.ts']
  expect(names).toEqual(
    [
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'package.json',
      ...filesIn('decisions'),
      ...filesIn('docs'),
      'dist/cli.js',
      ...filesOf('index', code, maps, types),
      ...filesOf('oauth', code, maps, types),
      ...filesOf('storage-tests', code, maps, types),
      ...filesOf('sandbox', code, types),
      'dist/third-party-licenses.txt',
      // Chunks shared by index and oauth, by oauth and storage-tests, and by sandbox.js and cli.js.
      ...filesOf('[shared]', code, maps, types),
      ...filesOf('[shared]', code, maps, types),
      ...filesOf('[shared]', ['js']),
      // Chunks that are loaded when they are first used: the schemas, and sealing.
      ...filesOf('[shared]', code, maps),
      ...filesOf('[shared]', code, maps),
    ].sort(),
  )
})

test('the licenses of all packages that the build carries are in the tarball', async () => {
  const read = (path: string) => readFile(join(project.installed, path), 'utf8')
  const code = await Promise.all(project.files.filter((path) => /\.c?js$/.test(path)).map(read))
  // The bundler names the file that each part comes from.
  const names = code.flatMap((text) => [...text.matchAll(/^\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)/gm)])
  const carried = [...new Set(names.map(([, name]) => name))].sort()
  const licenses = await read('dist/third-party-licenses.txt')
  expect(carried).toEqual(['@hono/node-server', 'hono', 'is-network-error', 'jose', 'oauth4webapi', 'zod'])
  for (const name of carried) expect(licenses).toMatch(new RegExp(`^${name}\n\n[^]{0,60}License`, 'm'))
})

function filesIn(folder: string): string[] {
  return readdirSync(new URL(`../../${folder}`, import.meta.url)).map((name) => `${folder}/${name}`)
}

function filesOf(entry: string, ...extensions: string[][]): string[] {
  return extensions.flat().map((extension) => `dist/${entry}.${extension}`)
}

describe('me() works against the sandbox', () => {
  const names: Readonly<Record<string, string>> = {
    'support-workspace-sdk': 'SupportWorkspace',
    'support-workspace-sdk/oauth': 'scopesFor',
    'support-workspace-sdk/sandbox': 'startSandbox',
  }

  test.each([
    ['import', 'me.mjs', (entry: string) => `import { ${names[entry]} } from '${entry}'`],
    ['require', 'me.cjs', (entry: string) => `const { ${names[entry]} } = require('${entry}')`],
  ])('through %s', async (_, file, load) => {
    expect(await runProgram(file, runsMe(load))).toEqual({ actor: 'self', scopes: ['messages:write'] })
  })
})

test.each([
  ['import', 'storage.mjs', "import { storageTests } from 'support-workspace-sdk/storage-tests'"],
  ['require', 'storage.cjs', "const { storageTests } = require('support-workspace-sdk/storage-tests')"],
])('the storage tests run through %s', async (_, file, load) => {
  expect(await runProgram(file, runsStorageTests(load))).toEqual({ passed: 11, failed: [] })
})

test('instanceof and isSupportWorkspaceError work across the ESM and CommonJS builds', async () => {
  const same = [true, true, true, true, false]
  expect(await runProgram('copies.mjs', comparesCopies)).toEqual({
    copiesDiffer: true,
    esmErrorInCjs: same,
    cjsErrorInEsm: same,
    oauthErrorInMain: true,
    classIsShared: true,
    classIsSharedInCjs: true,
  })
})

describe('loading an entry point has no side effects', () => {
  const entries = [
    'support-workspace-sdk',
    'support-workspace-sdk/oauth',
    'support-workspace-sdk/storage-tests',
    'support-workspace-sdk/sandbox',
  ]
  const loads = entries.flatMap((entry) => [
    [`import('${entry}')`, `await import('${entry}')`],
    [`require('${entry}')`, `require('${entry}')`],
  ])

  test.each(loads)('%s', async (_, load = '') => {
    expect(await runProgram('loading.mjs', watchesLoading(load))).toEqual({ touched: [], added: [], opened: 0 })
  })
})

describe('the number of files that are loaded', () => {
  const create = "new SupportWorkspace({ baseUrl: 'http://localhost:1', accessToken: 'token' })"
  const loadsClient = "const { SupportWorkspace, schemas } = await import('support-workspace-sdk')"

  test.each([
    // The entry point, the chunk that it shares with others, and is-network-error.
    ['to create a client', `${loadsClient}; ${create}`, 3],
    ['to validate with a schema', `${loadsClient}; await schemas.user['~standard'].validate({})`, 4],
    // Two chunks that it shares with others, is-network-error and oauth4webapi. No schema, and nothing of sealing.
    ['to learn scopes', "const { scopesFor } = await import('support-workspace-sdk/oauth'); scopesFor('tasks.get')", 5],
  ])('%s is counted', async (_, program, count) => {
    const { loaded } = (await runProgram('count.mjs', countsFiles(program))) as { loaded: string[] }
    expect(loaded, loaded.join('\n')).toHaveLength(count)
  })
})

test('no declaration contains `any` or a type of another package or of Node', async () => {
  const folder = join(project.installed, 'dist')
  const declarations = (await readdir(folder)).filter((name) => /\.d\.c?ts$/.test(name))
  expect(declarations.length).toBe(12)
  for (const name of declarations) expect(await violationsIn(join(folder, name)), name).toEqual([])
})

describe('a project that uses the package compiles', () => {
  const bare = { file: 'use.ts', lib: ['ES2022'] }
  const consumers: Readonly<Record<string, Consumer>> = {
    'node16, ES modules': { type: 'module', resolution: 'node16', ...bare },
    'node16, CommonJS': { type: 'commonjs', resolution: 'node16', ...bare },
    'nodenext, ES modules': { type: 'module', resolution: 'nodenext', ...bare },
    'nodenext, CommonJS': { type: 'commonjs', resolution: 'nodenext', ...bare },
    bundler: { type: 'module', resolution: 'bundler', ...bare },
    'the DOM library': { type: 'module', resolution: 'bundler', file: 'dom.ts', lib: ['ES2022', 'DOM'] },
    'the types of Node': {
      type: 'module',
      resolution: 'nodenext',
      file: 'node.ts',
      lib: ['ES2022', 'ESNext.Disposable'],
      types: ['node'],
    },
  }
  const matrix = Object.keys(compilers).flatMap((compiler) =>
    Object.entries(consumers).map(([name, consumer]) => [compiler, name, consumer] as const),
  )

  test.concurrent.each(matrix)(
    'TypeScript %s: %s',
    async (compiler, name, consumer) => {
      await compile(project, compiler, name.replaceAll(/\W+/g, '-'), consumer)
    },
    300_000,
  )
})
