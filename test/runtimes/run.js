/**
 * Packs the built SDK, installs it here with the runtimes or the bundlers, and runs the smoke test against one sandbox in
 * each of them.
 *
 *   npm run test:runtimes                with the oldest Node, 22.0, and the project's
 *   PROOFS=full npm run test:runtimes    with the newest as well
 *   npm run test:bundlers
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startNext, textInChromium, withViteBundle, withWebpackBundle } from './bundlers.js'

const run = promisify(execFile)
const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../..', import.meta.url))
const bin = `${here}node_modules/.bin`
// The Node of this process may be one of those installed here.
const node24 = `${root}node_modules/node/bin/node`

const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', here], { cwd: root })
const [{ filename }] = JSON.parse(stdout)
const areBundlers = process.argv[2] === 'bundlers'
const isFull = process.env.PROOFS === 'full'
const quiet = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund']
// Some runtimes are downloaded by a script of their package.
const options = [...quiet, '--ignore-scripts=false', ...(areBundlers ? [] : ['--omit=dev'])]
const newest = isFull ? ['node26@npm:node@26.10.0'] : []
await run('npm', ['install', ...options, ...newest, `./${filename}`], { cwd: here })

const { startSandbox } = await import('support-workspace-sdk/sandbox')
const sandbox = await startSandbox({ conversations: 120 })
sandbox.faults.add({
  path: '/api/oauth/v1/organization',
  times: 1000,
  status: 302,
  headers: { location: 'https://elsewhere.example/' },
})
sandbox.faults.add({ path: '/api/oauth/v1/segments', times: 1000, status: 403, body: { error: 'forbidden' } })

/** Whether the line of the caller is in the stack, in V8. */
const stacks = [
  ...['await', 'withResponse', 'request', 'nested', 'for await', 'for await of pages', 'toArray', 'page'],
  ...['.then', '.finally', 'Promise.all', 'Promise.race'],
]
  .map((shape) => `${shape} yes`)
  .concat('awaited later no')
  .join(', ')
const withoutStacks = stacks.replaceAll('yes', 'no')

const given = {
  baseUrl: sandbox.url,
  closedUrl: await closedUrl(),
  refusedOutcome: 'not-sent',
  selfToken: sandbox.issueToken({ actor: 'self' }),
  appToken: sandbox.issueToken({ actor: 'app' }),
  redirectUri: 'http://127.0.0.1:3000/callback',
}

// workerd does not say why a connection failed, and Deno may have sent the request before.
const givenUnproven = { ...given, refusedOutcome: 'unknown' }
const givenStacks = { ...given, stacks }

const runtimes = [
  ['Node 22.0, import', () => commandWith(givenStacks, `${here}node_modules/node22/bin/node`, 'main.js')],
  ['Node 22.0, require', () => command(`${here}node_modules/node22/bin/node`, 'main.cjs')],
  ['Node 24, import', () => commandWith(givenStacks, node24, 'main.js')],
  ['Node 24, require', () => command(node24, 'main.cjs')],
  ['Node 26, import', () => commandWith(givenStacks, `${here}node_modules/node26/bin/node`, 'main.js')],
  ['Bun', () => commandWith({ ...given, stacks: withoutStacks }, `${bin}/bun`, 'main.js')],
  [
    'Deno',
    () =>
      commandWith(
        { ...givenUnproven, stacks },
        `${bin}/deno`,
        'run',
        '--allow-env',
        '--allow-net',
        '--allow-read',
        'main.js',
      ),
  ],
  ['Workers', worker],
  ['the command, Node 22.0', () => commandLine(`${here}node_modules/node22/bin/node`)],
  ['the command, Node 26', () => commandLine(`${here}node_modules/node26/bin/node`)],
]

const bundlers = [
  ['Vite, bundled for Node', () => withViteBundle((bundle) => command(node24, bundle))],
  ['webpack, bundled for Node', () => withWebpackBundle((bundle) => command(node24, bundle))],
  ['Next', nextApplication],
]

const runs = areBundlers ? bundlers : runtimes.filter(([name]) => isFull || !name.includes('Node 26'))
let failed = 0
for (const [name, start] of runs) {
  try {
    const done = (await start()).trim().split('\n')
    console.log(`ok      ${name}: ${done.join(', ')}`)
  } catch (error) {
    failed += 1
    console.log(`FAILED  ${name}: ${error.stderr || error.message}`)
  }
}
await sandbox.close()
console.log(`\n${runs.length - failed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1

function command(file, ...parameters) {
  return commandWith(given, file, ...parameters)
}

/** Runs the command with a token of the environment, and stores a login where Node has SQLite. */
async function commandLine(node) {
  const folder = await mkdtemp(join(tmpdir(), 'command-'))
  const env = { ...process.env, SUPPORT_WORKSPACE_URL: sandbox.url, XDG_DATA_HOME: folder }
  const start = (variables, ...parameters) => {
    const cli = `${here}node_modules/support-workspace-sdk/dist/cli.js`
    return run(node, [cli, ...parameters], { env: { ...env, ...variables }, timeout: 60_000 })
  }
  const token = { SUPPORT_WORKSPACE_TOKEN: given.selfToken }
  const whoami = await start(token, 'whoami', '--json')
  const list = await start(token, 'list', 'contacts', '--max', '2', '--format', 'csv')
  const out = await start(token, 'export', 'tasks', '--out', join(folder, 'tasks.ndjson'))
  // Nothing of the runtime, such as a warning about SQLite.
  if (whoami.stderr !== '' || JSON.parse(whoami.stdout).actor !== 'self') throw new Error(whoami.stdout + whoami.stderr)
  if (list.stdout.split('\n').length !== 4 || !out.stderr.includes('has 5 tasks'))
    throw new Error(list.stdout + out.stderr)
  const stored = await start({}, 'logins', '--json').then(
    ({ stderr }) => JSON.parse(stderr).note,
    ({ code, stderr }) => `${code}: ${JSON.parse(stderr).message}`,
  )
  if (stored !== 'There are no logins.') throw new Error(stored)
  await rm(folder, { recursive: true })
  return stored
}

async function commandWith(settings, file, ...parameters) {
  const breakingUrl = await startBreakingServer()
  const env = { ...process.env, GIVEN: JSON.stringify({ ...settings, breakingUrl }) }
  const { stdout } = await run(file, parameters, { cwd: here, env, timeout: 60_000 })
  return stdout
}

/** Starts a server that stops when it receives a POST: it breaks the connection, and refuses others. */
async function startBreakingServer() {
  const server = createHttpServer((request, response) => {
    if (request.method === 'GET') return response.end('{"data":{}}')
    server.close()
    request.socket.destroy()
  })
  server.unref()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${server.address().port}`
}

/** Bundles the test into one file, as Workers are deployed, and runs it. */
async function worker() {
  const { build } = await import('esbuild')
  const { Miniflare } = await import('miniflare')
  const { outputFiles } = await build({
    entryPoints: [`${here}worker.js`],
    bundle: true,
    format: 'esm',
    conditions: ['workerd', 'worker', 'browser'],
    write: false,
  })
  const miniflare = new Miniflare({
    modules: true,
    script: outputFiles[0].text,
    compatibilityDate: '2026-07-01',
    bindings: { GIVEN: JSON.stringify(givenUnproven) },
  })
  try {
    const response = await miniflare.dispatchFetch('http://worker.example/')
    const text = await response.text()
    if (response.status !== 200) throw new Error(text)
    return text
  } finally {
    await miniflare.dispose()
  }
}

/** Runs the test in a route handler, and parts of it in a client component. */
async function nextApplication() {
  const next = await startNext(node24, { GIVEN: JSON.stringify(given) })
  try {
    const response = await fetch(`${next.url}/api/smoke`)
    const text = await response.text()
    if (response.status !== 200) throw new Error(text)
    const shown = await textInChromium(next.url, given)
    if (shown !== 'actor self, 120 conversations, a login with PKCE') throw new Error(`The page shows: ${shown}`)
    return `${text}\na client component`
  } finally {
    await next.stop()
  }
}

/** Returns the URL of a port that refuses connections. */
async function closedUrl() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}
