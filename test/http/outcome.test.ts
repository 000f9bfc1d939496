import {
  defineOperation,
  InvalidArgumentError,
  type Operation,
  RequestError,
  SupportWorkspace,
} from 'support-workspace-sdk'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  json,
  makeClient,
  neverSettles,
  page,
  refusal,
  refusedConnection,
  rejection,
  scripted,
  scriptedPlatform,
  token,
} from '../helpers/client.ts'
import { settledAfterTimers } from '../helpers/settled.ts'

beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0)
})

describe('a token provider that fails before a retry', () => {
  const another = { operation: 'x', outcome: 'not-sent', remedy: 'retry', hint: 'Wait.' } as const
  test.each([
    ['rejects with an error', () => Promise.reject(new Error('the vault is locked'))],
    ['rejects with undefined', () => Promise.reject(undefined)],
    ['returns no token', () => undefined as never],
    ['rejects with an InvalidArgumentError', () => Promise.reject(new InvalidArgumentError('x', 'No.', 'Fix it.'))],
    ['rejects with an object that has an outcome', () => Promise.reject({ outcome: 'not-sent' })],
    ['rejects with the error of another call', () => Promise.reject(new RequestError('No.', another))],
  ])('does not hide that a DELETE may have been applied when it %s', async (_, fail) => {
    let providerCalls = 0
    const ends: unknown[] = []
    const client = makeClient({
      accessToken: () => (providerCalls++ === 0 ? token : fail()),
      fetch: scripted(refusal(503, 'down')),
      hooks: { onOperationEnd: ({ attempts, error, outcome }) => void ends.push({ attempts, error, outcome }) },
    })
    const error = await rejection(client.messages.delete('c1', 'm1'))
    expect(error).toBeInstanceOf(RequestError)
    expect(error).toMatchObject({
      outcome: 'unknown',
      operation: 'messages.delete',
      attempts: [{ status: 503 }],
      message: expect.stringContaining('could not be retried, because there was no access token'),
      remedy: 'retry',
      hint: 'Check the token provider, then try again.',
    })
    expect(ends).toEqual([{ attempts: 1, error: 'RequestError', outcome: 'unknown' }])
  })

  test('keeps the outcome of a refused write', async () => {
    let providerCalls = 0
    const client = makeClient({
      accessToken: () => (providerCalls++ === 0 ? token : Promise.reject(new Error('locked'))),
      fetch: scripted(refusal(429, 'slow_down')),
    })
    expect(await rejection(client.messages.create('c1', { body_html: 'x' }))).toMatchObject({ outcome: 'refused' })
  })
})

describe('attempts', () => {
  test('have only the properties that apply', async () => {
    scriptedPlatform(refusedConnection(), refusal(404, 'x'))
    const { attempts } = (await rejection(makeClient().me())) as RequestError
    const times = { startedAt: expect.any(Number), duration: expect.any(Number) }
    expect(attempts).toStrictEqual([
      { ...times, error: 'NetworkError', wait: 0 },
      { ...times, status: 404, error: 'NotFoundError' },
    ])
  })

  test.each([
    ['before the first attempt', [], 'not-sent', [0, 1]],
    ['before a retry', [token], 'no-effect', [1, 2]],
  ])(
    'end in a TimeoutError when the token provider stalls, which is not asked again: %s',
    async (_, tokens, outcome, counts) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
      onTestFinished(() => void vi.useRealTimers())
      const accessToken = vi.fn(() => tokens.shift() ?? neverSettles())
      const fetch = scripted(refusal(503, 'x'))
      const error = await settledAfterTimers(rejection(makeClient({ accessToken, fetch, maxRetries: 2 }).me()))
      expect(error).toMatchObject({ name: 'TimeoutError', limit: 'attempt', outcome, remedy: 'retry' })
      const { attempts } = error as RequestError
      expect([attempts.length, accessToken.mock.calls.length]).toEqual(counts)
      expect(fetch.requests).toHaveLength(attempts.length)
    },
  )
})

describe('the constructor', () => {
  test.each([
    ['maxRetry', { maxRetry: 5 }],
    ['fetch', { fetch: 'fetch' }],
    ['onDrift', { onDrift: true }],
    ['scopes', { scopes: 'conversations:read' }],
    ['scopes', { scopes: [1] }],
    ['scopes', { scopes: ['contacts:read', 1] }],
    ['hooks', { hooks: () => {} }],
    ['fetch', { fetch: null }],
    ['allowInsecureHttp', { allowInsecureHttp: 'false' }],
    ['headers', { headers: new Map([['x-a', 'b']]) }],
    ['headers', { headers: 'x-a: b' }],
    ['headers', { headers: { 'x-a': null } }],
    ['content-length', { headers: { 'content-length': '3' } }],
    ['transfer-encoding', { headers: { 'Transfer-Encoding': 'chunked' } }],
    ['host', { headers: { host: 'evil.example' } }],
  ])('throws for an invalid option and names it: %s', (argument, options) => {
    expect(() => makeClient(options as never)).toThrow(InvalidArgumentError)
    expect(() => makeClient(options as never)).toThrow(`\`${argument}\``)
  })

  test.each<[string, object, string]>([
    ['Request', globalThis, 'Request'],
    ['AbortSignal.any', AbortSignal, 'any'],
  ])('says what a runtime without %s lacks', async (_, holder, name) => {
    const descriptor = Object.getOwnPropertyDescriptor(holder, name) as PropertyDescriptor
    Reflect.deleteProperty(holder, name)
    onTestFinished(() => void Object.defineProperty(holder, name, descriptor))
    const message =
      'This runtime cannot create a `Request` with the signal of `AbortSignal.any`. Use Node 22, a browser from 2024, or later. In jsdom, use the classes of Node instead of its own.'
    const expected = expect.objectContaining({ name: 'SupportWorkspaceError', message })
    expect(() => makeClient()).toThrow(expected)
    const options = { baseUrl: 'https://api.test', accessToken: token }
    expect(await rejection(SupportWorkspace.connect(options))).toEqual(expected)
  })

  test('copies its options, so that later changes to them have no effect', async () => {
    const scopes = ['contacts:read']
    const client = makeClient({ fetch: scripted(refusal(403, 'insufficient_scope')), scopes })
    scopes.push('contacts:write')
    expect(await rejection(client.contacts.list())).toMatchObject({ granted: ['contacts:read'] })
  })
})

describe('a call', () => {
  test.each([
    ['timeuot', { timeuot: 5 }],
    ['signal', { signal: new AbortController() }],
    ['timeout', { timeout: 0 }],
    ['headers', { headers: new Map() }],
  ])('rejects for an invalid option and names it: %s', async (argument, options) => {
    const fetch = scripted(json({}))
    expect(await rejection(makeClient({ fetch }).me(options as never))).toMatchObject({
      name: 'InvalidArgumentError',
      argument,
      outcome: 'not-sent',
    })
    expect(fetch.requests).toHaveLength(0)
  })
})

describe('an error with unreadable properties', () => {
  const unreadable = Object.defineProperty(new Error('x'), 'message', {
    get() {
      throw new Error('broken getter')
    },
  })

  test.each([
    ['a message that is an object', Object.assign(new Error('x'), { message: { deep: 1 } })],
    ['a name that is a symbol', Object.assign(new Error('x'), { name: Symbol('x') })],
    ['a getter that throws', unreadable],
  ])('does not hide the 401 when onInvalidToken throws it: %s', async (_, failure) => {
    const onInvalidToken = () => Promise.reject(failure)
    const client = makeClient({
      accessToken: { getAccessToken: () => token, onInvalidToken },
      fetch: scripted(refusal(401, 'invalid_token')),
    })
    expect(await rejection(client.messages.create('c1', { body_html: 'x' }))).toMatchObject({
      name: 'AuthenticationError',
      outcome: 'refused',
    })
  })

  test('becomes a NetworkError when a custom fetch throws it', async () => {
    const client = makeClient({ fetch: () => Promise.reject(unreadable), maxRetries: 0 })
    expect(await rejection(client.me())).toMatchObject({ name: 'NetworkError', outcome: 'no-effect' })
  })
})

test('a call whose signal has already aborted does not validate its input', async () => {
  const validate = vi.fn(() => ({ value: {} }))
  const body = { '~standard': { version: 1, vendor: 'x', validate } } as const
  const operation = defineOperation({ id: 'x', method: 'POST', path: '/x', body })
  const call = makeClient({ fetch: scripted(json({})) }).call(
    operation,
    { body: {} },
    { signal: AbortSignal.abort('enough') },
  )
  expect(await rejection(call)).toBe('enough')
  expect(validate).not.toHaveBeenCalled()
})

test('a client with actor `app` sends what does not author content', async () => {
  const fetch = scripted(json(page([])))
  await makeClient({ fetch, actor: 'app' }).conversations.list()
  expect(fetch.requests).toHaveLength(1)
})

test('an abort inside onAttemptStart prevents the request, even if the fetch ignores its signal', async () => {
  const controller = new AbortController()
  const fetch = scripted(json({}))
  const client = makeClient({ fetch, hooks: { onAttemptStart: () => controller.abort('enough') } })
  expect(await rejection(client.me({ signal: controller.signal }))).toBe('enough')
  expect(fetch.requests).toHaveLength(0)
})

describe('an operation', () => {
  test.each([
    ['envelope', { envelope: 'List' }],
    ['actor', { actor: 'Self' }],
    ['response', { response: { type: 'object' } }],
    ['body', { body: () => true }],
  ])('with an invalid %s is rejected before a request is sent', async (argument, invalid) => {
    const operation = { id: 'x', method: 'POST', path: '/x', ...invalid }
    expect(() => defineOperation(operation as never)).toThrow(expect.objectContaining({ argument }))
    const fetch = scripted(json({}))
    expect(await rejection(makeClient({ fetch }).call(operation as unknown as Operation))).toMatchObject({
      argument,
      outcome: 'not-sent',
    })
    expect(fetch.requests).toHaveLength(0)
  })

  test('is read when the call is made, so that later changes have no effect', async () => {
    const operation = {
      id: 'x',
      method: 'GET' as 'GET' | 'DELETE',
      path: '/a' as `/${string}`,
      envelope: 'any' as const,
    }
    const fetch = scripted(json({}))
    const call = makeClient({ fetch }).call(operation)
    Object.assign(operation, { method: 'DELETE', path: '/b' })
    await call
    expect(fetch.requests.map(({ method, url }) => `${method} ${url}`)).toEqual(['GET https://api.test/a'])
  })
})

test('connect copies its options, so that later changes have no effect', async () => {
  const urls: string[] = []
  const fetch = async (url: string) => {
    urls.push(url)
    return json({ actor: 'app', scopes: [null], data: [] })
  }
  const options = { baseUrl: 'https://a.test', accessToken: token, fetch }
  const connecting = SupportWorkspace.connect(options)
  options.baseUrl = 'https://b.test'
  await (await connecting).conversations.list()
  expect(urls).toEqual(['https://a.test/api/oauth/v1/me', 'https://a.test/api/oauth/v1/conversations'])
})
