// Programs that a test writes into the project and runs there.

/** Calls `me()` on a sandbox and prints the result. */
export const runsMe = (load: (entry: string) => string) => `
${load('support-workspace-sdk')}
${load('support-workspace-sdk/oauth')}
${load('support-workspace-sdk/sandbox')}
const main = async () => {
  const sandbox = await startSandbox()
  const accessToken = sandbox.issueToken({ actor: 'self' })
  const workspace = new SupportWorkspace({ baseUrl: sandbox.url, accessToken })
  const me = await workspace.me()
  console.log(JSON.stringify({ actor: me.actor, scopes: scopesFor('messages.create') }))
  await sandbox.close()
}
main()
`

/** Calls `me()` with a tracer that is registered after the client was created, and prints the names of the spans. */
export const tracesMe = (load: (name: string, entry: string) => string) => `
${load('trace', '@opentelemetry/api')}
${load('SupportWorkspace', 'support-workspace-sdk')}
${load('otelHooks', 'support-workspace-sdk/otel')}
const main = async () => {
  const workspace = new SupportWorkspace({
    baseUrl: 'https://api.test',
    accessToken: 'swot_abc123def456',
    fetch: async () => Response.json({ actor: 'self' }),
    hooks: otelHooks(),
  })
  const names = []
  const span = trace.getTracer('unregistered').startSpan('none')
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan: (name) => (names.push(name), span) }) })
  await workspace.me()
  console.log(JSON.stringify(names))
}
main()
`

/** Runs the storage tests on a storage in memory and prints how many passed. */
export const runsStorageTests = (load: string) => `
${load}
const main = async () => {
  const storage = memoryStorage()
  const failed = []
  let passed = 0
  for (const { name, skip, run } of storageTests({ open: () => storage })) {
    if (!skip) await run().then(() => { passed += 1 }, (error) => failed.push(name + ': ' + error.message))
  }
  console.log(JSON.stringify({ passed, failed }))
}
main()
`

/** Creates an error with each build of the package and checks its class with the other one. */
export const comparesCopies = `
import { createRequire } from 'node:module'
import * as esm from 'support-workspace-sdk'
import * as esmOauth from 'support-workspace-sdk/oauth'
const require = createRequire(import.meta.url)
const cjs = require('support-workspace-sdk')
const cjsOauth = require('support-workspace-sdk/oauth')
const fail = async ({ SupportWorkspace }) =>
  new SupportWorkspace({
    baseUrl: 'https://api.test',
    accessToken: 'swot_abc123def456',
    maxRetries: 0,
    fetch: async () => Response.json({ error: 'insufficient_scope' }, { status: 403 }),
  }).contacts.get('k').catch((error) => error)
const verdict = (error, copy) => [
  error instanceof copy.InsufficientScopeError,
  error instanceof copy.PermissionDeniedError,
  error instanceof copy.SupportWorkspaceError,
  copy.isSupportWorkspaceError(error),
  error instanceof copy.RateLimitError,
]
console.log(JSON.stringify({
  copiesDiffer: esm.ApiError !== cjs.ApiError,
  esmErrorInCjs: verdict(await fail(esm), cjs),
  cjsErrorInEsm: verdict(await fail(cjs), esm),
  oauthErrorInMain: (await new esmOauth.OAuthApp({
    baseUrl: 'https://api.test', clientId: 'a', clientSecret: 's', redirectUri: 'https://app.test/callback',
  }).finishLogin('nonsense', undefined).catch((error) => error)) instanceof cjs.SupportWorkspaceError,
  classIsShared: esmOauth.SupportWorkspaceError === esm.SupportWorkspaceError,
  classIsSharedInCjs: cjsOauth.SupportWorkspaceError === cjs.SupportWorkspaceError,
}))
`

/** Loads an entry point and prints the side effects: globals read, written or added, and resources left open. */
export const watchesLoading = (load: string) => `
import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)
const { getActiveResourcesInfo, stdout } = process
const open = () => getActiveResourcesInfo().filter((name) => !/PipeWrap|TTYWrap|FSReqCallback|FSReqPromise/.test(name))
const touched = new Set()
for (const name of ['process', 'fetch', 'setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'crypto', 'console']) {
  let value = globalThis[name]
  Object.defineProperty(globalThis, name, {
    configurable: true,
    get: () => (touched.add('reads ' + name), value),
    set: (next) => ((value = next), touched.add('writes ' + name)),
  })
}
const before = { names: new Set(Reflect.ownKeys(globalThis)), open: open() }
${load}
// Node's fetch stores its dispatcher there on the first access to \`Request\`.
const added = Reflect.ownKeys(globalThis)
  .filter((name) => !before.names.has(name))
  .map(String)
  .filter((name) => !name.startsWith('Symbol(undici.'))
const left = open()
stdout.write(JSON.stringify({ touched: [...touched], added, opened: left.length - before.open.length }))
`

/** Prints the files that a program loads. */
export const countsFiles = (program: string) => `
import { registerHooks } from 'node:module'
const loaded = []
registerHooks({
  load(url, context, next) {
    if (url.startsWith('file:')) loaded.push(url)
    return next(url, context)
  },
})
${program}
process.stdout.write(JSON.stringify({ loaded }))
`
