import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PassThrough } from 'node:stream'
import { ConnectionStore } from 'support-workspace-sdk/oauth'
import { sqliteStorage } from 'support-workspace-sdk/storage'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../helpers/free-port.ts'
import { listen } from '../helpers/listen.ts'
import { useSandboxes } from '../sandbox/helpers.ts'
import { useFolder } from './folder.ts'
import { type Given, type Running, run, start } from './run.ts'

const startSandbox = useSandboxes()
const folder = useFolder()

/** A sandbox, and the arguments and environment of a login to it. */
async function setUp(changes: { redirectUri?: string; autoConsent?: 'allow' | 'deny' } = {}) {
  const { redirectUri = `http://127.0.0.1:${await freePort()}/callback`, autoConsent = 'allow' } = changes
  const sandbox = await startSandbox({ autoConsent })
  sandbox.registerRedirectUri(redirectUri)
  const env: Given['env'] = {
    XDG_DATA_HOME: folder(),
    SUPPORT_WORKSPACE_URL: sandbox.url,
    SUPPORT_WORKSPACE_CLIENT_SECRET: 'secret_sandbox',
  }
  const app = ['--client-id', 'app_sandbox', '--redirect-uri', redirectUri]
  return { sandbox, env, redirectUri, args: ['login', '--for', 'conversations.list', ...app] }
}

/** Starts a login, and returns the address that it prints. */
async function startLogin(args: readonly string[], given: Given): Promise<Running & { readonly address: string }> {
  const running = start(args, given)
  await running.printed('landed on.', 'stderr')
  return { ...running, address: /^ {2}(http\S+)$/m.exec(running.output.stderr)?.[1] ?? '' }
}

/** Opens the address of a login as a browser does, and returns the page that it lands on. */
async function browse(address: string): Promise<{ status: number; text: string }> {
  const response = await fetch(address)
  return { status: response.status, text: await response.text() }
}

/** Logs in through the browser. */
async function logIn(args: readonly string[], given: Given) {
  const login = await startLogin(args, given)
  const page = await browse(login.address)
  const { code, stdout, stderr } = await login.ended
  return { page, code, stdout, stderr }
}

/** Returns the address that the browser would land on. */
async function landing(address: string): Promise<string> {
  return (await fetch(address, { redirect: 'manual' })).headers.get('location') ?? ''
}

/** Returns all that a file of logins has, as it is before it is encoded. */
function storedText(file: string): string {
  const database = new DatabaseSync(file)
  onTestFinished(() => database.close())
  const values = database
    .prepare('SELECT value FROM support_workspace_sdk')
    .all()
    .map(({ value }) => String(value))
  return values
    .map((value) => value.replace(/^plain:(.*)/, (_, text) => Buffer.from(text, 'base64url').toString()))
    .join('\n')
}

const modeOf = (path: string) => (lstatSync(path).mode & 0o777).toString(8)

describe('login', () => {
  test('stores the token for its user alone, and tells the browser and the terminal', async () => {
    const { env, args, sandbox, redirectUri } = await setUp()
    const { page, code, stdout, stderr } = await logIn(args, { env })
    expect({ code, page }).toEqual({ code: 0, page: { status: 200, text: expect.stringMatching(/^Logged in to /) } })
    expect(stdout).toContain('as the app')
    expect(stdout).toContain('(readable by you only, not encrypted)')
    expect(stderr + stdout).not.toContain('secret_sandbox')
    const place = join(String(env.XDG_DATA_HOME), 'support-workspace-sdk')
    expect(modeOf(place)).toBe('700')
    for (const name of readdirSync(place)) expect([name, modeOf(join(place, name))]).toEqual([name, '600'])
    expect(readdirSync(place)).toEqual(['logins.db'])
    const stored = storedText(join(place, 'logins.db'))
    expect([stored.includes('"swot_'), stored.includes('secret_sandbox')]).toEqual([true, false])
    await expect(fetch(redirectUri)).rejects.toThrow()

    const { lines } = await run(['whoami', '--json'], { env })
    expect(lines).toMatchObject([
      { source: 'login', profile: 'default', baseUrl: sandbox.url, actor: 'app', scopes: ['conversations:read'] },
    ])
    const token = (await run(['token'], { env })).stdout.trim()
    expect(sandbox.revoke(token)).toBe(true)
    const { code: health, failure } = await run(['whoami', '--json'], { env })
    expect(health).toBe(77)
    expect(failure).toMatchObject({ name: 'AuthenticationError', remedy: 'reconnect', exitCode: 77 })
    expect(failure.next.slice(4)).toEqual([
      ...['login', '--profile', 'default', '--base-url', sandbox.url],
      ...['--actor', 'app', '--scope', 'conversations:read'],
    ])
    expect((await run(['logins', '--json'], { env })).lines).toMatchObject([{ name: 'default', isRevoked: true }])
  })

  test('remembers the app, and says with --json what a program needs', async () => {
    const { env, args, redirectUri } = await setUp({ redirectUri: `http://localhost:${await freePort()}/callback` })
    expect((await logIn(args, { env })).code).toBe(0)
    const again = start(['login', '--scope', 'contacts:read contacts:write', '--actor', 'self', '--json'], { env })
    await again.printed('\n', 'stderr')
    const { address } = JSON.parse(again.output.stderr)
    expect(new URL(address).searchParams.get('redirect_uri')).toBe(redirectUri)
    // The other address of `localhost`.
    const back = await landing(address)
    const page = await browse(back.replace('localhost', '[::1]'))
    expect(page.status).toBe(400)
    await browse(back)
    const { code, lines } = await again.ended
    expect(code).toBe(0)
    expect(lines).toMatchObject([{ actor: 'self', scopes: ['contacts:read', 'contacts:write'], source: 'login' }])
  })

  test.each([
    ['access was denied', 'deny', 'secret_sandbox', /^The login has failed\. Access was denied/, 77],
    [
      'the exchange of the code has failed',
      'allow',
      'secret_other',
      /^The login has failed\. .*401: invalid_client/,
      70,
    ],
  ] as const)('tells the browser and the terminal that %s', async (_, autoConsent, secret, text, exit) => {
    const { env, args } = await setUp({ autoConsent })
    const ran = await logIn(args, { env: { ...env, SUPPORT_WORKSPACE_CLIENT_SECRET: secret } })
    expect(ran).toMatchObject({ page: { status: 400, text: expect.stringMatching(text) }, code: exit, stdout: '' })
  })

  test.each([
    ['gets a token', 'secret_sandbox', 0],
    ['fails', 'secret_other', 70],
  ])('ends if it %s after the browser has gone away', async (_, secret, exit) => {
    const { env, args, sandbox } = await setUp()
    sandbox.faults.add({ path: /\/token$/, latency: 50 })
    const login = await startLogin(args, { env: { ...env, SUPPORT_WORKSPACE_CLIENT_SECRET: secret } })
    const browser = httpRequest(await landing(login.address)).on('error', () => {})
    browser.end()
    await vi.waitUntil(() => sandbox.requests.some(({ path }) => path.endsWith('/token')))
    browser.destroy()
    expect((await login.ended).code).toBe(exit)
  })

  test.each<[string, (address: URL) => void, string?]>([
    ['another state', ({ searchParams }) => searchParams.set('state', 'another')],
    ['no state', ({ searchParams }) => searchParams.delete('state')],
    ['the state twice', ({ searchParams }) => searchParams.append('state', 'another')],
    ['another path', (address) => Object.assign(address, { pathname: '/favicon.ico' })],
    ['another host', () => {}, 'rebound.example'],
    ['a host that is no name', () => {}, 'a/b'],
  ])('is not ended by a request with %s', async (_, change, host) => {
    const { env, args } = await setUp()
    const login = await startLogin(args, { env })
    const good = await landing(login.address)
    const bad = new URL(good)
    change(bad)
    expect(await statusOf(bad, host)).toBe(400)
    expect((await browse(good)).status).toBe(200)
    expect((await login.ended).code).toBe(0)
  })

  test.each([
    ['the port is in use', undefined],
    ['the redirect URI is that of a server', 'https://app.example/callback'],
  ])('takes the pasted address if %s', async (_, given) => {
    const port = await listen(createServer())
    const { env, args } = await setUp({ redirectUri: given ?? `http://127.0.0.1:${port}/callback` })
    const stdin = new PassThrough()
    const login = await startLogin(args, { env, stdin })
    expect(login.output.stderr).toMatch(/Port \d+ cannot be used here|is not an address of this machine/)
    const address = await landing(login.address)
    const code = new URL(address).searchParams.get('code') ?? ''
    stdin.write(`${code}\n`)
    await login.printed('Paste all of it', 'stderr')
    stdin.write(`\n  ${address}\n`)
    const { code: exit, stderr, stdout } = await login.ended
    expect(exit).toBe(0)
    for (const secret of [code, new URL(address).searchParams.get('state')]) {
      expect(stdout + stderr.replace(login.address, '')).not.toContain(secret)
    }
  })

  test('ends after its time with 124, and when it is interrupted with 130', async () => {
    const { env, args } = await setUp()
    expect((await run([...args, '--json'], { env, loginTimeout: 1 })).failure).toMatchObject({ exitCode: 124 })
    const login = await startLogin(args, { env })
    login.interrupt()
    const { code, stderr } = await login.ended
    expect({ code, stderr }).toEqual({ code: 130, stderr: expect.stringContaining('Interrupted. Nothing was stored.') })
    expect((await run(['logins', '--json'], { env })).lines).toEqual([])
  })

  test('opens the browser only for a person, after it has printed the address', async () => {
    const { env, args } = await setUp()
    const opened: string[] = []
    const given = { env, openBrowser: (address: string) => void opened.push(address) }
    for (const terminals of [[], ['stdin', 'stderr']] as const) {
      const login = await startLogin(args, { ...given, terminals })
      expect(opened).toEqual(terminals.length === 0 ? [] : [login.address])
      await browse(login.address)
      expect((await login.ended).code).toBe(0)
    }
  })

  test.each<[string[], string]>([
    [['login'], '--for OPERATIONS or --scope SCOPES, because a token'],
    [
      ['login', '--for', 'conversation.list'],
      'There is no operation "conversation.list". Did you mean conversations.list?',
    ],
    [['login', '--for', 'everything'], '  contacts: contacts.list contacts.get'],
    [['login', '--for', 'messages.create'], 'messages.create needs a token that acts as you. Pass --actor self.'],
    [
      ['login'],
      'The login to https://api.supportwire.app lacks:\n  --for OPERATIONS or --scope SCOPES, because a token can do no more than it asked for\n  --client-id ID, of your app\n  --redirect-uri URI, as it is registered for your app\n  the client secret, in',
    ],
    [['login', '--scope', 'x', '--profile', 'a b'], 'The name of a profile has letters'],
    [['login', '--scope', 'x', '--base-url', 'http://example.com'], 'plain http'],
  ])('%j is a mistake', async (args, message) => {
    const { code, stderr, stdout } = await run(args, { env: { XDG_DATA_HOME: folder() } })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
  })

  test('ends at once if the port is in use and stdin is closed', async () => {
    const { env, args } = await setUp({ redirectUri: `http://127.0.0.1:${await listen(createServer())}/callback` })
    const { code, stderr } = await run(args, { env })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/Port \d+ .* And stdin is closed\./) })
  })

  test('refuses another organization than the expected one, and writes nothing', async () => {
    const { env, args, sandbox } = await setUp()
    const { page, code, stderr } = await logIn([...args, '--expect-organization', 'Other Ltd'], { env })
    expect({ status: page.status, code }).toEqual({ status: 400, code: 77 })
    expect(stderr).toContain('Nothing was stored.')
    expect((await run(['logins', '--json'], { env })).lines).toEqual([])
    const { id } = sandbox.state.organization
    expect((await logIn([...args, '--expect-organization', id], { env })).code).toBe(0)
  })
})

/** Returns the status of a request, with a `Host` that `fetch` would not send. */
function statusOf({ hostname, port, pathname, search, host }: URL, given = host): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ hostname, port, path: pathname + search, headers: { host: given } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    request.once('error', reject).end()
  })
}

describe('login --with-token', () => {
  test.each([
    [['stdin'] as const, 'swot_x', 2, 'stdin is a terminal'],
    [[], 'not a token\n', 2, 'The token in SUPPORT_WORKSPACE_TOKEN or on stdin is not a token'],
    [[], 'swot_unknown', 77, 'The connection was not saved'],
  ])('with terminals %j, %j is %i', async (terminals, stdin, code, message) => {
    const { env } = await setUp()
    const ran = await run(['login', '--with-token'], { env, stdin, terminals })
    expect(ran.code).toBe(code)
    expect(ran.stderr).toContain(message)
    expect(ran.stderr).not.toContain('swot_')
    expect((await run(['logins', '--json'], { env })).lines).toEqual([])
  })

  test('can be interrupted while it waits for the token', async () => {
    const { env } = await setUp()
    const stdin = new PassThrough()
    const login = start(['login', '--with-token'], { env, stdin })
    await vi.waitFor(() => expect(stdin.listenerCount('readable')).toBe(1))
    login.interrupt()
    expect((await login.ended).code).toBe(130)
  })
})

/** Stores a token that the sandbox issues. */
async function storeToken(
  { env, sandbox }: Pick<Awaited<ReturnType<typeof setUp>>, 'env' | 'sandbox'>,
  ...args: string[]
) {
  const ids = sandbox.state.organizations.map(({ id }) => id)
  const at = args.indexOf('--organization')
  const [, index] = at === -1 ? [] : args.splice(at, 2)
  const token = sandbox.issueToken({ organization: ids[Number(index ?? 0)] ?? '', actor: 'self' })
  return Object.assign(await run(['login', '--with-token', '--json', ...args], { env, stdin: `${token}\n` }), { token })
}

describe('stored logins', () => {
  test('have names, of which one is current', async () => {
    const setting = await setUp()
    const { env } = setting
    const first = await storeToken(setting)
    const second = await storeToken(setting, '--organization', '1')
    expect([first.lines[0].profile, second.lines[0].profile]).toEqual([
      'default',
      expect.stringMatching(/^[a-z-]+-self$/),
    ])
    setting.sandbox.clearRequests()
    const tokenIn = async (...args: string[]) => (await run(['token', ...args], { env })).stdout.trim()
    expect(await tokenIn()).toBe(second.token)
    expect(await tokenIn('--profile', 'default')).toBe(first.token)
    const chosen = await run(['token'], { env: { ...env, SUPPORT_WORKSPACE_PROFILE: 'default' } })
    expect(chosen.stdout.trim()).toBe(first.token)
    expect(setting.sandbox.requests).toEqual([])
    const used = await run(['use', 'default'], { env })
    expect([used.code, used.stdout]).toEqual([0, expect.stringContaining('The current login is default: ')])
    expect(await tokenIn()).toBe(first.token)
    const { code, failure } = await run(['use', 'other', '--json'], { env })
    expect([code, failure.hint]).toEqual([2, expect.stringContaining('There are: default, ')])
    const listed = await run(['logins'], { env })
    expect(listed.stdout).toMatch(/^\* default {2}/m)
    expect(listed.stdout).not.toContain('swot_')

    // A newer token of the same organization and person keeps the name.
    const newer = await storeToken(setting)
    expect(newer.lines[0].profile).toBe('default')
    expect(await tokenIn()).toBe(newer.token)
  })

  test('keep their names from other organizations', async () => {
    const setting = await setUp()
    await storeToken(setting, '--profile', 'main')
    const refused = await storeToken(setting, '--organization', '1', '--profile', 'main')
    expect(refused).toMatchObject({ code: 2, failure: { message: expect.stringContaining('belongs to') } })
    const replaced = await storeToken(setting, '--organization', '1', '--profile', 'main', '--replace')
    expect(replaced.code).toBe(0)
    expect((await run(['token'], { env: setting.env })).stdout.trim()).toBe(replaced.token)
    expect((await run(['logins', '--json'], { env: setting.env })).lines).toHaveLength(1)
  })

  test('are removed with their token, which stays valid', async () => {
    const setting = await setUp()
    const { env, sandbox } = setting
    const { token } = await storeToken(setting)
    const { code, stderr, stdout } = await run(['logout'], { env })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'No login is left.\n' })
    expect(stderr).toContain('It still works: an admin revokes it')
    expect(sandbox.revoke(token)).toBe(true)
    expect((await run(['logins', '--json'], { env })).lines).toEqual([])
    const { failure } = await run(['whoami', '--json'], { env })
    expect(failure).toMatchObject({ exitCode: 77, message: `There is no login for ${sandbox.url}.` })
    expect(failure.next.slice(4)).toEqual(['login', '--base-url', sandbox.url, '--for', 'conversations.list'])
  })

  test('that share a connection leave no token behind when all of them are removed', async () => {
    const setting = await setUp()
    const { env, sandbox } = setting
    for (const name of ['one', 'two', 'one']) await storeToken(setting, '--profile', name)
    const file = join(String(env.XDG_DATA_HOME), 'support-workspace-sdk/logins.db')
    const stored = async () => {
      const storage = sqliteStorage(file)
      const connections = await new ConnectionStore({ baseUrl: sandbox.url, storage })
        .list()
        .toArray()
        .finally(() => storage.close())
      return connections.length
    }
    for (const [name, left] of [
      ['one', 1],
      ['two', 0],
    ] as const) {
      expect((await run(['logout', '--profile', name], { env })).code).toBe(0)
      expect(await stored()).toBe(left)
    }
  })

  test('send a token only to the service that it was stored for', async () => {
    const setting = await setUp()
    await storeToken(setting, '--profile', 'main')
    const other = await startSandbox()
    const env = { ...setting.env, SUPPORT_WORKSPACE_URL: other.url }
    for (const args of [['whoami'], ['whoami', '--profile', 'main']]) expect((await run(args, { env })).code).toBe(77)
    expect(other.requests).toEqual([])
    // Without the variable, the token goes where it belongs.
    const alone = { ...env, SUPPORT_WORKSPACE_URL: undefined }
    expect((await run(['whoami', '--json'], { env: alone })).lines[0].baseUrl).toBe(setting.sandbox.url)
    expect(other.requests).toEqual([])
  })
})

describe('the token of the environment', () => {
  test('wins over a stored login but not over --profile, and a login warns of it', async () => {
    const setting = await setUp()
    const token = setting.sandbox.issueToken()
    const env = { ...setting.env, SUPPORT_WORKSPACE_TOKEN: token }
    const stored = await storeToken({ ...setting, env })
    expect(stored.stderr).toContain('SUPPORT_WORKSPACE_TOKEN is set.')
    expect((await run(['token'], { env })).stdout).toBe(`${token}\n`)
    expect((await run(['whoami', '--json'], { env })).lines).toMatchObject([{ source: 'environment', actor: 'app' }])
    const { lines, stderr } = await run(['whoami', '--json', '--profile', 'default'], { env })
    expect(lines).toMatchObject([{ source: 'login', profile: 'default', actor: 'self' }])
    expect(stderr).toContain('SUPPORT_WORKSPACE_TOKEN is set, but --profile default wins.')
  })

  test('is not sent in plain http to another machine', async () => {
    const env = { SUPPORT_WORKSPACE_TOKEN: 'swot_x', SUPPORT_WORKSPACE_URL: 'http://example.com' }
    expect(await run(['whoami'], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/plain http.* Use https\./),
    })
  })

  test('is printed to a terminal only with --show', async () => {
    const { env } = await setUp()
    const given = { env: { ...env, SUPPORT_WORKSPACE_TOKEN: 'swot_x' }, terminals: ['stdout'] } as const
    expect(await run(['token'], given)).toMatchObject({ code: 2, stdout: '' })
    expect(await run(['token', '--show'], given)).toMatchObject({ code: 0, stdout: 'swot_x\n' })
  })
})

describe('the folder of the logins', () => {
  test.each([['logins'], ['whoami'], ['logout'], ['doctor'], ['use', 'x'], ['token']])(
    'is not created by %s',
    async (...args) => {
      const { env } = await setUp()
      await run(args, { env })
      expect(readdirSync(String(env.XDG_DATA_HOME))).toEqual([])
    },
  )

  test('that is damaged is named without words of the database', async () => {
    const { env } = await setUp()
    await run(['login', '--with-token'], { env, stdin: 'swot_x' })
    writeFileSync(join(String(env.XDG_DATA_HOME), 'support-workspace-sdk/logins.db'), 'x'.repeat(5_000), {
      mode: 0o600,
    })
    const { code, stderr } = await run(['logins'], { env })
    expect({ code, stderr }).toEqual({ code: 70, stderr: expect.stringContaining('cannot be used: it is damaged.') })
  })

  test('is put right and reported if others can read it', async () => {
    const { env, sandbox } = await setUp()
    const place = join(String(env.XDG_DATA_HOME), 'support-workspace-sdk')
    await run(['login', '--with-token'], { env, stdin: sandbox.issueToken() })
    chmodSync(place, 0o755)
    chmodSync(join(place, 'logins.db'), 0o644)
    const { stderr } = await run(['logins'], { env })
    expect(stderr).toContain(`${place} was open to other users (mode 0755), and is 0700 now.`)
    expect(stderr).toContain('logins.db was open to other users (mode 0644), and is 0600 now.')
    expect(stderr).toContain(`can still read it, and later tokens too: remove ${place}/logins.db* and log in again.`)
    chmodSync(place, 0o755)
    expect((await run(['logins'], { env })).stderr).not.toContain('log in again')
    expect([modeOf(place), modeOf(join(place, 'logins.db'))]).toEqual(['700', '600'])
  })

  test.each([
    ['support-workspace-sdk', '.', 'login --with-token'],
    ['support-workspace-sdk/logins.db', '.', 'logins'],
    ['support-workspace-sdk/logins.db', 'absent', 'whoami'],
  ])('is refused if %s is a symbolic link to %s', async (path, target, command) => {
    const { env, args } = await setUp()
    const at = join(String(env.XDG_DATA_HOME), path)
    mkdirSync(join(at, '..'), { recursive: true, mode: 0o700 })
    symlinkSync(join(folder(), target), at)
    // A login finds it before it asks for the consent.
    for (const each of [command.split(' '), args]) {
      const { code, stderr } = await run(each, { env })
      expect({ code, stderr }).toEqual({ code: 70, stderr: expect.stringContaining('is a symbolic link.') })
      expect(stderr).not.toContain('Open this address')
    }
  })

  // Only root can give a file away.
  test.skipIf(process.getuid?.() !== 0).each(['support-workspace-sdk', 'support-workspace-sdk/logins.db'])(
    'is refused if %s belongs to another user',
    async (path) => {
      const { env } = await setUp()
      await run(['login', '--with-token'], { env, stdin: 'swot_x' })
      chownSync(join(String(env.XDG_DATA_HOME), path), 1, 1)
      const { code, stderr } = await run(['logins'], { env })
      expect({ code, stderr }).toEqual({ code: 70, stderr: expect.stringContaining('belongs to another user.') })
    },
  )

  test('is that of the account on Windows, whose modes are not claimed', async () => {
    const { env, sandbox } = await setUp()
    const windows = { env: { ...env, LOCALAPPDATA: env.XDG_DATA_HOME, XDG_DATA_HOME: undefined }, platform: 'win32' }
    const token = sandbox.issueToken()
    const { code, stdout } = await run(['login', '--with-token'], { ...windows, stdin: token })
    expect(code).toBe(0)
    expect(stdout).toContain('(in the folder of your account, not encrypted)')
    expect(readdirSync(join(String(env.XDG_DATA_HOME), 'support-workspace-sdk'))).toEqual(['logins.db'])
    expect((await run(['doctor'], windows)).stdout).toContain('(in the folder of your account, not encrypted)')
  })
})
