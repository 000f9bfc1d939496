import { AdaptiveRateLimiter, type RequestError, type WaitEvent } from 'support-workspace-sdk'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { json, makeClient, refusal, rejection, type Step, scripted } from '../helpers/client.ts'
import { fakeClock, jitter } from '../helpers/clock.ts'
import { settled, settledAfterTimers } from '../helpers/settled.ts'

fakeClock()
beforeEach(() => jitter(0))

const slowDown = refusal(429, 'slow_down', { 'retry-after': '10' })
const served = () => json({})
/** Holds nothing back, so that a test sees what the client does by itself. */
const unlimited = { acquire() {} }

describe('a refused call', () => {
  test('waits for its own Retry-After, and stops nobody else', async () => {
    const fetch = scripted(slowDown, served)
    const client = makeClient({ fetch })
    const first = client.me()
    await vi.advanceTimersByTimeAsync(0)
    await settled(client.me({ extraQuery: { call: 2 } }))
    await vi.advanceTimersByTimeAsync(9_999)
    expect(fetch.queries()).toEqual(['', '?call=2'])
    await vi.advanceTimersByTimeAsync(1)
    await settled(first)
    expect(fetch.queries()).toEqual(['', '?call=2', ''])
  })

  test.each<[string, string, number, number]>([
    ['waits on while others are served', 'me', 200, 12],
    ['waits on while others are rejected for what they are', 'me', 400, 12],
    ['is not kept waiting by others that fail', 'me', 500, 3],
    ['is not kept waiting by another operation that is served', 'contacts', 200, 3],
  ])('%s', async (_, other, status, count) => {
    let refusals = 0
    const fetch = vi.fn(async (url: string) => {
      if (!url.endsWith('first=1')) return status === 200 ? json({ data: [] }) : refusal(status, 'x')
      refusals += 1
      return refusals < 12 ? slowDown.clone() : served()
    })
    const client = makeClient({ fetch, totalTimeout: 600_000, rateLimiter: unlimited, rateLimitKey: 'org' })
    const first = client.me({ extraQuery: { first: 1 } }).catch((error: unknown) => error)
    for (let seconds = 0; seconds < 120; seconds += 5) {
      await vi.advanceTimersByTimeAsync(5_000)
      const options = { maxRetries: 0 }
      const call: Promise<unknown> = other === 'me' ? client.me(options) : client.contacts.list({}, options)
      await settled(call.catch(() => {}))
    }
    await settledAfterTimers(first)
    expect(refusals).toBe(count)
  })

  test('is not kept waiting by a thousand other operations that are served', async () => {
    const fetch = scripted(({ url }) => (url.endsWith('first=1') ? slowDown.clone() : served()))
    const client = makeClient({ fetch, totalTimeout: 600_000, rateLimiter: unlimited, rateLimitKey: 'org' })
    await client.me()
    const first = rejection(client.me({ extraQuery: { first: 1 } }))
    await vi.advanceTimersByTimeAsync(5_000)
    for (let id = 0; id <= 1_000; id += 1) await client.request('GET', `/items/${id}`)
    expect(await settledAfterTimers(first)).toMatchObject({ name: 'RateLimitError', attempts: [{}, {}, {}] })
  })

  test('waits on while another client of its limiter and key is served', async () => {
    const rateLimiter = new AdaptiveRateLimiter()
    const shared = { rateLimiter, rateLimitKey: 'org' }
    const fetch = scripted(slowDown, slowDown, slowDown, slowDown, served)
    const first = makeClient({ fetch, ...shared }).me()
    const other = makeClient({ fetch: async () => served(), ...shared })
    for (let round = 0; round < 4; round += 1) {
      await vi.advanceTimersByTimeAsync(5_000)
      await settled(other.me())
      await vi.advanceTimersByTimeAsync(5_000)
    }
    await settled(first)
    expect(fetch.requests).toHaveLength(5)
  })

  test('lists the first of its attempts and the last ones', async () => {
    let now = 0
    const fetch = vi.fn(async (url: string): Promise<Response> => {
      if (url.endsWith('other=1')) return served()
      now += 1
      return now < 30 ? refusal(429, 'x', { 'retry-after': '1', 'x-request-id': `r${now}` }) : refusal(403, 'x')
    })
    const client = makeClient({ fetch, rateLimiter: unlimited, rateLimitKey: 'org' })
    const first = rejection(client.me())
    for (let round = 0; round < 40; round += 1) {
      await vi.advanceTimersByTimeAsync(500)
      await settled(client.me({ extraQuery: { other: 1 } }))
      await vi.advanceTimersByTimeAsync(500)
    }
    const { attempts } = (await settled(first)) as RequestError
    expect([attempts.length, attempts[0]?.startedAt, attempts.at(-1)?.status]).toEqual([20, expect.any(Number), 403])
  })

  test('rejects without retries even if others are served meanwhile', async () => {
    const answer = Promise.withResolvers<Response>()
    const fetch = scripted(() => answer.promise, served)
    const client = makeClient({ fetch, rateLimiter: unlimited, rateLimitKey: 'org' })
    const first = rejection(client.me({ maxRetries: 0 }))
    await vi.advanceTimersByTimeAsync(0)
    await settled(client.me())
    answer.resolve(slowDown.clone())
    expect(await settled(first)).toMatchObject({ status: 429 })
  })

  test('does not reset the count of its 503s', async () => {
    const down = refusal(503, 'x', { 'retry-after': '10' })
    const fetch = scripted(down, served, slowDown, down, down, down)
    const client = makeClient({ fetch, rateLimiter: unlimited, rateLimitKey: 'org' })
    const first = rejection(client.me())
    await vi.advanceTimersByTimeAsync(5_000)
    await settled(client.me())
    expect(await settledAfterTimers(first)).toMatchObject({ attempts: [{}, { status: 429 }, {}, {}] })
  })

  test('counts a 503 in any case', async () => {
    const steps: Step[] = [slowDown, refusal(503, 'x'), refusal(503, 'x'), refusal(503, 'x')]
    const fetch = scripted(...steps)
    expect(await settledAfterTimers(rejection(makeClient({ fetch }).me()))).toMatchObject({ status: 503 })
    expect(fetch.requests).toHaveLength(3)
  })
})

test.each<[string, object, number]>([
  ['succeeds', {}, 10_000],
  ['fails', { maxRetries: 0 }, 0],
])(
  'a poll of a client in the background is sent when the refused write that it gives way to %s',
  async (_, options, at) => {
    const refused = refusal(429, 'slow_down', { 'retry-after': '10' })
    const fetch = scripted(refused, served)
    const client = makeClient({ fetch })
    const write = client.contacts.create({ email: 'a@example.com' }, options).catch(() => {})
    await vi.advanceTimersByTimeAsync(0)
    const polled = client.replaceOptions(() => ({ background: true }) as object).me()
    await vi.advanceTimersByTimeAsync(Math.max(0, at - 1))
    expect(fetch.requests).toHaveLength(at === 0 ? 2 : 1)
    await vi.advanceTimersByTimeAsync(1)
    await settled(Promise.all([write, polled]))
    expect(fetch.requests.map(({ method }) => method)).toEqual(at === 0 ? ['POST', 'GET'] : ['POST', 'POST', 'GET'])
  },
)

describe('after eight refusals in a row', () => {
  /** Returns a client whose service has refused eight calls for an hour. */
  async function refused(options: Parameters<typeof makeClient>[0] = {}) {
    const fetch = scripted(() => refusal(429, 'x', { 'retry-after': '3600' }))
    const client = makeClient({ fetch, ...options })
    for (let call = 0; call < 8; call += 1) await settled(rejection(client.members.get(String(call))))
    expect(fetch.requests).toHaveLength(8)
    return { client, fetch }
  }

  test('calls of the operation reject before they are sent, and no others', async () => {
    const { client, fetch } = await refused()
    expect(await settled(rejection(client.members.get('9')))).toMatchObject({
      name: 'RateLimitError',
      retryAfter: 3_600,
      outcome: 'not-sent',
      remedy: 'retry',
      attempts: [],
    })
    await settled(rejection(client.members.remove('9')))
    await settled(rejection(makeClient({ fetch }).members.get('9')))
    expect(fetch.requests).toHaveLength(10)
    await vi.advanceTimersByTimeAsync(3_600_000)
    await settled(rejection(client.members.get('9')))
    expect(fetch.requests).toHaveLength(11)
  })

  test('a call that is allowed to wait is announced, and sent when the service asks for calls again', async () => {
    const waits: WaitEvent[] = []
    const { client, fetch } = await refused({ hooks: { onWait: (event) => void waits.push(event) } })
    const patient = client.withOptions({
      maxRetryAfter: Number.POSITIVE_INFINITY,
      totalTimeout: 7_200_000,
      maxRetries: 1,
    })
    const call = rejection(patient.members.get('9', {}))
    await vi.advanceTimersByTimeAsync(3_599_999)
    expect(fetch.requests).toHaveLength(8)
    expect(waits).toMatchObject([{ operation: 'members.get', wait: 3_600_000, reason: 'rate_limit' }])
    await vi.advanceTimersByTimeAsync(1)
    expect(fetch.requests).toHaveLength(9)
    await settledAfterTimers(call)
  })
})

test('a permit is given back when the call is aborted at any moment around its grant', async () => {
  for (let microtasks = 0; microtasks < 24; microtasks += 1) {
    const shared = {
      fetch: scripted(() => json({})),
      rateLimiter: new AdaptiveRateLimiter({ maxConcurrency: 1 }),
      rateLimitKey: 'org',
    }
    const controller = new AbortController()
    const onAttemptEnd = async () => {
      for (let count = 0; count < microtasks; count += 1) await null
      controller.abort()
    }
    const first = makeClient({ ...shared, hooks: { onAttemptEnd } }).me()
    const client = makeClient(shared)
    const aborted = client.me({ signal: controller.signal }).catch(() => {})
    await settled(Promise.all([first, aborted]))
    await settled(client.me())
  }
})
