import { AuthenticationError, InvalidArgumentError } from 'support-workspace-sdk'
import { describe, expect, test, vi } from 'vitest'
import { json, makeClient, refusal, rejection, scripted, token } from '../helpers/client.ts'

const bearers = (fetch: ReturnType<typeof scripted>) =>
  fetch.requests.map((request) => request.headers.get('authorization'))

describe('the access token', () => {
  test.each([
    ['a string', token],
    ['a function', () => token],
    ['an async function', async () => token],
    ['a source', { getAccessToken: () => token }],
    ['an async source', { getAccessToken: async () => token }],
  ])('may come from %s', async (_, accessToken) => {
    const fetch = scripted(json({}))
    await makeClient({ fetch, accessToken }).me()
    expect(bearers(fetch)).toEqual([`Bearer ${token}`])
  })

  test('is asked for again before each attempt', async () => {
    let asked = 0
    const fetch = scripted(refusal(503, 'down', { 'retry-after': '0' }), json({}))
    await makeClient({ fetch, accessToken: () => `swot_${++asked}` }).me()
    expect(bearers(fetch)).toEqual(['Bearer swot_1', 'Bearer swot_2'])
  })

  test.each([
    ['a line break', 'swot_secret\r\nx-evil: 1'],
    ['a space', 'swot_ secret'],
    ['a letter beyond ASCII', 'swot_secretä'],
    ['a null character', 'swot_secret\0'],
    ['nothing in it', ''],
  ])('with %s is refused at once, without being quoted', (_, accessToken) => {
    expect(() => makeClient({ accessToken })).toThrow(/^(?!.*(secret|evil)).*`accessToken` is/s)
  })

  test.each([undefined, null, 7, {}, []])('that is %j is refused at once', (accessToken) => {
    expect(() => makeClient({ accessToken: accessToken as never })).toThrow(InvalidArgumentError)
  })

  test.each([undefined, null, 7, '', 'swot_secret\n', {}])('that a function gives as %j is not sent', async (junk) => {
    const fetch = scripted(json({}))
    const error = await rejection(makeClient({ fetch, accessToken: (() => junk) as never }).me())
    expect(error).toMatchObject({ name: 'InvalidArgumentError', argument: 'accessToken' })
    expect(String(error)).not.toContain('secret')
    expect(fetch.requests).toHaveLength(0)
  })

  test.each([
    [
      'throws',
      (error: Error) => () => {
        throw error
      },
    ],
    ['rejects', (error: Error) => () => Promise.reject(error)],
  ])("is the caller's affair: the error of a function that %s comes out as it is", async (_, provider) => {
    const error = new Error('the vault is shut')
    const fetch = scripted(json({}))
    expect(await rejection(makeClient({ fetch, accessToken: provider(error) }).me())).toBe(error)
    expect(fetch.requests).toHaveLength(0)
  })
})

describe('a fetch of your own', () => {
  test.each([undefined, null, 'text', { status: 200 }])(
    'that gives %j instead of a response is named',
    async (junk) => {
      const client = makeClient({ fetch: (async () => junk) as never, maxRetries: 0 })
      const error = await rejection(client.me())
      expect(error).toMatchObject({ name: 'NetworkError', outcome: 'unknown' })
      expect(String(error)).toContain('the `fetch` option returned no Response')
    },
  )
})

describe('onInvalidToken', () => {
  const source = (onInvalidToken: (accessToken: string) => void | Promise<void>) => ({
    getAccessToken: () => token,
    onInvalidToken: vi.fn(onInvalidToken),
  })

  test('hears of a 401 invalid_token once, with the token that was refused, before the call rejects', async () => {
    const order: string[] = []
    const accessToken = source(async () => {
      await Promise.resolve()
      order.push('heard')
    })
    const fetch = scripted(refusal(401, 'invalid_token'))
    await rejection(
      makeClient({ fetch, accessToken })
        .me()
        .finally(() => order.push('rejected')),
    )
    expect(accessToken.onInvalidToken.mock.calls).toEqual([[token]])
    expect(order).toEqual(['heard', 'rejected'])
    expect(fetch.requests).toHaveLength(1)
  })

  test('hears of each call that was refused', async () => {
    const accessToken = source(() => {})
    const client = makeClient({ fetch: scripted(refusal(401, 'invalid_token')), accessToken })
    await Promise.all([1, 2, 3].map(() => rejection(client.me())))
    expect(accessToken.onInvalidToken).toHaveBeenCalledTimes(3)
  })

  test.each([
    ['a 401 of another code', 401, 'unauthorized'],
    ['a 403', 403, 'invalid_token'],
    ['a 500', 500, 'invalid_token'],
  ])('hears nothing of %s', async (_, status, code) => {
    const accessToken = source(() => {})
    await rejection(makeClient({ fetch: scripted(refusal(status, code)), accessToken, maxRetries: 0 }).me())
    expect(accessToken.onInvalidToken).not.toHaveBeenCalled()
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error(`no storage for ${token}`)
      },
    ],
    ['rejects', () => Promise.reject(new Error(`no storage for ${token}`))],
  ])('does not hide the 401 when it %s: its error is the cause, without the token', async (_, handler) => {
    const fetch = scripted(refusal(401, 'invalid_token'))
    const error = await rejection(makeClient({ fetch, accessToken: source(handler) }).me())
    expect(error).toBeInstanceOf(AuthenticationError)
    expect(error).toMatchObject({ outcome: 'refused', cause: { message: 'no storage for [redacted]' } })
    expect(fetch.requests).toHaveLength(1)
  })
})
