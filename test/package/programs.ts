// Programs that a test writes into the project and runs there.

/** Writes the statement that loads names from a module. */
export type Load = (names: string, from: string) => string

/** Runs a fault test of a job, and prints what failed and how it survives a refused connection. */
export const faultTestsMe = (load: Load) => `
${load('faultTest', 'support-workspace-sdk/fault-test')}
faultTest(({ workspace }) => workspace.me(), { faults: ['refused', 'killed-before-request'] }).then((report) => {
  console.log(JSON.stringify({ failures: report.failures, refused: report.runs[0].end === 'done' && 'ok' }))
})
`

/** Runs a fault test of a job whose client is of the CommonJS build, and prints how its write survives a refused connection. */
export const faultTestsOtherCopy = `
import { createRequire } from 'node:module'
import { faultTest } from 'support-workspace-sdk/fault-test'
const { SupportWorkspace } = createRequire(import.meta.url)('support-workspace-sdk')
const report = await faultTest(async ({ sandbox }) => {
  const accessToken = sandbox.issueToken({ actor: 'self' })
  const { url: baseUrl, fetch } = sandbox
  const workspace = new SupportWorkspace({ baseUrl, fetch, accessToken, actor: 'self', maxRetries: 0 })
  await workspace.contacts.create({ email: 'ada@example.com' })
}, { faults: ['refused'] })
console.log(JSON.stringify(report.runs.map(({ attempts }) => attempts)))
`

/** Runs a fault test of a program that waits for an hour, and prints how it survives a kill. */
export const faultTestsProgram = (load: string) => `
${load}
const program = \`
const { SUPPORT_WORKSPACE_URL: url, SUPPORT_WORKSPACE_TOKEN: token } = process.env
const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' }
setTimeout(async () => {
  await fetch(url + '/api/oauth/v1/contacts', { method: 'POST', headers, body: '{"email":"ada@example.com"}' })
}, 3600000)\`
faultTestProgram([process.execPath, '-e', program], { only: ['killed-after-effect@1'] }).then(({ runs }) => {
  console.log(JSON.stringify(runs.map(({ id, attempts }) => id + ': ' + attempts.join(', '))))
})
`

/** Prints the style and the script of the console, which are there and, the script, can be parsed on its own. */
export const readsConsole = (load: Load) => `
${load('startSandbox', 'support-workspace-sdk/sandbox')}
startSandbox().then(async (sandbox) => {
  const read = async (path) => (await fetch(sandbox.url + path)).text()
  const files = [...(await read('/')).matchAll(/"(\\/_sandbox\\/(?:style|reload)[^"]+)"/g)].map(([, path]) => path)
  const [style, script] = await Promise.all(files.map(read))
  new Function(script)
  console.log(JSON.stringify(files.filter(() => style.length > 1_000 && script.length > 200)))
  await sandbox.close()
})
`

/** Prints the error of `handlers()` in a project without msw. */
export const lacksMsw = (load: Load) => `
${load('createSandbox', 'support-workspace-sdk/sandbox')}
try {
  createSandbox().handlers()
} catch (error) {
  console.log(JSON.stringify(error.message))
}
`

/** Calls the service in place of which the sandbox responds, and prints the actor and the number of requests. */
export const interceptsMe = (load: Load) => `
${load('setupServer', 'msw/node')}
${load('createSandbox', 'support-workspace-sdk/sandbox')}
const sandbox = createSandbox()
const server = setupServer(...sandbox.handlers('https://api.supportwire.app'))
server.listen()
const headers = { authorization: 'Bearer ' + sandbox.issueToken() }
fetch('https://api.supportwire.app/api/oauth/v1/me', { headers })
  .then((response) => response.json())
  .then(({ actor }) => console.log(JSON.stringify([actor, sandbox.requests.length])))
  .finally(() => server.close())
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
console.log(JSON.stringify({
  copiesDiffer: esm.ApiError !== cjs.ApiError,
  esmErrorInCjs: (await fail(esm)) instanceof cjs.InsufficientScopeError,
  cjsErrorInEsm: (await fail(cjs)) instanceof esm.InsufficientScopeError,
  oauthErrorInMain: (await new esmOauth.OAuthApp({
    baseUrl: 'https://api.test', clientId: 'a', clientSecret: 's', redirectUri: 'https://app.test/callback',
  }).finishLogin('nonsense', undefined).catch((error) => error)) instanceof cjs.SupportWorkspaceError,
  classIsShared: esmOauth.SupportWorkspaceError === esm.SupportWorkspaceError,
  classIsSharedInCjs: cjsOauth.SupportWorkspaceError === cjs.SupportWorkspaceError,
}))
`
