// Every function that a caller gives to the SDK, failing in every way that a function can fail.
import {
  type ClientOptions,
  defineOperation,
  type StandardSchemaV1,
  type SupportWorkspace,
} from 'support-workspace-sdk'
import { WriteJournal, type WriteJournalOptions } from 'support-workspace-sdk/journal'
import { ConnectionStore, createLoginHandlers, OAuthApp } from 'support-workspace-sdk/oauth'
import { createSandbox } from 'support-workspace-sdk/sandbox'
import { type KeyValueStorage, memoryStorage } from 'support-workspace-sdk/storage'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { json, makeClient, page, refusal, type Step, scripted, token } from '../helpers/client.ts'
import { jitter } from '../helpers/clock.ts'
import { thrower } from '../helpers/failing-callbacks.ts'
import { settledAfterTimers } from '../helpers/settled.ts'
import { unhandledDuring } from '../helpers/unhandled.ts'

type Failing = () => never

/** Runs an operation with a function that fails. */
type Place = (fail: Failing) => PromiseLike<unknown>

const own = new Error('The function has failed.')
const secret = 'a secret of this app, 32 characters or more'

/** How a function fails, and what with. */
type Way = readonly [way: string, fail: () => unknown, thrown: unknown]
const atOnce: readonly Way[] = [
  ['throws an error', thrower(own), own],
  ['throws undefined', thrower(undefined), undefined],
  ['rejects with an error', () => Promise.reject(own), own],
  ['rejects with undefined', () => Promise.reject(), undefined],
]

/** Longer than any time limit. */
const long = 7_200_000
const late = () => new Promise((_, reject) => setTimeout(() => reject(own), long))

const me = json({ actor: 'self' })
type Options = Partial<ClientOptions<'self'>>
/** With a key, because its digest would take real time. */
const client = (options: Options, ...steps: Step[]) =>
  makeClient({ fetch: scripted(...(steps.length > 0 ? steps : [me])), rateLimitKey: 'key', maxRetries: 1, ...options })
const read = (options: Options, ...steps: Step[]) => client(options, ...steps).me()
const schema = (validate: Failing) => ({ '~standard': { version: 1, vendor: 'test', validate } }) as StandardSchemaV1
const create = (workspace: SupportWorkspace<'self'>, definition: object) =>
  workspace.call(
    defineOperation({ id: 'tags.create', method: 'POST', path: '/tags', ...definition }) as never,
    {
      body: {},
      query: {},
    } as never,
  )

/** Returns a store with a connection. A method of its storage fails from then on. */
async function connect(options: object, method?: keyof KeyValueStorage, fail?: Failing) {
  const sandbox = createSandbox()
  const storage = { ...memoryStorage() }
  const store = new ConnectionStore({ baseUrl: sandbox.url, storage, client: { fetch: sandbox.fetch }, ...options })
  const { key } = await store.save(sandbox.issueToken())
  if (method !== undefined) Object.assign(storage, { [method]: fail })
  return { sandbox, store, key }
}

/** Writes a message through a journal. Its response is lost. */
function writeOnce({ find, ...options }: Partial<WriteJournalOptions> & { readonly find?: Failing }) {
  const { url: baseUrl, fetch, faults, issueToken, state } = createSandbox({ conversations: 1 })
  faults.add({ method: 'POST', drop: 'after-effect' })
  const workspace = makeClient({ baseUrl, fetch, accessToken: issueToken({ actor: 'self' }) })
  const id = state.conversations[0]?.id ?? ''
  const journal = new WriteJournal({ workspace, storage: memoryStorage(), confirmTimeout: 1, ...options })
  return journal.once('key', ({ messages }) => messages.create(id, { body_html: '<p>Hello</p>' }), { find })
}

/** The callback of a login that the service has granted. */
async function logIn(handlers: object, app: object = {}) {
  const sandbox = createSandbox({ autoConsent: 'allow' })
  const redirectUri = 'https://app.example/callback'
  sandbox.registerRedirectUri(redirectUri)
  const { clientId, clientSecret } = sandbox.app
  const { start, callback } = createLoginHandlers(
    new OAuthApp({ baseUrl: sandbox.url, clientId, clientSecret, redirectUri, fetch: sandbox.fetch, ...app }),
    { secret, scope: ['contacts:read'], actor: 'self', onConnected() {}, ...handlers },
  )
  const started = await start(new Request('https://app.example/login'))
  const cookie = started.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const granted = await sandbox.fetch(started.headers.get('location') ?? '', { redirect: 'manual' })
  return callback(new Request(granted.headers.get('location') ?? '', { headers: { cookie } }))
}

const waiting: ClientOptions['rateLimiter'] = { acquire: (_key, _signal, { onWait }) => onWait(5) }
const throwing = { onError: (error: Error) => Promise.reject(error) }

/** The failure of these functions is the failure of the operation. */
const asked: Record<string, Place> = {
  'the token provider': (accessToken) => read({ accessToken }),
  'getAccessToken of a source': (getAccessToken) => read({ accessToken: { getAccessToken } }),
  'the headers of a client': (headers) => read({ headers }),
  'the headers of a call': (headers) => client({}).me({ headers }),
  'a custom fetch': (fetch) => read({ fetch }),
  'a rate limiter': (acquire) => read({ rateLimiter: { acquire } }),
  'the schema of a body': (fail) => create(client({}), { body: schema(fail) }),
  'the schema of a query': (fail) => create(client({}), { query: schema(fail) }),
  'the schema of a response': (fail) => create(client({}, json({ data: {} })), { response: schema(fail) }),
}

/** The same for functions without a time limit, and for operations that encrypt or hash, which takes real time. */
const askedInRealTime: Record<string, Place> = {
  'a middleware': (middleware) => read({ middleware }),
  'the function of a journal': (fail) =>
    new WriteJournal({ workspace: client({}), storage: memoryStorage() }).once('key', fail),
  '`find` of a journal': (find) => writeOnce({ find }),
  '`get` of the storage of a journal': (get) => writeOnce({ storage: { ...memoryStorage(), get } }),
  '`compareAndSet` of the storage of a journal': (compareAndSet) =>
    writeOnce({ storage: { ...memoryStorage(), compareAndSet } }),
  '`get` of the storage of a store': async (fail) => {
    const { store, key } = await connect({}, 'get', fail)
    return store.get(key)
  },
  '`compareAndSet` of the storage of a store': async (fail) => {
    const { store, key } = await connect({}, 'compareAndSet', fail)
    return store.setMetadata(key, { a: 1 })
  },
  '`list` of the storage of a store': async (fail) => (await connect({}, 'list', fail)).store.list().toArray(),
  '`fetch` of a code exchange': (fetch) => logIn(throwing, { fetch }),
  onConnected: (onConnected) => logIn({ ...throwing, onConnected }),
  onError: (onError) => logIn({ onError, onConnected: thrower(own) }),
}

/** These functions are told something. Whether they fail makes no difference to the operation. */
const told: Record<string, Place> = {
  onOperationStart: (onOperationStart) => read({ hooks: { onOperationStart } }),
  onOperationEnd: (onOperationEnd) => read({ hooks: { onOperationEnd } }),
  onAttemptStart: (onAttemptStart) => read({ hooks: { onAttemptStart } }),
  onAttemptEnd: (onAttemptEnd) => read({ hooks: { onAttemptEnd } }),
  onRetry: (onRetry) => read({ hooks: { onRetry } }, refusal(503, 'down'), me),
  onWait: (onWait) => read({ hooks: { onWait }, rateLimiter: waiting }),
  'the end of a permit': (end) => read({ rateLimiter: { acquire: () => end } }),
  'a logger': (log) => read({ logger: { debug: log, info: log, warn: log, error: log }, logLevel: 'debug' }),
  onDrift: (onDrift) => client({ onDrift }, json(page([{ id: 7 }]))).contacts.list(),
}

const toldInRealTime: Record<string, Place> = {
  'onCheck of a journal': (onCheck) => writeOnce({ onCheck }),
  'the logger of a journal': (log) => writeOnce({ logger: { debug: log, info: log, warn: log, error: log } }),
  'onProgress of reseal': async (onProgress) => (await connect({ secret })).store.reseal({ onProgress }),
}

/** The failure of these functions is the cause of the error with which the operation fails in any case. */
const blamed: Record<string, Place> = {
  onInvalidToken: (onInvalidToken) =>
    read({ accessToken: { getAccessToken: () => token, onInvalidToken } }, refusal(401, 'invalid_token')),
}

const blamedInRealTime: Record<string, Place> = {
  'onRevoked of a store': async (onRevoked) => {
    const { sandbox, store, key } = await connect({ onRevoked })
    sandbox.revokeAll()
    return (await store.workspace(key)).me()
  },
}

/** Returns every place with every way to fail. */
const table = (places: Record<string, Place>, ways: readonly Way[]) =>
  Object.entries(places).flatMap(([name, run]) => {
    return ways.map(([way, fail, thrown]) => [name, way, run, fail as Failing, thrown] as const)
  })

interface Result {
  readonly value?: unknown
  readonly error?: unknown
}

/** Returns how an operation ends. Fails if its function leaves a rejection that nobody handles. */
async function endOf(run: Place, fail: Failing, settle = async (end: Promise<Result>) => end): Promise<Result> {
  let calls = 0
  // Not a mock, which would handle the rejection.
  const failing = () => {
    calls += 1
    return fail()
  }
  let result: Result = {}
  const unhandled = await unhandledDuring(async () => {
    const started = async () => run(failing)
    result = await settle(
      started().then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      ),
    )
  })
  expect(calls).toBeGreaterThan(0)
  expect(unhandled).toEqual([])
  return result
}

/** Lets time pass until the operation has ended, and then until its function has failed, too. */
async function inFakeTime(end: Promise<Result>): Promise<Result> {
  const result = await settledAfterTimers(end)
  await vi.advanceTimersByTimeAsync(long)
  return result
}

function expectFailure(result: Result, thrown: unknown): void {
  expect(result).toHaveProperty('error')
  if (result.error === thrown) return
  expect(result.error).toBeInstanceOf(Error)
  // The call did not wait for a function that fails too late.
  expect(result.error).not.toBe(own)
  // A mistake in the SDK would be of one of these.
  expect((result.error as Error).name).not.toMatch(/^(Type|Reference|Range|Syntax)Error$/)
}

const refused = { error: { name: 'AuthenticationError', outcome: 'refused' } }

describe('a function of a client, in fake time', () => {
  beforeEach(() => {
    jitter(0)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
  })
  const ways: readonly Way[] = [...atOnce, ['rejects when the call is over', late, 'what comes too late']]

  test.each(table(asked, ways))('%s that %s fails the call', async (_name, _way, run, fail, thrown) => {
    expectFailure(await endOf(run, fail, inFakeTime), thrown)
  })

  test.each(table(told, ways))('%s that %s affects nothing', async (_name, _way, run, fail) => {
    expect(await endOf(run, fail, inFakeTime)).toHaveProperty('value')
  })

  test.each(table(blamed, ways))('%s that %s hides no error', async (_name, _way, run, fail) => {
    expect(await endOf(run, fail, inFakeTime)).toMatchObject(refused)
  })
})

describe('a function of a store, a journal, a login or a middleware', () => {
  test.each(table(askedInRealTime, atOnce))(
    '%s that %s fails the operation',
    async (_name, _way, run, fail, thrown) => {
      expectFailure(await endOf(run, fail), thrown)
    },
  )

  test.each(table(toldInRealTime, atOnce))('%s that %s affects nothing', async (_name, _way, run, fail) => {
    expect(await endOf(run, fail)).toHaveProperty('value')
  })

  test.each(table(blamedInRealTime, atOnce))('%s that %s hides no error', async (_name, _way, run, fail) => {
    expect(await endOf(run, fail)).toMatchObject(refused)
  })
})
