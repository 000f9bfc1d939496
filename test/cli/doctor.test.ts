import { createServer } from 'node:http'
import type { Sandbox } from 'support-workspace-sdk/sandbox'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../helpers/free-port.ts'
import { listen } from '../helpers/listen.ts'
import { startTlsServer } from '../helpers/tls-server.ts'
import { useSandboxes } from '../sandbox/helpers.ts'
import { useFolder } from './folder.ts'
import { run } from './run.ts'

const startSandbox = useSandboxes()
const createFolder = useFolder()

let sandbox: Sandbox
let env: Record<string, string>
beforeEach(async () => {
  sandbox = await startSandbox()
  env = {
    SUPPORT_WORKSPACE_URL: sandbox.url,
    SUPPORT_WORKSPACE_TOKEN: sandbox.issueToken({ scopes: ['contacts:read'] }),
  }
})

/** Returns exit code and error, and the findings by the name of their check. */
async function diagnose(changes: Record<string, string | undefined> = {}, ...args: string[]) {
  const ran = await run(['doctor', '--json', ...args], { env: { ...env, ...changes } })
  const findings = Object.fromEntries(ran.lines.map((finding) => [finding.check, finding]))
  return {
    code: ran.code,
    findings,
    states: Object.fromEntries(ran.lines.map(({ check, state }) => [check, state])),
    ran,
  }
}

const good = {
  ...{ service: 'pass', node: 'pass', proxy: 'pass', dns: 'pass', network: 'pass', clock: 'pass', token: 'pass' },
  ...{ identity: 'pass', scopes: 'pass' },
}

test('passes with a token that works, and shows none of it', async () => {
  const { code, states, ran } = await diagnose({}, '--for', 'contacts.list')
  expect({ code, states }).toEqual({ code: 0, states: good })
  expect(ran.stdout + ran.stderr).not.toContain(env.SUPPORT_WORKSPACE_TOKEN)
  expect((await run(['doctor'], { env })).stdout).toMatch(/^pass {9}service {2}http:/)
})

test('says where a stored token is kept, and how', async () => {
  const stored = { SUPPORT_WORKSPACE_TOKEN: undefined, XDG_DATA_HOME: createFolder() }
  const token = sandbox.issueToken()
  await run(['login', '--with-token'], { env: { ...env, ...stored }, stdin: token })
  const { code, findings, ran } = await diagnose(stored)
  expect(code).toBe(0)
  expect(findings.token.detail).toMatch(/logins\.db \(readable by you only, not encrypted\)$/)
  expect(ran.stdout).not.toContain(token)
})

test.each([
  ['contacts.update', ['contacts:read'], 'app', 'contacts:read,contacts:write', 'missing: contacts:write'],
  [
    'messages.create',
    ['messages:write'],
    'self',
    'messages:write',
    'messages.create needs a token that acts as a person',
  ],
])('names what a token for %s lacks, and the login that mends it', async (operation, scopes, actor, scope, problem) => {
  const token = sandbox.issueToken({ scopes })
  const login = ['login', '--with-token', '--profile', 'mine']
  const stored = { SUPPORT_WORKSPACE_TOKEN: undefined, XDG_DATA_HOME: createFolder() }
  await run(login, { env: { ...env, ...stored }, stdin: token })
  for (const [changes, name] of [
    [{ SUPPORT_WORKSPACE_TOKEN: token }, []],
    [stored, ['--profile', 'mine']],
  ] as const) {
    const { code, states, findings, ran } = await diagnose(changes, '--for', operation)
    expect({ code, states }).toEqual({ code: 77, states: { ...good, scopes: 'fail' } })
    expect(findings.scopes.detail).toContain(problem)
    const next = ['login', ...name, '--base-url', sandbox.url, '--actor', actor, '--scope', scope]
    expect(ran.failure.next.slice(4)).toEqual(next)
  }
})

test('shows scopes of the service on one line', async () => {
  const scopes = ['contacts:read', 'x\npass         token    all is well']
  const me = { actor: 'app', organization: { id: 'org' }, scopes }
  sandbox.faults.add({ path: '/api/oauth/v1/me', status: 200, body: me, times: Infinity })
  for (const args of [['doctor'], ['doctor', '--for', 'contacts.update']]) {
    const { stdout, stderr } = await run(args, { env })
    expect(`${stdout}${stderr}`.match(/^pass +token/gm)).toHaveLength(1)
  }
})

test('fails without a token, and says how to get one', async () => {
  const { code, states, findings } = await diagnose({
    SUPPORT_WORKSPACE_TOKEN: undefined,
    XDG_DATA_HOME: createFolder(),
  })
  expect({ code, states }).toEqual({
    code: 77,
    states: { ...good, token: 'fail', identity: 'skipped', scopes: 'skipped' },
  })
  for (const check of ['token', 'identity', 'scopes']) expect(findings[check].hint).toMatch(/\.$/)
  expect(findings.token.hint).toContain('Log in')
})

test.each<[string, string, number, string]>([
  ['swot_unknown', 'identity', 77, 'fail'],
  ['swot_a b', 'token', 2, 'fail'],
])('with the token %j, %s is a fail', async (token, check, exit, state) => {
  const { code, states } = await diagnose({ SUPPORT_WORKSPACE_TOKEN: token })
  expect({ code, state: states[check] }).toEqual({ code: exit, state })
})

test('knows proxies that Node does not use', async () => {
  const { states, findings } = await diagnose({ HTTP_PROXY: 'http://proxy.example' })
  expect(states.proxy).toBe('warn')
  expect(findings.proxy.hint).toContain('from 22.21 and 24.0')
  expect((await diagnose({ http_proxy: 'http://proxy.example', NODE_USE_ENV_PROXY: '1' })).states).toMatchObject({
    proxy: 'pass',
    dns: 'skipped',
  })
})

test.each([
  ['127.0.0.1', 'pass'],
  ['*', 'pass'],
  ['example.com, .0.0.1', 'pass'],
  ['*.0.0.1', 'pass'],
  ['127.0.0.1:PORT', 'pass'],
  ['127.0.0.1:1', 'warn'],
  ['0.0.1', 'warn'],
  ['7.0.0.1', 'warn'],
])('NO_PROXY=%s is a %s', async (entry, state) => {
  const value = entry.replace('PORT', new URL(sandbox.url).port)
  expect((await diagnose({ HTTP_PROXY: 'http://proxy.example', NO_PROXY: value })).states.proxy).toBe(state)
})

test('tells a name that is not found from a port that nobody listens on', async () => {
  const closed = await diagnose({ SUPPORT_WORKSPACE_URL: `http://127.0.0.1:${await freePort()}` })
  expect(closed).toMatchObject({
    code: 75,
    states: { network: 'fail', clock: 'inconclusive', identity: 'inconclusive' },
  })
  const blocked = await diagnose({ SUPPORT_WORKSPACE_URL: 'http://127.0.0.1:1' })
  expect(blocked).toMatchObject({ code: 70, states: { network: 'fail' } })
  const unknown = await diagnose({ SUPPORT_WORKSPACE_URL: 'https://nothing.invalid' })
  expect(unknown).toMatchObject({ code: 75, states: { dns: 'fail', network: 'fail' } })
})

test('names a certificate that is not trusted', async () => {
  const server = await startTlsServer(sandbox.url, { certificate: 'self-signed' })
  onTestFinished(() => server.close())
  const { code, findings } = await diagnose({ SUPPORT_WORKSPACE_URL: server.url })
  expect(code).toBe(70)
  expect(findings.network.hint).toContain('NODE_EXTRA_CA_CERTS')
})

test('sends no token after a redirect, and compares the clocks', async () => {
  const requests: (string | undefined)[] = []
  let location: string | undefined = '/elsewhere'
  const server = createServer(({ headers }, response) => {
    requests.push(headers.authorization)
    response.sendDate = false
    if (location !== undefined) response.writeHead(302, { location }).end()
    else response.writeHead(401, { date: new Date(Date.now() - 600_000).toUTCString() }).end()
  })
  const url = `http://127.0.0.1:${await listen(server)}`
  expect(await diagnose({ SUPPORT_WORKSPACE_URL: url })).toMatchObject({ code: 70, states: { network: 'fail' } })
  expect(requests).toEqual([undefined])
  location = undefined
  const { findings } = await diagnose({ SUPPORT_WORKSPACE_URL: url })
  expect(findings.clock).toMatchObject({
    state: 'warn',
    detail: expect.stringMatching(/^60\d s apart from that of the service/),
  })
})
