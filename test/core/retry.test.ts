import {
  type Attempt,
  type Method,
  type Outcome,
  type OutgoingCall,
  RateLimitError,
  type Remedy,
  type Reply,
  type RequestError,
} from 'support-workspace-sdk'
import { describe, expect, test, vi } from 'vitest'
import {
  brokenConnection,
  json,
  makeClient,
  neverSettles,
  refusal,
  refusedConnection,
  rejection,
  type Step,
  scripted,
  scriptedPlatform,
} from '../helpers/client.ts'
import { fakeClock, jitter } from '../helpers/clock.ts'
import { settled, settledAfterTimers } from '../helpers/settled.ts'

fakeClock(1_700_000_000_000)

test('a retry sends the whole body again', async () => {
  const fetch = scriptedPlatform(refusal(429, 'x'), refusedConnection(), json({ data: { id: '1' } }))
  await settledAfterTimers(makeClient().messages.create('c1', { body_html: '<p>Hi</p>' }))
  expect(await Promise.all(fetch.requests.map((request) => request.json()))).toEqual(
    Array.from({ length: 3 }, () => ({ body_html: '<p>Hi</p>' })),
  )
})

test('the attempts of an error stay the same after a retry', async () => {
  const errors: RequestError[] = []
  const guard = {
    middleware: (call: OutgoingCall, next: (call: OutgoingCall) => Promise<Reply>) => next(call),
    around: async (send: () => Promise<Reply>) =>
      send().catch((error: RequestError) => {
        errors.push(error)
        throw error
      }),
  }
  const fetch = scripted(refusal(429, 'x', { 'retry-after': '1' }), refusal(422, 'x'))
  const client = makeClient({ fetch }).replaceOptions(() => ({ guard }))
  const last = await settledAfterTimers(rejection(client.contacts.create({ email: 'a@example.com' })))
  expect(errors.map(({ attempts }) => attempts)).toMatchObject([[{ status: 429 }], [{ status: 429 }, { status: 422 }]])
  expect(errors.map(({ attempts }) => attempts[0]?.wait)).toEqual([undefined, 1_000])
  expect(last).toBe(errors[1])
})

test.each([
  [undefined, undefined, 3],
  [0, undefined, 1],
  [1, undefined, 2],
  [5, undefined, 6],
  [5, 0, 1],
  [0, 3, 4],
])('maxRetries of %s on the client and %s on the call makes %i attempt(s)', async (client, perCall, attempts) => {
  const fetch = scripted(refusal(503, 'down'))
  const result = makeClient({ fetch, maxRetries: client }).me({ maxRetries: perCall })
  const error = (await settledAfterTimers(rejection(result))) as RequestError
  expect(fetch.requests).toHaveLength(attempts)
  expect(error.attempts).toHaveLength(attempts)
})

describe('the wait between attempts', () => {
  const waitsOf = async (options: Parameters<typeof makeClient>[0], step: Step = refusal(503, 'down')) => {
    const call = makeClient({ fetch: scripted(step), ...options }).me()
    return ((await settledAfterTimers(rejection(call))) as RequestError).attempts.map(({ wait }) => wait)
  }

  test('doubles from 500 ms up to 8 s, times a random factor', async () => {
    jitter(1)
    expect(await waitsOf({ maxRetries: 7 })).toEqual([500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000, undefined])
  })

  test('can be zero, because the jitter is full', async () => {
    jitter(0)
    expect(await waitsOf({ maxRetries: 3 })).toEqual([0, 0, 0, undefined])
  })

  test.each([
    ['is the backoff', 503, '0', [250, 500, 1_000, 2_000, 4_000, undefined]],
    ['is the backoff once it is longer', 503, '1', [1_000, 1_000, 1_000, 2_000, 4_000, undefined]],
    ['is the backoff', 429, '0', [250, 500, 1_000, 2_000, 4_000, undefined]],
    ['is no longer', 429, '1', [1_000, 1_000, 1_000, 1_000, 1_000, undefined]],
  ])('%s after a %i with Retry-After: %s', async (_, status, retryAfter, expected) => {
    jitter(0.5)
    expect(await waitsOf({ maxRetries: 5 }, refusal(status, 'x', { 'retry-after': retryAfter }))).toEqual(expected)
  })

  test('does not depend on maxRetryAfter when there is no Retry-After', async () => {
    jitter(1)
    expect(await waitsOf({ maxRetryAfter: 1 })).toEqual([500, 1_000, undefined])
  })
})

describe('a Retry-After that is too long', () => {
  test.each([
    ['no retries', { maxRetries: 0, maxRetryAfter: 1e9 }],
    ['maxRetryAfter', { maxRetryAfter: 89_999 }],
    ['the default maxRetryAfter', {}],
    ['the total timeout', { maxRetryAfter: 1e9, totalTimeout: 10_000 }],
    ['a total timeout of the same length', { maxRetryAfter: 1e9, totalTimeout: 90_000 }],
  ])('for %s makes the call reject at once, with the wait on the error', async (_, options) => {
    const fetch = scripted(refusal(429, 'slow_down', { 'retry-after': '90' }))
    const error = await settled(rejection(makeClient({ fetch, ...options }).me()))
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error).toMatchObject({ retryAfter: 90, outcome: 'refused', remedy: 'retry', attempts: [{ status: 429 }] })
    expect(fetch.requests).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('is obeyed when the caller allows any wait, up to the longest timer', async () => {
    const month = 24 * 24 * 3_600
    const fetch = scripted(refusal(429, 'x', { 'retry-after': String(month) }), json({}))
    const limits = { maxRetryAfter: Number.POSITIVE_INFINITY, totalTimeout: Number.POSITIVE_INFINITY }
    const result = makeClient({ fetch, ...limits }).me()
    await vi.advanceTimersByTimeAsync((month - 1) * 1_000)
    expect(fetch.requests).toHaveLength(1)
    await settledAfterTimers(result)
    expect(fetch.requests).toHaveLength(2)
  })

  test('is rounded up to whole seconds on the error', async () => {
    const fetch = scripted(refusal(429, 'x', { 'retry-after': '61.2' }))
    expect(await settled(rejection(makeClient({ fetch }).me()))).toMatchObject({ retryAfter: 62 })
  })

  test('is longer than maxRetryAfter, and not the same', async () => {
    const fetch = scripted(refusal(429, 'x', { 'retry-after': '5' }), json({}))
    await settledAfterTimers(makeClient({ fetch, maxRetryAfter: 5_000 }).me())
    expect(fetch.requests).toHaveLength(2)
  })
})

test.each([-3_600_000, 3_600_000])('a jump of the wall clock by %i ms changes no wait', async (jump) => {
  const fetch = scripted(refusal(429, 'x', { 'retry-after': '10' }), () => json({}))
  const client = makeClient({ fetch })
  const first = client.me()
  await vi.advanceTimersByTimeAsync(1_000)
  vi.setSystemTime(Date.now() + jump)
  await vi.advanceTimersByTimeAsync(8_999)
  expect(fetch.requests).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(1)
  await settled(first)
  expect(fetch.requests).toHaveLength(2)
})

test.each([429, 503])('an abort inside onRetry after a %i makes the call reject at once', async (status) => {
  const controller = new AbortController()
  const fetch = scripted(refusal(status, 'x', { 'retry-after': '10' }))
  const client = makeClient({ fetch, hooks: { onRetry: () => controller.abort('enough') } })
  expect(await settled(rejection(client.me({ signal: controller.signal })))).toBe('enough')
  expect(fetch.requests).toHaveLength(1)
  expect(vi.getTimerCount()).toBe(0)
})

test('an abort inside onAttemptEnd announces no retry', async () => {
  const controller = new AbortController()
  const hooks = { onAttemptEnd: () => controller.abort(), onRetry: vi.fn() }
  await settled(rejection(makeClient({ fetch: scripted(refusal(503, 'x')), hooks }).me({ signal: controller.signal })))
  expect(hooks.onRetry).not.toHaveBeenCalled()
})

test('attempts have exactly their start, duration, result and the wait after them', async () => {
  jitter(0.5)
  const slow = async () => {
    await new Promise((resolve) => setTimeout(resolve, 30))
    return refusal(500, 'x')
  }
  const fetch = scripted(slow, brokenConnection(), refusal(404, 'x'))
  const error = (await settledAfterTimers(rejection(makeClient({ fetch }).members.get('1')))) as RequestError
  const startedAt = 1_700_000_000_000
  expect(error.attempts).toStrictEqual([
    { startedAt, duration: 30, status: 500, error: 'ServerError', wait: 250 },
    { startedAt: startedAt + 280, duration: 0, error: 'NetworkError', wait: 500 },
    { startedAt: startedAt + 780, duration: 0, status: 404, error: 'NotFoundError' },
  ] satisfies Attempt[])
})

describe('whether a call is retried, its outcome and its remedy', () => {
  /** What the service may have done with a write: never received it, rejected it, or possibly applied it. */
  type Effect = 'not-sent' | 'refused' | 'lost'
  const cutOff = () => new ReadableStream({ start: (body) => body.error(new TypeError('terminated')) })
  type Event = [what: string, step: Step, effect: Effect, remedy: Remedy]
  const events: Event[] = [
    ['a refused connection', refusedConnection(), 'not-sent', 'retry'],
    ['a broken connection', brokenConnection(), 'lost', 'retry'],
    ['a timeout', neverSettles, 'lost', 'retry'],
    ['a response that is cut off', () => new Response(cutOff()), 'lost', 'retry'],
    ['a response that is not JSON', new Response('{"data":'), 'lost', 'retry'],
    ['a redirect', new Response(null, { status: 307, headers: { location: '/y' } }), 'lost', 'fix'],
    ['a 408', refusal(408, 'x'), 'lost', 'retry'],
    ['a 429', refusal(429, 'x'), 'refused', 'retry'],
    ['a 500', refusal(500, 'x'), 'lost', 'retry'],
    ['a 502', new Response('<html>', { status: 502 }), 'lost', 'retry'],
    ['a 503', refusal(503, 'x'), 'lost', 'retry'],
    ['a revoked token', refusal(401, 'invalid_token'), 'refused', 'reconnect'],
    ['a missing scope', refusal(403, 'insufficient_scope'), 'refused', 'reconnect'],
    ['a missing permission', refusal(403, 'forbidden'), 'refused', 'fix'],
    ...[400, 404, 405, 409, 422].map((status): Event => [`a ${status}`, refusal(status, 'x'), 'refused', 'fix']),
  ]

  const oneOfEachKind = [...new Map(events.map((event) => [`${event[2]}, ${event[3]}`, event])).values()]

  /** Returns what a call must reject with after these events, of which only those count that it is sent for. */
  function expectedAfter(method: Method, planned: Event[]) {
    const mayRepeat = ([, , effect, remedy]: Event) =>
      remedy === 'retry' && (method === 'GET' || method === 'DELETE' || effect !== 'lost')
    const final = planned.findIndex((event) => !mayRepeat(event))
    const sent = final < 0 ? planned : planned.slice(0, final + 1)
    const last = sent.at(-1) as Event
    const effects = sent.map(([, , effect]) => effect).filter((effect) => effect !== 'not-sent')
    const isRead = method === 'GET'
    const effect = !isRead && effects.includes('lost') ? 'lost' : (effects.at(-1) ?? 'not-sent')
    const outcome: Outcome = effect !== 'lost' ? effect : isRead ? 'no-effect' : 'unknown'
    const remedy: Remedy = outcome === 'unknown' && !mayRepeat(last) ? 'verify' : last[3]
    return { outcome, remedy, attempts: sent.length }
  }

  const methodsAndEvents = (['GET', 'DELETE', 'POST', 'PATCH', 'PUT'] as const).flatMap((method) =>
    events.map((first) => [method, first[0], first] as const),
  )

  test.each(methodsAndEvents)('fit a %s with %s first', async (method, _, first) => {
    for (const second of oneOfEachKind) {
      scriptedPlatform(first[1], second[1])
      const client = makeClient({ maxRetries: 1, timeout: 1_000 })
      const error = (await settledAfterTimers(rejection(client.request(method, '/x')))) as RequestError
      const { outcome, remedy, attempts } = error
      expect({ outcome, remedy, attempts: attempts.length }, `then ${second[0]}`).toEqual(
        expectedAfter(method, [first, second]),
      )
    }
  })

  test('adds to the hint of a retried DELETE that it may have been applied', async () => {
    const fetch = scripted(brokenConnection(), refusal(404, 'not_found'))
    const error = await settledAfterTimers(rejection(makeClient({ fetch }).messages.delete('c1', 'm1')))
    expect(error).toMatchObject({ name: 'NotFoundError', outcome: 'unknown' })
    expect((error as RequestError).hint).toContain('may have been applied')
  })
})
