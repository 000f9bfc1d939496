import { AuthenticationError, type ClientOptions } from 'support-workspace-sdk'
import { describe, expect, test, vi } from 'vitest'
import { json, makeClient, refusal, rejection, scripted, token } from '../helpers/client.ts'
import { failingCallbacks } from '../helpers/failing-callbacks.ts'

const bearers = (fetch: ReturnType<typeof scripted>) =>
  fetch.requests.map((request) => request.headers.get('authorization'))

describe('accessToken', () => {
  test.each<[string, ClientOptions['accessToken'], string?]>([
    ['a string', token],
    ['a function', () => token],
    ['an async function', async () => token],
    ['a single character', '~', '~'],
    ['an object with getAccessToken', { getAccessToken: () => token }],
    ['an object with an async getAccessToken', { getAccessToken: async () => token }],
  ])('accepts %s', async (_, accessToken, expected = token) => {
    const fetch = scripted(json({}))
    await makeClient({ fetch, accessToken }).me()
    expect(bearers(fetch)).toEqual([`Bearer ${expected}`])
  })

  test('is read again before each attempt', async () => {
    let providerCalls = 0
    const fetch = scripted(refusal(503, 'down', { 'retry-after': '0' }), json({}))
    await makeClient({ fetch, accessToken: () => `swot_${++providerCalls}` }).me()
    expect(bearers(fetch)).toEqual(['Bearer swot_1', 'Bearer swot_2'])
  })

  const malformed = 'is not a token: it contains whitespace, line breaks or non-ASCII characters'
  test.each<[string, unknown]>([
    ['is empty', ''],
    [malformed, 'a b'],
    [malformed, 'swot_secret\r\nx-evil: 1'],
    [malformed, 'swot_secretä'],
    [malformed, 'swot_secret\0'],
    [malformed, 'äswot_secret'],
    ['is missing', undefined],
    ['must be a string, not null', null],
    ['must be a string, not a number', 7],
    ['must be a string, not an object', { getAccessToken: token }],
  ])('throws an error that says that it %s, without quoting it: %j', (words, accessToken) => {
    const message = new RegExp(`^(?!.*(secret|evil)).*\`accessToken\` ${words}\\.`, 's')
    expect(() => makeClient({ accessToken: accessToken as never })).toThrow(message)
  })

  test.each([undefined, null, 7, '', 'swot_secret\n', {}])('rejects for %j from a function', async (junk) => {
    const fetch = scripted(json({}))
    const error = await rejection(makeClient({ fetch, accessToken: (() => junk) as never }).me())
    expect(error).toMatchObject({ name: 'InvalidArgumentError', argument: 'accessToken' })
    expect(String(error)).not.toContain('secret')
    expect(fetch.requests).toHaveLength(0)
  })
})

describe('onInvalidToken', () => {
  const tokenSource = (onInvalidToken: (accessToken: string) => void | Promise<void>) => ({
    getAccessToken: () => token,
    onInvalidToken: vi.fn(onInvalidToken),
  })

  test('is called once with the refused token after a 401 invalid_token, before the call rejects', async () => {
    const order: string[] = []
    const accessToken = tokenSource(async () => {
      await Promise.resolve()
      order.push('called')
    })
    const fetch = scripted(refusal(401, 'invalid_token'))
    await rejection(
      makeClient({ fetch, accessToken })
        .me()
        .finally(() => order.push('rejected')),
    )
    expect(accessToken.onInvalidToken.mock.calls).toEqual([[token]])
    expect(order).toEqual(['called', 'rejected'])
    expect(fetch.requests).toHaveLength(1)
  })

  test('is optional: without it, the error of the 401 has no cause', async () => {
    const error = await rejection(makeClient({ fetch: scripted(refusal(401, 'invalid_token')) }).me())
    expect(error).toBeInstanceOf(AuthenticationError)
    expect((error as AuthenticationError).cause).toBeUndefined()
  })

  test.each([
    ['a 401 with another code', 401, 'unauthorized'],
    ['a 403', 403, 'invalid_token'],
    ['a 500', 500, 'invalid_token'],
  ])('is not called for %s', async (_, status, code) => {
    const accessToken = tokenSource(() => {})
    await rejection(makeClient({ fetch: scripted(refusal(status, code)), accessToken, maxRetries: 0 }).me())
    expect(accessToken.onInvalidToken).not.toHaveBeenCalled()
  })

  const storageError = new Error(`no storage for ${token}`)

  test.each(failingCallbacks(storageError))('that %s sets the cause of the 401 error', async (_, onInvalidToken) => {
    const fetch = scripted(refusal(401, 'invalid_token'))
    const error = await rejection(makeClient({ fetch, accessToken: tokenSource(onInvalidToken) }).me())
    expect(error).toBeInstanceOf(AuthenticationError)
    expect(error).toMatchObject({ outcome: 'refused', cause: { message: 'no storage for [redacted]' } })
    // Like the cause of any error.
    const attributes = { configurable: true, enumerable: false, writable: true }
    expect(Object.getOwnPropertyDescriptor(error, 'cause')).toMatchObject(attributes)
    expect(fetch.requests).toHaveLength(1)
  })
})
