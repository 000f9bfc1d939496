import { spawnSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Fault, Sandbox } from 'support-workspace-sdk/sandbox'
import { expect, onTestFinished } from 'vitest'
import { isFull } from '../../../proofs/is-full.ts'
import { findPostgres, startPostgres } from '../../fleet/helpers/postgres-server.ts'
import { startRedis } from '../../fleet/helpers/redis-server.ts'
import { Browser } from '../../oauth/helpers/browser.ts'
import type { Program, Programs, Reader, Site } from '../reader.ts'

/** A server for the handlers of `support.mts`, as every page of a framework has one. */
const server = `import { createServer } from 'node:http'
import { toNodeListener } from 'support-workspace-sdk/oauth'
import * as support from './support.mts'

const { keys } = support

const routes = { '/login': 'start', '/': 'inbox' }
const respond = async (request) => {
  const { pathname, searchParams } = new URL(request.url)
  if (pathname === '/keys') {
    if (searchParams.has('ada')) keys.set('ada', searchParams.get('ada'))
    return Response.json(Object.fromEntries(keys))
  }
  if (pathname === '/reply') return support.reply(request, searchParams.get('id'), searchParams.get('text'))
  return support[routes[pathname] ?? pathname.slice(1)](request)
}
createServer(toNodeListener(respond, { onError: console.error })).listen(Number(process.env.PORT), '127.0.0.1')
`

/** Replaces who is signed in, which a reader reads from the session of the app. */
async function signInBy({ folder }: Reader, expression: string): Promise<void> {
  const code = await readFile(`${folder}/support.mts`, 'utf8')
  expect(code).toContain("return 'ada'")
  const changed = code.replace("return 'ada'", `return ${expression}`).replace('_request', '{ headers }')
  await writeFile(`${folder}/support.mts`, changed)
}

async function serveSupport(reader: Reader): Promise<Site> {
  await signInBy(reader, "/user=(\\w+)/.exec(headers.get('cookie') ?? '')?.[1]")
  await writeFile(`${reader.folder}/driver.mjs`, server)
  return reader.serve({ file: 'driver.mjs' })
}

/** A browser that is signed in to the site of the reader. */
function browserOf(user: string): Browser {
  const browser = new Browser()
  signIn(browser, user)
  return browser
}

function signIn(browser: Browser, user: string): void {
  browser.cookies.set('user', { value: user, host: '127.0.0.1', path: '/', secure: false })
}

const text = async ({ response }: { response: Response }) => [response.status, await response.text()]

async function logInAndSeeInbox({ sandbox }: Reader, url: string, browser = new Browser()): Promise<void> {
  const { at, response } = await browser.go(`${url}/login`)
  expect([at, response.status]).toEqual([`${url}/inbox`, 200])
  const [first] = sandbox.state.conversations
  expect(((await response.json()) as unknown[])[0]).toEqual({ id: first?.id, status: first?.status })
}

async function replyTo({ sandbox }: Reader, url: string, encode: (form: Record<string, string>) => RequestInit) {
  const [{ id } = { id: '' }] = sandbox.state.conversations
  const response = await fetch(`${url}/reply`, {
    method: 'POST',
    redirect: 'manual',
    ...encode({ id, text: 'On it & more' }),
  })
  expect([response.status, response.headers.get('location')]).toEqual([303, '/inbox'])
  expect(sandbox.state.messages(id)[0]).toMatchObject({ body_html: '<p>On it &#38; more</p>' })
}

const asForm = (form: Record<string, string>): RequestInit => ({ body: new URLSearchParams(form) })
const asJson = (form: Record<string, string>): RequestInit => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(form),
})

async function failLogins(url: string): Promise<void> {
  const unknown = await fetch(`${url}/callback?code=1&state=2`)
  expect(unknown.status).toBe(400)
  expect(await unknown.text()).toContain('<h1>Not connected</h1>')
  const prefetched = await fetch(`${url}/login`, { headers: { 'sec-purpose': 'prefetch' }, redirect: 'manual' })
  expect(prefetched.status).toBe(503)
  const browser = new Browser()
  const { at } = await browser.go(`${url}/login`, (next) => next.startsWith(`${url}/callback`))
  const denied = await browser.go(at.replace(/code=[^&]+/, 'error=access_denied'))
  expect(await text(denied)).toEqual([403, 'Ask an admin of your workspace to connect this app.'])
}

/** Logs in at the site that a program serves, replies to a conversation, and fails to log in. */
function servesLogin(
  encode: (form: Record<string, string>) => RequestInit,
  more?: (reader: Reader, site: Site) => Promise<void>,
) {
  return async (reader: Reader) => {
    const site = await reader.serve()
    await logInAndSeeInbox(reader, site.url)
    await replyTo(reader, site.url, encode)
    await failLogins(site.url)
    await expect.poll(() => site.output.stderr).toMatch(/transaction_missing[\s\S]+access_denied/)
    await more?.(reader, site)
    await useMoreRoutes(reader, site)
  }
}

/** Expects that the routes beside the login work, and that a reply needs its fields. */
async function useMoreRoutes({ sandbox }: Reader, { url }: Site): Promise<void> {
  const foreign = await fetch(`${url}/reply`, { method: 'POST', headers: { origin: 'https://evil.example' } })
  expect(await text({ response: foreign })).toEqual([403, 'Forbidden'])
  const empty = await fetch(`${url}/reply`, { method: 'POST' })
  expect(await text({ response: empty })).toEqual([400, 'Send `id` and `text`.'])
  await useContactsAndDisconnect(sandbox, url)
}

/** Comes back to the contacts from a login, and disconnects with a POST only. */
async function useContactsAndDisconnect(sandbox: Sandbox, url: string): Promise<void> {
  sandbox.clearRequests()
  const { at, response } = await new Browser().go(`${url}/login?return_to=/contacts`)
  expect([at, ((await response.json()) as unknown[]).length]).toEqual([`${url}/contacts`, 20])
  expect(sandbox.requests.filter(({ path }) => path === '/api/oauth/authorize')).toHaveLength(2)
  expect([404, 405]).toContain((await fetch(`${url}/disconnect`)).status)
  const headers = { 'sec-fetch-site': 'cross-site' }
  expect((await fetch(`${url}/disconnect`, { method: 'POST', headers })).status).toBe(403)
  expect((await fetch(`${url}/inbox`)).status).toBe(200)
  expect(await (await fetch(`${url}/disconnect`, { method: 'POST' })).text()).toMatch(/^Disconnected/)
  expect((await fetch(`${url}/inbox`)).status).toBe(409)
}

/** Sends the start of a form that never ends. Returns the status of the response. */
function postEndlessForm(url: string, start: string, more: Record<string, string> = {}): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', ...more }
    const sent = request(`${url}/reply`, { method: 'POST', headers }, (response) => {
      resolve(response.statusCode)
      response.on('error', () => {}) // `destroy` ends the response
      sent.destroy()
    })
    sent.on('error', reject)
    sent.write(start)
  })
}

/** Logs in as `servesLogin` does, and expects that the site reads no form of strangers and no long form of users. */
function servesLimitedLogin(more: (reader: Reader, site: Site) => Promise<void>) {
  return async (reader: Reader) => {
    await signInBy(reader, "headers.has('x-stranger') ? undefined : 'ada'")
    const limits = async (_reader: Reader, site: Site) => {
      const { url } = site
      expect(await postEndlessForm(url, 'id=', { 'x-stranger': '1' })).toBe(401)
      expect(await postEndlessForm(url, 'id='.padEnd(70_000, '1'))).toBe(413)
      const foreign = { origin: 'https://evil.example' }
      expect(await postEndlessForm(url, 'id=', foreign)).toBe(403)
      await more(reader, site)
    }
    await servesLogin(asForm, limits)(reader)
  }
}

/** Expects that the error handler of the page says what happened. */
async function showsErrors({ sandbox }: Reader, { url, output }: Site): Promise<void> {
  const fails = async (path: string, fault: Fault, init: RequestInit = {}) => {
    sandbox.failNext(fault)
    const response = await fetch(url + path, init)
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    return [...(await text({ response })), response.headers.get('retry-after')]
  }
  const [{ id } = { id: '' }] = sandbox.state.conversations
  const write = { method: 'POST', ...asForm({ id, text: 'Hi' }) }
  expect(await fails('/reply', { status: 404 }, write)).toEqual([404, 'Not found', null])
  const unconfirmed = await fails('/reply', { drop: 'after-effect' }, write)
  expect(unconfirmed).toEqual([502, expect.stringMatching(/^The reply might have been sent/), null])
  const rejects = async (init: RequestInit) => (await fetch(`${url}/reply`, { method: 'POST', ...init })).status
  expect(await rejects(asForm({ id, text: 'x'.repeat(300_000) }))).toBe(413)
  const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=x' }
  expect(await rejects({ headers, body: 'id=1' })).toBe(415)
  expect(await fails('/inbox', { status: 400 })).toEqual([500, 'Something went wrong.', null])
  await expect.poll(() => output.stderr).toContain('BadRequestError')
  expect(await fails('/inbox', { status: 429, retryAfter: 1 })).toEqual([429, expect.stringMatching(/^Too many/), '1'])
}

/** Expects that the framework responds to an error of a handler. */
function leavesErrorsTo(page: string) {
  return async ({ sandbox }: Reader, { url }: Site) => {
    sandbox.failNext({ status: 400 })
    expect(await (await fetch(`${url}/inbox`)).text()).toContain(page)
  }
}

/** Serves a module of a framework through a server that the test writes. */
async function serveThrough(reader: Reader, imports: string, call: string): Promise<Site> {
  // A framework compiles its files itself. Node would take them for CommonJS.
  await writeFile(`${reader.folder}/package.json`, '{ "type": "module" }')
  const driver = `import { createServer } from 'node:http'
import { toNodeListener } from 'support-workspace-sdk/oauth'
${imports}
const respond = async (request) => ${call}
createServer(toNodeListener(respond, { onError: console.error })).listen(Number(process.env.PORT), '127.0.0.1')`
  await writeFile(`${reader.folder}/driver.mjs`, driver)
  return reader.serve({ file: 'driver.mjs' })
}

/** Expects that each variable that the page sets is needed. */
async function needsVariables({ run }: Reader): Promise<void> {
  for (const name of ['URL', 'CLIENT_ID', 'CLIENT_SECRET']) {
    expect((await run({ env: { [`SUPPORT_WORKSPACE_${name}`]: undefined } })).stderr).toContain('InvalidArgumentError')
  }
  const { stderr } = await run({ env: { LOGIN_SECRET: undefined } })
  expect(stderr).toContain('must be a string of at least 32 characters')
}

/** The programs of a framework whose files export a `GET`. The last test logs in through all of them. */
function routes(fileOf: (name: string) => string, argument: string): Record<string, Program> {
  const names = ['login', 'callback', 'inbox']
  return {
    [fileOf('login')]: { typesOnly: 'run by the test of the callback' },
    [fileOf('callback')]: async (reader) => {
      const [login, callback, inbox] = names.map(fileOf) as [string, string, string]
      await reader.save(login)
      // In the same way, as the page says.
      const code = await readFile(`${reader.folder}/${callback}`, 'utf8')
      await mkdir(dirname(`${reader.folder}/${inbox}`), { recursive: true })
      await writeFile(`${reader.folder}/${inbox}`, code.replaceAll('callback', 'inbox'))
      const modules = names.map((name) => `import * as ${name} from './${fileOf(name)}'`).join('\n')
      const call = `({ ${names} })[new URL(request.url).pathname.slice(1)].GET(${argument})`
      const { url } = await serveThrough(reader, modules, call)
      await logInAndSeeInbox(reader, url)
      await failLogins(url)
    },
  }
}

export const login: Programs = {
  'docs/login.md': {
    'support.mts': async (reader) => {
      const { url, output } = await serveSupport(reader)
      const { sandbox } = reader
      expect(await text(await new Browser().go(`${url}/login`))).toEqual([401, 'Sign in first.'])
      const browser = browserOf('ada')
      const keys = async (key?: string): Promise<Record<string, string>> => {
        const response = await browser.request(`${url}/keys${key === undefined ? '' : `?ada=${key}`}`)
        return (await response.json()) as Record<string, string>
      }
      const inbox = async () => (await browser.go(`${url}/inbox`)).response.status
      expect(await inbox()).toBe(409)
      await logInAndSeeInbox(reader, url, browser)

      // After a revocation, the page asks for a new login, and later requests are not sent.
      sandbox.revokeAll()
      expect(await inbox()).toBe(409)
      sandbox.clearRequests()
      expect(await inbox()).toBe(409)
      expect(sandbox.requests).toEqual([])

      // A revoked connection can be disconnected.
      expect(Object.keys(await keys())).toEqual(['ada'])
      expect((await browser.request(`${url}/disconnect`, { method: 'POST' })).status).toBe(200)
      expect(await keys()).toEqual({})

      // A failure of `/me` does not lose the token, and neither does a rate limit that outlasts an immediate retry.
      for (const statuses of [[400], [429, 429]]) {
        sandbox.clearRequests()
        for (const status of statuses) sandbox.faults.add({ path: '/api/oauth/v1/me', status, retryAfter: 1 })
        await logInAndSeeInbox(reader, url, browser)
        const calls = sandbox.requests.filter(({ path }) => path === '/api/oauth/v1/me')
        expect(calls.map(({ status }) => status)).toEqual([...statuses, 200])
      }

      // A connection with another organization replaces the first one, which the store forgets.
      const { ada: oldKey = '' } = await keys()
      const { at: consent } = await browser.go(`${url}/login`, (next) => next.startsWith(sandbox.url))
      const organization = sandbox.state.organizations[1]?.id
      expect((await browser.go(`${consent}&organization=${organization}`)).at).toBe(`${url}/inbox`)
      const { ada: newKey = '' } = await keys()
      expect(newKey).not.toBe(oldKey)
      expect(await inbox()).toBe(200)
      await keys(oldKey)
      expect(await inbox()).toBe(409)
      await keys(newKey)
      await logInAndSeeInbox(reader, url, browser)

      // Whose role lacks a scope would get the same scopes from another login.
      sandbox.failNext({ status: 403, body: { error: 'insufficient_scope' } })
      expect(await text(await browser.go(`${url}/inbox`))).toEqual([
        403,
        'This login lacks conversations:read. Your role might not allow it.',
      ])

      const [{ id } = { id: '' }] = sandbox.state.conversations
      const empty = await browser.request(`${url}/reply?id=${id}&text=%20`, { method: 'POST' })
      expect([empty.status, sandbox.state.writes]).toEqual([400, []])
      const own = new URL(url).origin
      const posts = [
        ...[{ origin: 'https://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'same-site', origin: own }],
        ...[{ origin: own }, { 'sec-fetch-site': 'same-origin', origin: 'null' }],
      ].map((headers) => browser.request(`${url}/reply?id=${id}&text=%20`, { method: 'POST', headers }))
      expect((await Promise.all(posts)).map(({ status }) => status)).toEqual([403, 403, 403, 400, 400])
      for (const path of ['reply', 'disconnect']) {
        expect((await fetch(`${url}/${path}`, { method: 'POST' })).status).toBe(401)
      }
      const replied = await browser.request(`${url}/reply?id=${id}&text=Hi`, { method: 'POST' })
      expect([replied.status, sandbox.state.messages(id)[0]?.body_html]).toEqual([303, '<p>Hi</p>'])

      // A page that needs one more scope comes back after the login, with the scopes of both.
      sandbox.clearRequests()
      const contacts = await browser.go(`${url}/contacts`)
      expect([contacts.at, ((await contacts.response.json()) as unknown[]).length]).toEqual([`${url}/contacts`, 20])
      const logins = sandbox.requests.filter(({ path }) => path === '/api/oauth/authorize')
      expect(logins.map(({ query }) => query.scope)).toEqual(['conversations:read messages:write contacts:read'])

      const disconnected = await browser.request(`${url}/disconnect`, { method: 'POST' })
      expect(await disconnected.text()).toMatch(/^Disconnected/)
      expect(await inbox()).toBe(409)
      await logInAndSeeInbox(reader, url, browser)

      // A login of Ada that Mallory finishes connects neither of them.
      const { at } = await browser.go(`${url}/login`, (next) => next.startsWith(`${url}/callback`))
      signIn(browser, 'mallory')
      expect(await text(await browser.go(at))).toEqual([
        403,
        expect.stringContaining('Another user started this login'),
      ])
      expect(await inbox()).toBe(409)
      signIn(browser, 'ada')
      expect(output.stderr).not.toContain('access_denied')
      const denied = await browser.go(`${url}/login`, (next) => next.startsWith(`${url}/callback`))
      expect(await text(await browser.go(denied.at.replace(/code=[^&]+/, 'error=access_denied')))).toEqual([
        403,
        'Ask an admin of your workspace to connect this app.',
      ])
      await expect.poll(() => output.stderr).toContain('access_denied')
      await needsVariables(reader)
    },
  },
  'docs/login-express.md': { 'server.mts': servesLogin(asForm, showsErrors) },
  'docs/login-fastify.md': {
    'server.mts': servesLogin(asJson, async (reader, site) => {
      await leavesErrorsTo('"error":"Bad Request"')(reader, site)
      for (const path of ['login', 'callback']) {
        expect((await fetch(`${site.url}/${path}`, { method: 'HEAD' })).status).toBe(404)
      }
    }),
  },
  'docs/login-hono.md': {
    'server.mts': servesLimitedLogin(async () => {}),
  },
  'docs/login-nextjs.md': routes((name) => `app/${name}/route.ts`, 'request, { params: Promise.resolve({}) }'),
  'docs/login-sveltekit.md': routes((name) => `src/routes/${name}/+server.ts`, '{ request }'),
  'docs/login-workers.md': {
    'worker.mts': async (reader) => {
      const { url } = await serveThrough(reader, `import worker from './worker.mts'`, 'worker.fetch(request)')
      await logInAndSeeInbox(reader, url)
      await failLogins(url)
      expect((await fetch(`${url}/other`)).status).toBe(404)
      await useContactsAndDisconnect(reader.sandbox, url)
    },
  },
  'docs/login-node.md': {
    'server.mts': servesLimitedLogin(async ({ sandbox }, { url, output }) => {
      expect((await fetch(`${url}/nowhere`)).status).toBe(404)
      sandbox.failNext({ status: 400 })
      const failed = await fetch(`${url}/inbox`)
      expect([failed.status, await failed.text()]).toEqual([500, 'Internal Server Error'])
      await expect.poll(() => output.stderr).toContain('BadRequestError')
    }),
  },
  'docs/browser-apps.md': {
    'page.mts': async (reader) => {
      await writeFile(`${reader.folder}/browser.mjs`, browserGlobals)
      const { url } = await reader.serve({ file: 'server.mts' })
      const { stdout, stderr } = await reader.run({ file: 'browser.mjs', args: [url] })
      expect([stdout, stderr]).toEqual([`1 / 0\n`, ''])
      expect(reader.sandbox.requests.map(({ path }) => path)).toEqual([
        '/api/oauth/authorize',
        '/api/oauth/token',
        '/api/oauth/v1/conversations',
      ])
    },
    'server.mts': async ({ serve }) => {
      const { url } = await serve()
      const headers = { origin: 'https://evil.example', 'content-type': 'application/json' }
      expect((await fetch(`${url}/exchange`, { method: 'POST', headers, body: '{}' })).status).toBe(403)
    },
  },
  'docs/connections.md': {
    'connect.mts': async ({ run, sandbox }) => {
      const { stdout } = await run()
      expect(stdout).toMatch(/^self\.\S+ self .+\n$/)
      expect(sandbox.requests.map(({ path }) => path)).toEqual(['/api/oauth/v1/me'])
    },
    'job.mts': async ({ folder, run, sandbox }) => {
      const connect = async () => (await run({ file: 'connect.mts' })).stdout.split(' ')[0] ?? ''
      const key = await connect()
      const runJob = () => run({ args: [key] })
      const notices = () => {
        const database = new DatabaseSync(`${folder}/notices.db`)
        const rows = database.prepare('SELECT key, connectedAt FROM notices ORDER BY connectedAt').all()
        database.close()
        return rows.map((row) => ({ ...row }))
      }
      const newest = `${sandbox.state.conversations[0]?.id}\n`
      expect(await runJob()).toMatchObject({ code: 0, stdout: newest })

      // Another error is no revocation.
      sandbox.failNext({ status: 400 })
      expect((await runJob()).stderr).toContain('BadRequestError')
      expect(notices()).toEqual([])

      sandbox.revokeAll()
      const first = await runJob()
      expect([first.code, first.stdout]).toEqual([1, expect.stringMatching(/ revoked access: ask for a new login\n$/)])
      expect(first.stderr).toContain('AuthenticationError')
      expect(notices()).toEqual([{ key, connectedAt: expect.any(Number) }])
      sandbox.clearRequests()
      const second = await runJob()
      expect([second.stdout, second.stderr]).toEqual(['', expect.stringContaining('not_connected')])
      expect([notices().length, sandbox.requests]).toEqual([1, []])

      // After a new login, the process that notices the revocation is killed before it records the revocation.
      expect(await connect()).toBe(key)
      expect((await runJob()).stdout).toBe(newest)
      sandbox.revokeAll()
      await writeFile(`${folder}/crash.mts`, crashingJob)
      expect((await run({ file: 'crash.mts', args: [key] })).stdout).toMatch(/ revoked access/)
      expect(notices()).toHaveLength(1)
      await runJob()
      await runJob()
      expect(notices()).toEqual([
        { key, connectedAt: expect.any(Number) },
        { key, connectedAt: expect.any(Number) },
      ])
    },
    'reseal.mts': async ({ folder, run, sandbox }) => {
      const LOGIN_SECRET = 'another-secret-for-the-tests-with-32-characters'
      const env = { NEW_SECRET: LOGIN_SECRET }
      for (const missing of [{}, { ...env, LOGIN_SECRET: undefined }]) {
        expect((await run({ env: missing })).stderr).toContain('must be a string of at least 32 characters')
      }
      const name = sandbox.state.organizations[0]?.name ?? 'no organization'
      await run({ file: 'connect.mts' })
      expect((await run({ env })).stdout).toBe('1 0\n')
      expect((await run({ env })).stdout).toBe('0 0\n')
      await writeFile(`${folder}/manage.mts`, listsConnections)
      const unreadable = await run({ file: 'manage.mts' })
      expect([unreadable.stdout, unreadable.stderr]).toEqual(['', expect.stringContaining('secret_unknown')])
      const { stdout } = await run({ file: 'manage.mts', env: { LOGIN_SECRET } })
      expect(stdout).toMatch(new RegExp(`^${name} \\[\n? *'conversations:read'`))
    },
  },
  'docs/storage.md': {
    'shared-storage.mts': async (reader) => {
      await writeFile(`${reader.folder}/save.mts`, savesConnection)
      const save = (name: string, address: string) => reader.run({ file: 'save.mts', args: [name, address] })
      const postgres = findPostgres()
      if (spawnSync('redis-server', ['--version']).status === 0) {
        const { url, close } = await startRedis()
        onTestFinished(close)
        expect((await save('onRedis', url)).stdout).toMatch(/^self\.\S+\n$/)
      } else if (process.env.REQUIRE_REDIS === '1') throw new Error('There is no redis-server.')
      if (postgres !== undefined) {
        const { createDatabase, close } = await startPostgres(postgres)
        onTestFinished(close)
        expect((await save('onPostgres', await createDatabase())).stdout).toMatch(/^self\.\S+\n$/)
      } else if (process.env.REQUIRE_POSTGRES === '1') throw new Error('There is no postgres.')
    },
    'own-storage.test.mts': async ({ run }) => {
      if (!isFull) return
      const { code, stdout } = await run({ file: 'node_modules/vitest/vitest.mjs', args: ['run'] })
      expect(stdout).toMatch(/Tests +15 passed \(15\)/)
      expect(code).toBe(0)
    },
  },
}

/** What a page has of a browser. Prints the number of conversations, the address and the stored items after the login. */
const browserGlobals = `const [site] = process.argv.slice(2)
const items = new Map()
const location = { href: site + '/', assign: (href) => (location.href = href) }
Object.defineProperty(globalThis, 'location', { value: location })
globalThis.history = { replaceState: (_state, _title, path) => (location.path = path) }
Object.defineProperty(globalThis, 'sessionStorage', {
  value: {
    getItem: (name) => items.get(name) ?? null,
    setItem: (name, value) => items.set(name, value),
    removeItem: (name) => items.delete(name),
  },
})
const { fetch } = globalThis
globalThis.fetch = (url, { headers, ...init } = {}) =>
  String(url).startsWith('/') ? fetch(site + url, { ...init, headers: { ...headers, origin: site } }) : fetch(url, { headers, ...init })

const page = await import('./page.mts')
await page.startLogin()
const consent = await fetch(location.href, { redirect: 'manual' })
location.href = consent.headers.get('location')
const workspace = await page.finishLogin()
console.log((await workspace.conversations.list({ limit: 1 })).data.length, location.path, items.size)
`

/** A job that notices a revocation and ends before it records the revocation. */
const crashingJob = `import { store } from './store.mts'
const workspace = await store.workspace(process.argv[2] ?? '')
await workspace.me().catch(() => process.exit(1))
`

/** Does with each connection what the page says of the methods of the store. */
const listsConnections = `import { store } from './store.mts'
const onUnreadable = ({ key, reason }) => console.error(key, reason)
for await (const { key, organization } of store.list({ actor: 'self' }, { onUnreadable })) {
  const { scopes } = await store.verify(key)
  console.log(organization.name, scopes)
  await store.setMetadata(key, { plan: 'business' })
}
`

/** Saves a connection in a storage and reads it back. */
const savesConnection = `import { ConnectionStore } from 'support-workspace-sdk/oauth'
import * as storages from './shared-storage.mts'
const [name, address] = process.argv.slice(2)
const { SUPPORT_WORKSPACE_URL: baseUrl = '', SUPPORT_WORKSPACE_TOKEN: token = '' } = process.env
const store = new ConnectionStore({ baseUrl, storage: storages[name](address) })
const { key } = await store.save(token)
console.log((await store.get(key)).key)
process.exit()
`
