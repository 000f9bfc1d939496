import type { NetworkError, WebFetch } from 'support-workspace-sdk'
import { Agent, EnvHttpProxyAgent, interceptors, RetryAgent } from 'undici'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { isPlatformFetch, provenFetches } from '../../src/http/fetch-error.ts'
import { makeClient, refusedConnection, rejection, stubPlatformFetch } from '../helpers/client.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

/** Calls `isPlatformFetch` with a function of this name and printed text, as another runtime prints it. */
function isRecognized(text: string, name = 'fetch') {
  const printing = vi.spyOn(Function.prototype, 'toString').mockReturnValue(text)
  const result = isPlatformFetch(Object.defineProperty(() => {}, 'name', { value: name }))
  printing.mockRestore()
  return result
}

const node = (name: string) =>
  `function ${name}(input, init) { … const undiciModule = require('internal/deps/undici/undici'); … }`

// As these versions print it, abridged. `npm run test:runtimes` shows that the current ones still do.
test.each<[string, string, string?]>([
  ['Chromium, Bun and Workers', 'function fetch() { [native code] }'],
  ['Firefox', 'function fetch() {\n    [native code]\n}'],
  ['Node 22.2', node('value'), 'value'],
  ['Node 22, 24 and 26', node('fetch')],
  ['Deno 2.6', 'function fetch(input, init) {\n … mainFetch(request, false, requestObject.signal), … }'],
  ['Deno 2.8', 'function fetch(...args) {\n    return lazyFetch().fetch(...new SafeArrayIterator(args));\n  }'],
  ['Deno 2.9', 'function fetch(...e){return lazyFetch().fetch(...new n(e))}'],
])("the platform's fetch is recognized in %s", (_, text, name) => {
  expect(isRecognized(text, name)).toBe(true)
})

test.each<[string, string, string?]>([
  ['a bound function in V8', 'function () { [native code] }'],
  ['a bound function in Bun', 'function fetch() { [native code] }', 'bound fetch'],
  ['a Proxy in Bun', 'function ProxyObject() { [native code] }'],
  ['another native function', 'function Array() { [native code] }', 'Array'],
  ['a function that prints more than its name', 'function fetch() { [native code] } // really'],
  ['a function that quotes the text', 'function fetch() { return "function fetch() { [native code] }" }'],
  ['a wrapper that a patched `toString` hides', node('fetch'), ''],
])('%s is not recognized', (_, text, name) => {
  expect(isRecognized(text, name)).toBe(false)
})

const real = globalThis.fetch

test.each<[string, unknown]>([
  ['a wrapper', () => real('')],
  ['a wrapper of the same name', { fetch: () => real('') }.fetch],
  ['a bound wrapper', { fetch: () => real('') }.fetch.bind(null)],
  ['a Proxy', new Proxy(real, {})],
  ['a wrapper with its own toString', Object.assign(() => real(''), { toString: () => String(real) })],
  ['an object', { fetch: real }],
  ['undefined', undefined],
])('%s is not recognized', (_, fetch) => {
  expect(isPlatformFetch(fetch)).toBe(false)
})

const write = async (client = makeClient()) => {
  const error = await rejection(client.messages.create('c1', { body_html: 'x' }, { maxRetries: 1 }))
  return error as NetworkError
}

test('a write fails with a NetworkError if there is no fetch', async () => {
  vi.stubGlobal('fetch', undefined)
  expect(await write()).toMatchObject({ name: 'NetworkError', attempts: [{}] })
})

test("the platform's fetch can be passed as the option", async () => {
  const fetch: WebFetch = () => Promise.reject(refusedConnection())
  provenFetches.add(fetch)
  expect(await write(makeClient({ fetch }))).toMatchObject({ outcome: 'not-sent' })
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
])("the platform's fetch proves nothing when its agent %s", (_, agent) => {
  stubAgents(agent)
  expect(isPlatformFetch(real)).toBe(false)
})

test.each(agentNames)("the platform's fetch proves nothing when only %s retries", (name) => {
  stubAgents(null)
  stubAgents(new RetryAgent(new Agent()), [name])
  expect(isPlatformFetch(real)).toBe(false)
})

test.each([
  ['is not set', undefined],
  ['is null', null],
  ['does not retry', new Agent()],
  ['reads the proxy from the environment', new EnvHttpProxyAgent()],
])("the platform's fetch is recognized when its agent %s", (_, agent) => {
  stubAgents(agent)
  expect(isPlatformFetch(real)).toBe(true)
})
