import { readdirSync, readFileSync } from 'node:fs'
import { readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { isFull } from '../../proofs/is-full.ts'
import { type Consumer, compile } from './consumers.ts'
import { installPacked, type Project } from './packed.ts'
import {
  comparesCopies,
  faultTestsMe,
  faultTestsOtherCopy,
  faultTestsProgram,
  interceptsMe,
  type Load,
  lacksMsw,
  readsConsole,
} from './programs.ts'
import { violationsIn } from './public-types.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
/** The entry points of the package. */
const entries = Object.keys(exports)
  .filter((path) => !path.endsWith('.json'))
  .map((path) => join('support-workspace-sdk', path))

let project: Project

beforeAll(async () => {
  project = await installPacked()
}, 300_000)

afterAll(() => project?.remove())

async function runProgram(name: string, text: string): Promise<unknown> {
  await writeFile(join(project.folder, name), text)
  return JSON.parse(await project.run(process.execPath, name))
}

test('the tarball contains exactly these files, declarations, and chunks that several of them share', () => {
  const isChunk = (path: string) => /^dist\/[a-z-]+-[A-Z\d]{8}\./.test(path)
  const names = project.files.filter((path) => !/\.d\.c?ts$/.test(path) && !isChunk(path)).sort()
  const programs = entries.map((entry) => entry.replace('support-workspace-sdk', '').slice(1) || 'index')
  const withoutMap = ['sandbox']
  const maps = programs.filter((name) => !withoutMap.includes(name)).map((name) => `dist/${name}.js.map`)
  expect(names).toEqual(
    [
      'AGENTS.md',
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'package.json',
      'test/storage/contract.ts',
      ...filesIn('decisions'),
      ...filesIn('docs'),
      'dist/cli.js',
      ...programs.flatMap((name) => [`dist/${name}.js`, `dist/${name}.cjs`]),
      ...maps,
      'dist/openapi.json',
      'dist/fault-test-preload.js',
      'dist/third-party-licenses.txt',
    ].sort(),
  )
  const chunks = project.files.filter(isChunk).map((path) => path.slice(path.indexOf('.')))
  expect(new Set(chunks)).toEqual(new Set(['.js', '.js.map', '.cjs']))
})

test('the licenses of all packages that the build carries are in the tarball', async () => {
  const read = (path: string) => readFile(join(project.installed, path), 'utf8')
  const code = await Promise.all(project.files.filter((path) => /\.c?js$/.test(path)).map(read))
  // The bundler names the file that each part comes from.
  const names = code.flatMap((text) => [...text.matchAll(/^\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)/gm)])
  const carried = [...new Set(names.map(([, name]) => name))].sort()
  const licenses = await read('dist/third-party-licenses.txt')
  const width = ['fast-string-truncated-width', 'fast-string-width']
  const command = ['commander', 'csv-parse', 'csv-stringify', 'yocto-spinner', 'yoctocolors', ...width]
  const browser = [
    'bundle-name',
    'default-browser',
    'define-lazy-prop',
    'is-inside-container',
    'is-wsl',
    'open',
    'wsl-utils',
  ]
  expect(carried).toEqual(
    [
      '@hono/node-server',
      'entities',
      'hono',
      'htmlparser2',
      'jose',
      'ky',
      'oauth4webapi',
      'zod',
      ...command,
      ...browser,
    ].sort(),
  )
  for (const name of [...carried, '@standard-schema/spec'])
    expect(licenses).toMatch(new RegExp(`^${name}\n\n[^]{0,60}(License|Copyright)`, 'm'))
})

function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder)).map((name) => `${folder}/${name}`)
}

describe.each([
  ['import', 'program.mjs', (names: string, from: string) => `import { ${names} } from '${from}'`],
  ['require', 'program.cjs', (names: string, from: string) => `const { ${names} } = require('${from}')`],
] as const)('through %s', (_, file, load) => {
  test.each<[string, (load: Load) => string, unknown]>([
    ['a job is fault-tested', faultTestsMe, { failures: [], refused: 'ok' }],
    ['the sandbox carries its console', readsConsole, ['/_sandbox/style.css', '/_sandbox/reload.js']],
    [
      'handlers() names the command that installs msw',
      lacksMsw,
      expect.stringContaining('`npm install --save-dev msw`'),
    ],
  ])('%s', async (_, program, expected) => {
    expect(await runProgram(file, program(load))).toEqual(expected)
  })

  test.each([
    ['msw', '3'],
    ['msw-2', '2'],
  ])('setupServer of %s intercepts requests with the handlers', async (name, major) => {
    const path = join(project.folder, 'node_modules', 'msw')
    await symlink(join(root, 'node_modules', name), path, 'junction')
    onTestFinished(() => rm(path))
    expect(JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')).version.split('.')[0]).toBe(major)
    expect(await runProgram(file, interceptsMe(load))).toEqual(['app', 1])
  })
})

test('the command runs from the package', async () => {
  const { version } = JSON.parse(readFileSync(join(project.installed, 'package.json'), 'utf8'))
  expect(await project.run(process.execPath, join(project.installed, 'dist/cli.js'), '--version')).toBe(`${version}\n`)
})

test('a CommonJS client keeps its not-sent in a fault test of the ESM build', async () => {
  expect(await runProgram('other-copy.mjs', faultTestsOtherCopy)).toEqual([
    ['rejected with NetworkError (retry)', 'resolved'],
  ])
})

test.each(['program.mjs', 'program.cjs'])(
  'a program is fault-tested through %s, with the clock of the package',
  async (file) => {
    const load = file.endsWith('.cjs')
      ? "const { faultTestProgram } = require('support-workspace-sdk/fault-test')"
      : "import { faultTestProgram } from 'support-workspace-sdk/fault-test'"
    expect(await runProgram(file, faultTestsProgram(load))).toEqual([
      'killed-after-effect@1: was killed, ended with code 0 (done)',
    ])
  },
)

// What else holds across copies is asserted in `test/errors/errors.test.ts`.
test('instanceof works across the ESM and CommonJS builds', async () => {
  expect(await runProgram('copies.mjs', comparesCopies)).toEqual({
    copiesDiffer: true,
    esmErrorInCjs: true,
    cjsErrorInEsm: true,
    oauthErrorInMain: true,
    classIsShared: true,
    classIsSharedInCjs: true,
  })
})

describe('the declarations', () => {
  const declarations = () => project.files.filter((path) => /\.d\.c?ts$/.test(path))
  const read = (path: string) => readFileSync(join(project.installed, path), 'utf8')

  test('contain no `any` and no type of another package or of Node', async () => {
    expect(declarations().length).toBeGreaterThan(100)
    for (const path of declarations()) {
      // These are types of an optional peer, which its users have installed.
      const allowed = path.startsWith('dist/otel.') ? ['@opentelemetry/api'] : []
      expect(await violationsIn(join(project.installed, path), allowed), path).toEqual([])
    }
  })

  test('have links that lead to pages of the package', () => {
    const links = declarations().flatMap((path) =>
      [...read(path).matchAll(/\]\(([^)#\s]+\.md)/g)].map(([, link = '']) => posix.join(posix.dirname(path), link)),
    )
    expect(links.length).toBeGreaterThan(50)
    expect(links.filter((path) => !project.files.includes(path))).toEqual([])
  })

  test('leave out what is internal', () => {
    expect(declarations().filter((path) => /LiveConnections|RateQueue|Transport\b/.test(read(path)))).toEqual([])
  })
})

describe('a project that uses the package compiles', () => {
  // `fetch`, `Response`, `Headers` and `AbortSignal` come from the types of Node, the DOM library or the one of workers.
  const node = { files: ['use.ts'], lib: ['ES2022'], types: ['node'] }
  // The types of OpenTelemetry name `console`.
  const otel = { files: ['otel.ts'], lib: ['ES2022', 'DOM'] }
  const consumers: Readonly<Record<string, Consumer>> = {
    'nodenext, ES modules': { type: 'module', resolution: 'nodenext', ...node },
    'nodenext, CommonJS': { type: 'commonjs', resolution: 'nodenext', ...node },
    bundler: { type: 'module', resolution: 'bundler', files: ['use.ts', 'dom.ts'], lib: ['ES2022', 'DOM'] },
    'a bundler, for workers': {
      type: 'module',
      resolution: 'bundler',
      files: ['use.ts'],
      lib: ['ES2022', 'WebWorker'],
    },
    'OpenTelemetry, ES modules': { type: 'module', resolution: 'nodenext', ...otel },
    'the types of Node': {
      type: 'module',
      resolution: 'nodenext',
      files: ['node.ts'],
      lib: ['ES2022', 'ESNext.Disposable'],
      types: ['node'],
    },
  }
  const beforeRelease: Readonly<Record<string, Consumer>> = {
    'node16, ES modules': { type: 'module', resolution: 'node16', ...node },
    'node16, CommonJS': { type: 'commonjs', resolution: 'node16', ...node },
    'OpenTelemetry, CommonJS': { type: 'commonjs', resolution: 'nodenext', ...otel },
  }
  // The newest compiler is ten times as fast as the older ones, which check projects before a release only.
  const byCompiler: Readonly<Record<string, Readonly<Record<string, Consumer>>>> = isFull
    ? { '5.9': beforeRelease, '6.0': consumers, '7.0': { ...consumers, ...beforeRelease } }
    : { '7.0': consumers }
  const matrix = Object.entries(byCompiler).flatMap(([compiler, chosen]) =>
    Object.entries(chosen).map(([name, consumer]) => [compiler, name, consumer] as const),
  )

  test.concurrent.each(matrix)(
    'TypeScript %s: %s',
    async (compiler, name, consumer) => {
      await compile(project, compiler, name.replaceAll(/\W+/g, '-'), consumer)
    },
    300_000,
  )
})
