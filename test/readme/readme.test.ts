import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type LoopbackProxy, startProxy } from '../helpers/proxy.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
// Inside the project, so that the examples resolve what a reader's project would.
const folder = `${root}test/readme/.examples`

const examples = readExamples(await readFile(`${root}README.md`, 'utf8'))

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

test('the README has examples for each thing it promises', () => {
  expect(examples.length).toBeGreaterThanOrEqual(8)
})

test('every example of the README compiles under the strictest options', () => {
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
function readExamples(readme: string): Example[] {
  const found: Example[] = []
  let title = ''
  for (const [, heading, code] of readme.matchAll(/^## (.+)$|^```ts\n([\s\S]*?)^```$/gm)) {
    if (heading !== undefined) title = heading
    if (code === undefined) continue
    const number = found.length + 1
    const name = title.toLowerCase().replaceAll(/[^a-z]+/g, '-')
    found.push({ title: `${title} (${number})`, file: `${folder}/${number}-${name}.ts`, code })
  }
  return found
}

async function visit(url: string): Promise<string> {
  const answer = await fetch(`${url}&auto=allow`, { redirect: 'manual' })
  return answer.headers.get('location') ?? ''
}
