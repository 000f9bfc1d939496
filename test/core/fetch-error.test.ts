import { NetworkError } from 'support-workspace-sdk'
import { Agent, EnvHttpProxyAgent, interceptors, ProxyAgent, RetryAgent } from 'undici'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { classifyFetchError, isPlatformFetch } from '../../src/core/fetch-error.ts'
import {
  brokenConnection,
  json,
  makeClient,
  refusedConnection,
  rejection,
  stubPlatformFetch,
} from '../helpers/client.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

const causes = (depth: number): Error =>
  depth === 0 ? refusedConnection() : new Error(`level ${depth}`, { cause: causes(depth - 1) })
const failure = (properties: object, message = 'x') => Object.assign(new Error(message), properties)
const listing = (...errors: unknown[]) => new TypeError('fetch failed', { cause: new AggregateError(errors) })
const tunnel = (status: number) => failure({}, `Proxy response (${status}) !== 200 when HTTP Tunneling`)

// As Node 22, 24 and 26 and Bun report them. What the Node of the tests reports is in proxy.test.ts.
test.each<[string, unknown, 'retry' | 'fix']>([
  ['a failed connect system call', failure({ syscall: 'connect', code: 'EHOSTUNREACH' }), 'retry'],
  ['a failed name lookup', failure({ syscall: 'getaddrinfo', code: 'EAI_FAIL' }), 'retry'],
  ['a proxy that is down', failure({ code: 'ECONNREFUSED', syscall: 'connect', port: 3128 }), 'retry'],
  ['a proxy that is not found', failure({ code: 'ENOTFOUND', hostname: 'proxy.test' }), 'retry'],
  ['a proxy that hangs up', failure({ code: 'UND_ERR_PRX_CONN' }, 'Proxy Connection failed'), 'retry'],
  ['a tunnel refused with 502', tunnel(502), 'retry'],
  ['a tunnel refused with 407', tunnel(407), 'fix'],
  ['a tunnel refused with 451', tunnel(451), 'fix'],
  ['an unknown issuer', failure({ code: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY' }), 'fix'],
  ['a certificate that has expired', failure({ code: 'CERT_HAS_EXPIRED' }), 'fix'],
  ['a cause at the fifth level', causes(3), 'retry'],
  ['an error that lists refused connections', listing(refusedConnection().cause, refusedConnection().cause), 'retry'],
  ['an error that lists no others', Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }), 'retry'],
])("%s proves that nothing was sent, with the platform's fetch", (_, thrown, remedy) => {
  expect(classifyFetchError(thrown, 'platform')).toMatchObject({ outcome: 'not-sent', remedy })
  expect(classifyFetchError(thrown, 'custom')).toMatchObject({ outcome: 'unknown', remedy })
})

test.each(['platform', 'body'] as const)('a mistake in code is not one of the `fetch` option: from %s', (from) => {
  expect(classifyFetchError(new RangeError('x'), from)).toMatchObject({ outcome: 'unknown', remedy: 'retry' })
})

test.each(['onRequestStart', 'onError'])('a dispatcher refused for its %s proves it with any fetch', (method) => {
  const refused = failure({ code: 'UND_ERR_INVALID_ARG' }, `invalid ${method} method`)
  expect(classifyFetchError(refused, 'custom')).toMatchObject({ outcome: 'not-sent', remedy: 'fix' })
})

test('an error says that nothing was sent by its `outcome`, with any fetch', () => {
  const refused = failure({ outcome: 'not-sent' })
  expect(classifyFetchError(refused, 'custom')).toMatchObject({ outcome: 'not-sent', remedy: 'retry' })
  expect(classifyFetchError(refused, 'body')).toMatchObject({ outcome: 'unknown' })
})

test('an error that lists another one beside this statement proves nothing with a custom fetch', () => {
  const listed = listing(refusedConnection().cause, failure({ outcome: 'not-sent' }))
  expect(classifyFetchError(listed, 'custom')).toMatchObject({ outcome: 'unknown' })
})

test.each([
  ['a refused tunnel', tunnel(407), ', but responded with 407. Check'],
  ['a proxy that hangs up', failure({ code: 'UND_ERR_PRX_CONN' }), 'the host of `baseUrl`. Check'],
])('the hint of %s says what the proxy did', (_, thrown, words) => {
  expect(classifyFetchError(thrown, 'platform').hint).toContain(words)
})

const endless = new Error('x')
endless.cause = endless
const ownList = new AggregateError([])
ownList.errors.push(ownList, ownList)

test.each<[string, unknown]>([
  ['a failed read', failure({ syscall: 'read', code: 'ECONNRESET' })],
  ...[407, 403, 502].map((status): [string, unknown] => [
    `text before a tunnel refused with ${status}`,
    new Error(`retried: ${tunnel(status).message}`),
  ]),
  ['text after a refused dispatcher', failure({ code: 'UND_ERR_INVALID_ARG' }, 'invalid onError method of x')],
  ['text before a refused dispatcher', failure({ code: 'UND_ERR_INVALID_ARG' }, 'an invalid onError method')],
  ['the text of a refused dispatcher without its code', new Error('invalid onError method')],
  ['a cause at the sixth level', causes(4)],
  ['a cause at the sixth level, below an error that lists it', new AggregateError([causes(3)])],
  ['a cause that is its own cause', endless],
  ['an error that lists a broken connection', listing(refusedConnection().cause, brokenConnection().cause)],
  ['an error that lists a broken connection first', listing(brokenConnection().cause, refusedConnection().cause)],
  ['an error that lists itself', ownList],
  [
    'an error with a code that lists a broken connection',
    Object.assign(listing(brokenConnection().cause).cause as Error, { code: 'ECONNREFUSED' }),
  ],
  ['an error that lists no others and has no code', new AggregateError([])],
  ['a string', 'ECONNREFUSED'],
])('%s proves nothing', (_, thrown) => {
  expect(classifyFetchError(thrown, 'platform')).toMatchObject({ outcome: 'unknown', remedy: 'retry' })
})

const write = async (client = makeClient()) => {
  const error = await rejection(client.messages.create('c1', { body_html: 'x' }, { maxRetries: 1 }))
  return error as NetworkError
}

test("with the platform's fetch, a write whose response body cannot be read has an unknown outcome, even after a connection error", async () => {
  const body = new ReadableStream({ start: (controller) => controller.error(refusedConnection()) })
  stubPlatformFetch(async () => new Response(body))
  const error = await write()
  expect(error).toBeInstanceOf(NetworkError)
  expect(error).toMatchObject({ outcome: 'unknown', attempts: [{ status: 200 }] })
})

test("a TypeError of the platform's fetch is a network error, so that a GET is retried", async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  const fetch = vi.fn(async () => json({})).mockRejectedValueOnce(new TypeError('invalid state'))
  stubPlatformFetch(fetch)
  await makeClient().me()
  expect(fetch).toHaveBeenCalledTimes(2)
})

test.each(['GET', 'DELETE', 'POST'] as const)(
  'a %s in a runtime without `fetch` says so, and is not retried',
  async (method) => {
    vi.stubGlobal('fetch', undefined)
    expect(await rejection(makeClient().request(method, '/x'))).toMatchObject({
      name: 'NetworkError',
      message: `${method} /x failed: this runtime has no \`fetch\`. Nothing was sent. Pass one as the option \`fetch\`.`,
      outcome: 'not-sent',
      remedy: 'fix',
      attempts: [{ error: 'NetworkError' }],
    })
  },
)

test.each([
  ['a fetch option is given', () => vi.fn()],
  ['the runtime is Deno, which resends writes', () => void vi.stubGlobal('Deno', {})],
])('connection errors prove nothing if %s', (_, prepare) => {
  expect(isPlatformFetch(prepare())).toBe(false)
})

test('an agent that is replaced during the request changes nothing', async () => {
  const { promise, reject } = Promise.withResolvers<never>()
  stubAgents(new RetryAgent(new Agent()))
  stubPlatformFetch(() => promise)
  const ended = write(makeClient({ hooks: { onAttemptStart: () => queueMicrotask(replace) } }))
  function replace() {
    stubAgents(new Agent())
    reject(refusedConnection())
  }
  expect(await ended).toMatchObject({ outcome: 'unknown' })
})

const agentNames = ['undici.globalDispatcher.1', 'undici.globalDispatcher.2']

/** Replaces the agents of the platform's fetch. Restored after the test. */
function stubAgents(agent: unknown, names = agentNames) {
  for (const name of names) {
    const symbol = Symbol.for(name)
    const before: unknown = Reflect.get(globalThis, symbol)
    Reflect.set(globalThis, symbol, agent)
    onTestFinished(() => void Reflect.set(globalThis, symbol, before))
  }
}

test.each([
  ['retries', new RetryAgent(new Agent())],
  ['is composed with a retry', new Agent().compose(interceptors.retry())],
  ['has no prototype', Object.create(null)],
  ['has a prototype without a class', Object.create(Object.create(null))],
  ['has an unknown class', new (class CustomAgent extends Agent {})()],
  [
    'has a class that extends one of the same name',
    new (Object.defineProperty(class extends Agent {}, 'name', { value: 'Agent' }))(),
  ],
])("the platform's fetch proves nothing when its agent %s", (_, agent) => {
  stubAgents(agent)
  expect(isPlatformFetch(undefined)).toBe(false)
})

test.each(agentNames)("the platform's fetch proves nothing when only %s retries", (name) => {
  stubAgents(null)
  stubAgents(new RetryAgent(new Agent()), [name])
  expect(isPlatformFetch(undefined)).toBe(false)
})

test.each([
  ['is not set', undefined],
  ['is null', null],
  ['does not retry', new Agent()],
  ['uses a proxy', new ProxyAgent('http://proxy.test')],
  ['reads the proxy from the environment', new EnvHttpProxyAgent()],
])("the platform's fetch is recognized when its agent %s", (_, agent) => {
  stubAgents(agent)
  expect(isPlatformFetch(undefined)).toBe(true)
})
