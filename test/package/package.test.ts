import { readdirSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Consumer, compile, compilers } from './consumers.ts'
import { installPacked, type Project } from './packed.ts'
import { comparesCopies, runsMe, runsStorageTests, watchesLoading } from './programs.ts'
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
      // Chunks shared by index and oauth, by oauth and storage-tests, and by sandbox.js and cli.js.
      ...filesOf('[shared]', code, maps, types),
      ...filesOf('[shared]', code, maps, types),
      ...filesOf('[shared]', ['js']),
    ].sort(),
  )
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

  // zod shares its configuration between all copies of zod in a program.
  const zodGlobals = ['__zod_globalConfig', '__zod_globalRegistry']

  test.each(loads)('%s', async (_, load = '') => {
    const { added, ...rest } = (await runProgram('loading.mjs', watchesLoading(load))) as { added: string[] }
    expect(rest).toEqual({ touched: [], opened: 0 })
    expect(added.filter((name) => !zodGlobals.includes(name))).toEqual([])
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
