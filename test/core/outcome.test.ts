import {
  type ClientOptions,
  type Hooks,
  InvalidArgumentError,
  type Operation,
  RequestError,
  SupportWorkspace,
} from 'support-workspace-sdk'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { json, makeClient, neverSettles, refusal, rejection, scripted, token } from '../helpers/client.ts'
import { jitter } from '../helpers/clock.ts'
import { unreadable } from '../helpers/failing-callbacks.ts'
import { settledAfterTimers } from '../helpers/settled.ts'

beforeEach(() => jitter(0))

/** The functions of the caller that run before an attempt. */
const parts: [part: string, problem: string, good: unknown, options: (each: never) => Partial<ClientOptions>][] = [
  ['token provider', 'there was no access token', token, (accessToken) => ({ accessToken })],
  ['headers function', 'there were no headers', {}, (headers) => ({ headers })],
  ['rate limiter', 'the rate limiter failed', undefined, (acquire) => ({ rateLimiter: { acquire } })],
]
const failure = new Error('vault 1.2 is shut.')

describe.each(parts)('a %s that fails', (part, problem, good, optionsFor) => {
  test.each([
    ['POST', 429, 'refused'],
    ['GET', 503, 'no-effect'],
    ['DELETE', 503, 'unknown'],
  ] as const)('before the retry of a %s after a %i is named, and the call is %s', async (method, status, outcome) => {
    const failsLater = vi.fn().mockReturnValueOnce(good).mockRejectedValue(failure)
    const client = makeClient({ fetch: scripted(refusal(status, 'x')), ...optionsFor(failsLater as never) })
    expect(await rejection(client.request(method, '/x'))).toMatchObject({
      name: 'RequestError',
      outcome,
      remedy: 'retry',
      attempts: [{ status }],
      message: `${method} /x failed and could not be retried, because ${problem}: vault 1.2 is shut. Check the ${part}, then try again.`,
      cause: { message: 'vault 1.2 is shut.' },
    })
  })
})

const another = { operation: 'x', outcome: 'not-sent', remedy: 'retry', hint: 'Wait.' } as const

test.each([
  ['rejects with undefined', () => Promise.reject(undefined)],
  ['returns no token', () => undefined as never],
  ['rejects with an InvalidArgumentError', () => Promise.reject(new InvalidArgumentError('x', 'No.', 'Fix it.'))],
  ['rejects with an object that has an outcome', () => Promise.reject({ outcome: 'not-sent' })],
  ['rejects with the error of another call', () => Promise.reject(new RequestError('No.', another))],
])('a token provider that %s before a retry does not hide that a DELETE may have been applied', async (_, fail) => {
  const accessToken = vi.fn<() => Promise<string>>(fail).mockResolvedValueOnce(token)
  const ends: unknown[] = []
  const onOperationEnd: Hooks['onOperationEnd'] = ({ attempts, error, outcome }) =>
    void ends.push({ attempts, error, outcome })
  const client = makeClient({ accessToken, fetch: scripted(refusal(503, 'down')), hooks: { onOperationEnd } })
  const error = await rejection(client.messages.delete('c1', 'm1'))
  expect(error).toBeInstanceOf(RequestError)
  expect(error).toMatchObject({ outcome: 'unknown', operation: 'messages.delete', attempts: [{ status: 503 }] })
  expect(ends).toEqual([{ attempts: 1, error: 'RequestError', outcome: 'unknown' }])
})

test.each([
  ['before the first attempt', [], 'not-sent', [0, 1], expect.stringMatching(/^Nothing was sent\. Check/)],
  ['before a retry', [token], 'no-effect', [1, 2], expect.stringMatching(/^Check/)],
])('a token provider that stalls %s is not asked again', async (_, tokens, outcome, counts, hint) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const accessToken = vi.fn(() => tokens.shift() ?? neverSettles())
  const fetch = scripted(refusal(503, 'x'))
  const error = await settledAfterTimers(rejection(makeClient({ accessToken, fetch, maxRetries: 2 }).me()))
  expect(error).toMatchObject({ name: 'TimeoutError', limit: 'attempt', outcome, remedy: 'retry', hint })
  const { attempts } = error as RequestError
  expect([attempts.length, accessToken.mock.calls.length]).toEqual(counts)
  expect(fetch.requests).toHaveLength(attempts.length)
})

describe('the constructor', () => {
  test.each<[string, object, string, unknown]>([
    ['without Request', globalThis, 'Request', undefined],
    ['without AbortSignal.any', AbortSignal, 'any', undefined],
    ['whose signals are of another kind', globalThis, 'AbortController', Object],
  ])('says what a runtime %s lacks', async (_, holder, name, value) => {
    const descriptor = Object.getOwnPropertyDescriptor(holder, name) as PropertyDescriptor
    Object.defineProperty(holder, name, { value, configurable: true })
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

test.each([
  ['a message that is an object', Object.assign(new Error('x'), { message: { deep: 1 } })],
  ['a name that is a symbol', Object.assign(new Error('x'), { name: Symbol('x') })],
  ['a getter that throws', unreadable(new Error('x'), 'message')],
])('an error of onInvalidToken with %s does not hide the 401', async (_, failure) => {
  const accessToken = { getAccessToken: () => token, onInvalidToken: () => Promise.reject(failure) }
  const { messages } = makeClient({ accessToken, fetch: scripted(refusal(401, 'invalid_token')) })
  const error = await rejection(messages.create('c1', { body_html: 'x' }))
  expect(error).toMatchObject({ name: 'AuthenticationError', outcome: 'refused' })
})

test('an abort inside onAttemptStart prevents the request, even if the fetch ignores its signal', async () => {
  const controller = new AbortController()
  const fetch = scripted(json({}))
  const client = makeClient({ fetch, hooks: { onAttemptStart: () => controller.abort('enough') } })
  expect(await rejection(client.me({ signal: controller.signal }))).toBe('enough')
  expect(fetch.requests).toHaveLength(0)
})

test('an operation is read when the call is made, so that later changes have no effect', async () => {
  const operation: Operation = { id: 'x', method: 'GET', path: '/a', envelope: 'any' }
  const fetch = scripted(json({}))
  const call = makeClient({ fetch }).call(operation as never)
  Object.assign(operation, { method: 'DELETE', path: '/b' })
  await call
  expect(fetch.requests.map(({ method, url }) => `${method} ${url}`)).toEqual(['GET https://api.test/a'])
})
