import {
  type Attempt,
  type Method,
  NetworkError,
  type Outcome,
  RateLimitError,
  type Remedy,
  RequestError,
  ServerError,
} from 'support-workspace-sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
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
import { settled, settledAfterTimers } from '../helpers/settled.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'], now: 1_700_000_000_000 })
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const ok = json({ data: { id: '1' } })
const methods: Method[] = ['GET', 'DELETE', 'POST', 'PATCH', 'PUT']

function call(method: Method, step: Step, options: Parameters<typeof makeClient>[0] = {}) {
  const fetch = scriptedPlatform(step, ok)
  const client = makeClient(options)
  return { fetch, result: client.request(method, '/x') }
}

describe('the retry policy', () => {
  const always: [string, Step][] = [
    ['a 429', refusal(429, 'slow_down')],
    ['a refused connection', refusedConnection()],
  ]
  const whereSafe: [string, Step][] = [
    ['a 408', refusal(408, 'x')],
    ['a 500', refusal(500, 'x')],
    ['a 502', new Response('<html>', { status: 502 })],
    ['a 503', refusal(503, 'x')],
    ['a broken connection', brokenConnection()],
    ['a response that is cut off', () => new Response(brokenBody())],
    ['a response that is not JSON', new Response('<html>')],
  ]
  const never: [string, Step][] = [
    ...[400, 401, 403, 404, 405, 409, 422].map((status): [string, Step] => [`a ${status}`, refusal(status, 'x')]),
    ['a redirect', new Response(null, { status: 302, headers: { location: '/y' } })],
  ]

  describe.each(methods)('for %s', (method) => {
    const isSafe = method === 'GET' || method === 'DELETE'

    test.each(always)('retries after %s', async (_, step) => {
      const { fetch, result } = call(method, step)
      await settledAfterTimers(result)
      expect(fetch.requests).toHaveLength(2)
    })

    test.each(whereSafe)(`${isSafe ? 'retries' : 'does not retry'} after %s`, async (_, step) => {
      const { fetch, result } = call(method, step)
      if (isSafe) {
        await settledAfterTimers(result)
        expect(fetch.requests).toHaveLength(2)
      } else {
        expect(await settledAfterTimers(rejection(result))).toMatchObject({ outcome: 'unknown' })
        expect(fetch.requests).toHaveLength(1)
      }
    })

    test.each(never)('does not retry after %s', async (_, step) => {
      const { fetch, result } = call(method, step)
      expect(await settledAfterTimers(rejection(result))).toBeInstanceOf(RequestError)
      expect(fetch.requests).toHaveLength(1)
    })
  })

  test('sends the whole body with each attempt', async () => {
    const fetch = scriptedPlatform(refusal(429, 'x'), refusedConnection(), json({ data: { id: '1' } }))
    await settledAfterTimers(makeClient().messages.create('c1', { body_html: '<p>Hi</p>' }))
    expect(await Promise.all(fetch.requests.map((request) => request.json()))).toEqual(
      Array.from({ length: 3 }, () => ({ body_html: '<p>Hi</p>' })),
    )
  })
})

describe('maxRetries', () => {
  test.each([
    [undefined, undefined, 3],
    [0, undefined, 1],
    [1, undefined, 2],
    [5, undefined, 6],
    [5, 0, 1],
    [0, 3, 4],
  ])('of %s on the client and %s on the call makes %i attempt(s)', async (client, perCall, attempts) => {
    const fetch = scripted(refusal(503, 'down'))
    const result = makeClient({ fetch, maxRetries: client }).me({ maxRetries: perCall })
    const error = (await settledAfterTimers(rejection(result))) as RequestError
    expect(fetch.requests).toHaveLength(attempts)
    expect(error.attempts).toHaveLength(attempts)
  })
})

describe('the wait between attempts', () => {
  const waitsOf = async (options: Parameters<typeof makeClient>[0], step: Step = refusal(503, 'down')) => {
    const error = (await settledAfterTimers(
      rejection(makeClient({ fetch: scripted(step), ...options }).me()),
    )) as RequestError
    return error.attempts.map(({ wait }) => wait)
  }

  test('doubles from 500 ms up to 8 s, times a random factor', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    expect(await waitsOf({ maxRetries: 7 })).toEqual([500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000, undefined])
  })

  test('can be zero, because the jitter is full', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    expect(await waitsOf({ maxRetries: 3 })).toEqual([0, 0, 0, undefined])
  })

  test('never exceeds its bound, and spreads over the whole range', async () => {
    const firsts: number[] = []
    for (let run = 0; run < 300; run += 1) {
      const [first = 0, second = 0] = await waitsOf({})
      expect(first).toBeLessThan(500)
      expect(second).toBeLessThan(1_000)
      firsts.push(first)
    }
    expect(Math.min(...firsts)).toBeLessThan(100)
    expect(Math.max(...firsts)).toBeGreaterThan(400)
  })

  test.each([
    ['Retry-After', 503, { 'retry-after': '2' }],
    ['a reset header', 429, { 'ratelimit-reset': '2' }],
  ])('follows %s', async (_, status, headers) => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    expect(await waitsOf({ maxRetries: 1 }, refusal(status, 'x', headers))).toEqual([2_000, undefined])
  })

  test('is the backoff when Retry-After is shorter, so that attempts never come in a burst', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
    const down = refusal(503, 'down', { 'retry-after': '0' })
    expect(await waitsOf({ maxRetries: 5 }, down)).toEqual([250, 500, 1_000, 2_000, 4_000, undefined])
  })

  test('does not depend on maxRetryAfter when there is no Retry-After', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    expect(await waitsOf({ maxRetryAfter: 1 })).toEqual([500, 1_000, undefined])
  })
})

describe('a Retry-After that is too long', () => {
  test.each([
    ['maxRetryAfter', { maxRetryAfter: 5_000 }],
    ['the default maxRetryAfter', {}],
    ['the total timeout', { maxRetryAfter: 1e9, totalTimeout: 10_000 }],
    ['a total timeout of the same length', { maxRetryAfter: 1e9, totalTimeout: 90_000 }],
  ])('for %s makes the call reject at once, with the wait on the error', async (_, options) => {
    const fetch = scripted(refusal(429, 'slow_down', { 'retry-after': '90' }))
    const error = await settled(rejection(makeClient({ fetch, ...options }).me()))
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error).toMatchObject({ retryAfter: 90, outcome: 'refused', status: 429 })
    expect(fetch.requests).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('makes the call reject at once after a 503 too', async () => {
    const fetch = scripted(refusal(503, 'down', { 'retry-after': '3600' }))
    const error = await settled(rejection(makeClient({ fetch }).me()))
    expect(error).toBeInstanceOf(ServerError)
    expect(error).toMatchObject({ retryAfter: 3_600 })
    expect(fetch.requests).toHaveLength(1)
  })

  test('is obeyed when the caller allows any wait, even beyond the longest timer', async () => {
    const month = 31 * 24 * 3_600
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
})

describe('a Retry-After equal to maxRetryAfter', () => {
  test('is obeyed', async () => {
    const fetch = scripted(refusal(429, 'x', { 'retry-after': '5' }), json({}))
    await settledAfterTimers(makeClient({ fetch, maxRetryAfter: 5_000 }).me())
    expect(fetch.requests).toHaveLength(2)
  })
})

describe('a wall clock that jumps', () => {
  test.each([-3_600_000, 3_600_000])('by %i ms neither delays a retry nor shortens the wait', async (jump) => {
    const fetch = scripted(refusal(429, 'x', { 'retry-after': '10' }), () => json({}))
    const client = makeClient({ fetch })
    const first = client.me()
    await vi.advanceTimersByTimeAsync(1_000)
    vi.setSystemTime(Date.now() + jump)
    const second = client.me()
    await vi.advanceTimersByTimeAsync(8_999)
    expect(fetch.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    await settled(Promise.all([first, second]))
    expect(fetch.requests).toHaveLength(3)
  })
})

describe('an abort inside onRetry', () => {
  test.each([429, 503])('after a %i makes the call reject at once', async (status) => {
    const controller = new AbortController()
    const fetch = scripted(refusal(status, 'x', { 'retry-after': '10' }))
    const client = makeClient({ fetch, hooks: { onRetry: () => controller.abort('enough') } })
    expect(await settled(rejection(client.me({ signal: controller.signal })))).toBe('enough')
    expect(fetch.requests).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('attempts', () => {
  test('record their start, duration, result and the wait after them', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
    const slow = async () => {
      await new Promise((resolve) => setTimeout(resolve, 30))
      return refusal(500, 'x')
    }
    const fetch = scripted(slow, brokenConnection(), refusal(404, 'x'))
    const error = (await settledAfterTimers(rejection(makeClient({ fetch }).members.get('1')))) as RequestError
    const startedAt = 1_700_000_000_000
    expect(error.attempts).toEqual([
      { startedAt, duration: 30, status: 500, error: 'ServerError', wait: 250 },
      { startedAt: startedAt + 280, duration: 0, error: 'NetworkError', wait: 500 },
      { startedAt: startedAt + 780, duration: 0, status: 404, error: 'NotFoundError' },
    ] satisfies Attempt[])
  })

  test('record the status of a response that was cut off', async () => {
    const error = await settled(
      rejection(makeClient({ fetch: scripted(() => new Response(brokenBody())), maxRetries: 0 }).me()),
    )
    expect(error).toBeInstanceOf(NetworkError)
    expect(error).toMatchObject({ attempts: [{ status: 200, error: 'NetworkError' }] })
  })
})

describe('outcome and remedy after two attempts', () => {
  /** What the service may have done with a write: never received it, rejected it, or possibly applied it. */
  type Effect = 'not-sent' | 'refused' | 'lost'
  const events: [what: string, step: Step, effect: Effect, remedy: Remedy][] = [
    ['a refused connection', refusedConnection(), 'not-sent', 'retry'],
    ['a broken connection', brokenConnection(), 'lost', 'retry'],
    ['a timeout', neverSettles, 'lost', 'retry'],
    ['a response that is cut off', () => new Response(brokenBody()), 'lost', 'retry'],
    ['a response that is not JSON', new Response('{"data":'), 'lost', 'retry'],
    ['a redirect', new Response(null, { status: 307, headers: { location: '/y' } }), 'lost', 'fix'],
    ['a 408', refusal(408, 'x'), 'lost', 'retry'],
    ['a 429', refusal(429, 'x'), 'refused', 'retry'],
    ['a 503', refusal(503, 'x'), 'lost', 'retry'],
    ['a 401', refusal(401, 'invalid_token'), 'refused', 'reconnect'],
    ['a 403', refusal(403, 'forbidden'), 'refused', 'fix'],
    ['a 404', refusal(404, 'x'), 'refused', 'fix'],
  ]

  /** Returns what a call must reject with after these events, of which only those count that it is sent for. */
  function expectedAfter(method: Method, planned: typeof events) {
    const mayRepeat = ([, , effect, remedy]: (typeof events)[number]) =>
      remedy === 'retry' && (method !== 'POST' || effect !== 'lost')
    const final = planned.findIndex((event) => !mayRepeat(event))
    const sent = final < 0 ? planned : planned.slice(0, final + 1)
    const last = sent.at(-1) as (typeof events)[number]
    const effects = sent.map(([, , effect]) => effect).filter((effect) => effect !== 'not-sent')
    const isRead = method === 'GET'
    const effect = !isRead && effects.includes('lost') ? 'lost' : (effects.at(-1) ?? 'not-sent')
    const outcome: Outcome = effect !== 'lost' ? effect : isRead ? 'no-effect' : 'unknown'
    const remedy: Remedy = outcome === 'unknown' && !mayRepeat(last) ? 'verify' : last[3]
    return { outcome, remedy, attempts: sent.length }
  }

  const methodsAndEvents = (['GET', 'DELETE', 'POST'] as const).flatMap((method) =>
    events.map((first) => [method, first[0], first] as const),
  )

  test.each(methodsAndEvents)('never contradict each other for a %s with %s first', async (method, _, first) => {
    for (const second of events) {
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

function brokenBody(): ReadableStream {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"data":'))
      controller.error(new TypeError('terminated'))
    },
  })
}
