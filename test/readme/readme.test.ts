import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import * as main from 'support-workspace-sdk'
import * as oauth from 'support-workspace-sdk/oauth'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type LoopbackProxy, startProxy } from '../helpers/proxy.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
// Inside the project, so that the examples resolve what a reader's project would.
const folder = `${root}test/readme/.examples`

const readme = await readFile(`${root}README.md`, 'utf8')
const examples = readExamples(readme)

let sandbox: Sandbox
let proxy: LoopbackProxy

beforeAll(async () => {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  for (const { file, code } of examples) await writeFile(file, `${code}\nexport {}\n`)
  const redirectUri = 'http://127.0.0.1:3000/callback'
  sandbox = await startSandbox({ conversations: 120, app: { redirectUris: [redirectUri] } })
  proxy = await startProxy()
  const { clientId, clientSecret } = sandbox.app
  const secret = 'thirty-two characters, or some more'
  const given = {
    baseUrl: sandbox.url,
    clientId,
    clientSecret,
    redirectUri,
    secret,
    visit,
    keep: vi.fn(),
    proxyUrl: proxy.url,
  }
  for (const [name, value] of Object.entries(given)) vi.stubGlobal(name, value)
})

afterAll(async () => {
  await proxy.close()
  await sandbox.close()
  vi.unstubAllGlobals()
  await rm(folder, { recursive: true, force: true })
})

test('the README has examples', () => {
  expect(examples.length).toBeGreaterThanOrEqual(11)
})

test('every relative link of the README leads to a file of the package', async () => {
  const { files } = JSON.parse(await readFile(`${root}package.json`, 'utf8'))
  const targets = [...readme.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, target]) => target)
  expect(targets.length).toBeGreaterThanOrEqual(5)
  expect(targets.filter((target) => !files.includes(target))).toEqual([])
})

test('the README names every error class', () => {
  const names = Object.keys({ ...main, ...oauth }).filter((name) => /^[A-Z].*Error$/.test(name))
  expect(names.length).toBeGreaterThan(10)
  expect(names.filter((name) => !readme.includes(`\`${name}\``))).toEqual([])
})

test('every example of the README compiles in strict mode', () => {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const files = [...examples.map(({ file }) => file), `${root}test/readme/globals.d.ts`]
  const program = ts.createProgram(files, { ...options, noUnusedLocals: false })
  const problems = ts
    .getPreEmitDiagnostics(program)
    .filter((diagnostic) => diagnostic.file?.fileName.startsWith(folder))
    .map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
  expect(problems).toEqual([])
}, 180_000)

describe('every example of the README runs', () => {
  test.each(examples.map((example) => [example.title, example] as const))('%s', async (_, { file }) => {
    const printed = ['log', 'warn'].map((name) => vi.spyOn(console, name as 'log').mockImplementation(() => {}))
    vi.stubGlobal('accessToken', sandbox.issueToken({ actor: file.includes('actors') ? 'app' : 'self' }))
    await import(/* @vite-ignore */ file)
    expect(printed.some((spy) => spy.mock.calls.length > 0)).toBe(true)
  })
})

interface Example {
  title: string
  file: string
  code: string
}

/** The TypeScript blocks, named by their section. */
function readExamples(text: string): Example[] {
  const found: Example[] = []
  let title = ''
  for (const [, heading, code] of text.matchAll(/^## (.+)$|^```ts\n([\s\S]*?)^```$/gm)) {
    if (heading !== undefined) title = heading
    if (code === undefined) continue
    const number = found.length + 1
    const name = title.toLowerCase().replaceAll(/[^a-z]+/g, '-')
    found.push({ title: `${title} (${number})`, file: `${folder}/${number}-${name}.ts`, code })
  }
  return found
}

async function visit(url: string): Promise<string> {
  const consent = await fetch(`${url}&auto=allow`, { redirect: 'manual' })
  return consent.headers.get('location') ?? ''
}
