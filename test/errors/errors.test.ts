import * as sdk from 'support-workspace-sdk'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { json, makeClient, refusal, rejection, scripted, scriptedPlatform } from '../helpers/client.ts'

let copy: typeof sdk

beforeAll(async () => {
  vi.resetModules()
  copy = await import('support-workspace-sdk')
})

const errorOf = (response: Response) => rejection(makeClient({ fetch: scripted(response), maxRetries: 0 }).me())

describe('instanceof', () => {
  test('works across copies of the package', async () => {
    expect(copy.ApiError).not.toBe(sdk.ApiError)
    const error = await errorOf(refusal(403, 'insufficient_scope'))
    const kin = ['InsufficientScopeError', 'PermissionDeniedError', 'ApiError', 'RequestError', 'SupportWorkspaceError']
    for (const name of [...kin, 'NotFoundError', 'ActorSelfRequiredError', 'NetworkError']) {
      const classes = [sdk, copy].map((each) => Reflect.get(each, name) as typeof sdk.ApiError)
      expect(classes.map((Class) => error instanceof Class)).toEqual([kin.includes(name), kin.includes(name)])
    }
    expect(error instanceof Error).toBe(true)
    expect(copy.isSupportWorkspaceError(error)).toBe(true)
  })

  const others = [undefined, null, 'text', 7, {}, new Error('x'), () => {}, Object.create(null)]
  test.each(others)('is false for %s', (value) => {
    expect(value instanceof sdk.SupportWorkspaceError).toBe(false)
    expect(sdk.isSupportWorkspaceError(value)).toBe(false)
  })

  test('works for a custom subclass', async () => {
    class CustomNotFoundError extends sdk.NotFoundError {}
    const builtIn = await errorOf(refusal(404, 'x'))
    const refused = { operation: 'x', outcome: 'refused', remedy: 'fix', status: 404 } as const
    const custom = new CustomNotFoundError('x', { ...refused, code: undefined, description: undefined, hint: 'y' })
    for (const Class of [CustomNotFoundError, sdk.NotFoundError, copy.ApiError]) expect(custom).toBeInstanceOf(Class)
    expect(builtIn instanceof CustomNotFoundError).toBe(false)
  })
})

describe('an error', () => {
  test('has its details in its JSON form, but no headers', async () => {
    const headers = { 'retry-after': '90', 'x-request-id': 'r1', 'x-other': 'z' }
    const error = await errorOf(json({ error: 'slow_down', error_description: 'Slow.' }, 429, headers))
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: 'RateLimitError',
      message: 'me failed with 429 slow_down: Slow.',
      hint: 'Try again after 90 seconds.',
      operation: 'me',
      outcome: 'refused',
      remedy: 'retry',
      attempts: [{ startedAt: expect.any(Number), duration: expect.any(Number), status: 429, error: 'RateLimitError' }],
      status: 429,
      code: 'slow_down',
      description: 'Slow.',
      requestId: 'r1',
      retryAfter: 90,
    })
  })

  test('has a JSON form without the hint that JavaScript can leave out', () => {
    const error = new sdk.SupportWorkspaceError('It failed.', { remedy: 'verify' } as never)
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ message: 'It failed.', hint: '', remedy: 'verify' })
  })

  test('includes its cause in its JSON form', async () => {
    const cause = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    const fetch = scripted(new TypeError('fetch failed', { cause }))
    const error = (await rejection(makeClient({ fetch, maxRetries: 0 }).me())) as sdk.NetworkError
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ cause: { name: 'TypeError', message: 'fetch failed' } })
    expect(error.cause).toMatchObject({ cause: { message: 'read ECONNRESET', code: 'ECONNRESET' } })
    expect(error.cause).not.toBe(cause)
    expect(error.message).toBe('me received no response: read ECONNRESET. Check the network, then try again.')
  })

  test('survives structuredClone with its message and cause', async () => {
    const fetch = scripted(new TypeError('fetch failed'))
    const clone = structuredClone(await rejection(makeClient({ fetch, maxRetries: 0 }).me())) as Error
    expect(clone.message).toContain('me received no response: fetch failed')
    expect(clone.cause).toMatchObject({ message: 'fetch failed' })
  })

  test('lists every address of a host that has several', async () => {
    const refused = { code: 'ECONNREFUSED', syscall: 'connect' }
    const errors = ['::1:1', '127.0.0.1:1'].map((at) => Object.assign(new Error(`connect ECONNREFUSED ${at}`), refused))
    const cause = Object.assign(new AggregateError(errors), { code: 'ECONNREFUSED' })
    scriptedPlatform(new TypeError('fetch failed', { cause }))
    const error = await rejection(makeClient({ maxRetries: 0 }).me())
    expect(error).toMatchObject({ outcome: 'not-sent' })
    expect(String(error)).toContain('connect ECONNREFUSED ::1:1, connect ECONNREFUSED 127.0.0.1:1')
  })

  test('of another realm is recognized', async () => {
    const { runInNewContext } = await import('node:vm')
    scriptedPlatform(() => {
      throw runInNewContext(
        'new TypeError("fetch failed", { cause: Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }) })',
      )
    })
    const error = await rejection(makeClient({ maxRetries: 0 }).messages.create('c1', { body_html: 'x' }))
    expect(error).toMatchObject({ outcome: 'not-sent', cause: { message: 'fetch failed' } })
  })
})
