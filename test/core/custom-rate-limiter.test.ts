import type { RateLimitedCall, RateLimiter, RequestError } from 'support-workspace-sdk'
import { ConnectionStore } from 'support-workspace-sdk/oauth'
import { startSandbox } from 'support-workspace-sdk/sandbox'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  brokenConnection,
  json,
  makeClient,
  neverSettles,
  refusal,
  rejection,
  scripted,
  token,
} from '../helpers/client.ts'
import { fakeClock, jitter } from '../helpers/clock.ts'
import { settled } from '../helpers/settled.ts'

const slowDown = refusal(429, 'slow_down', { 'retry-after': '10' })

/** A limiter that records what the client tells it. */
function recordingLimiter(acquire: RateLimiter['acquire'] = () => {}) {
  const keys: string[] = []
  const ends: unknown[] = []
  const calls: RateLimitedCall[] = []
  const rateLimiter: RateLimiter = {
    async acquire(key, signal, call) {
      keys.push(key)
      calls.push(call)
      await acquire(key, signal, call)
      return (refused, failure) => void ends.push(refused ?? failure ?? 'served')
    },
  }
  return { rateLimiter, keys, ends, calls }
}

/** Announces a wait, and lets the call go at once. */
function announcing(...wait: Parameters<RateLimitedCall['onWait']>): RateLimiter['acquire'] {
  return (_key, _signal, { onWait }) => onWait(...wait)
}

/** Lets the first attempt of a call go at once. */
function beforeRetry(acquire: RateLimiter['acquire']) {
  return recordingLimiter(vi.fn(acquire).mockReturnValueOnce(undefined)).rateLimiter
}

/** Needs no digest, which fake timers do not wait for. */
function keyedClient(options: Parameters<typeof makeClient>[0]) {
  return makeClient({ rateLimitKey: 'org', ...options })
}

describe('a custom rate limiter', () => {
  fakeClock()

  test('is asked before each request and told what became of it, but cannot shorten Retry-After', async () => {
    const { rateLimiter, keys, ends } = recordingLimiter()
    jitter(0)
    const fetch = scripted(refusal(503, 'x'), refusal(429, 'x'), slowDown, json({}))
    const call = keyedClient({ fetch, rateLimiter, maxRetries: 3 }).me()
    await vi.advanceTimersByTimeAsync(9_999)
    expect(fetch.requests).toHaveLength(3)
    await vi.advanceTimersByTimeAsync(5)
    await settled(call)
    expect(keys).toEqual(['org', 'org', 'org', 'org'])
    expect(ends).toEqual(['unserved', { retryAfter: undefined }, { retryAfter: 10_000 }, 'served'])
  })

  test('that ignores the abort of a call gets its permit back when it grants one later', async () => {
    const turn = Promise.withResolvers<() => void>()
    const end = vi.fn()
    const rateLimiter = { acquire: () => turn.promise }
    const controller = new AbortController()
    const fetch = scripted(json({}))
    const call = rejection(keyedClient({ fetch, rateLimiter }).me({ signal: controller.signal }))
    await vi.advanceTimersByTimeAsync(0)
    controller.abort('enough')
    expect(await settled(call)).toBe('enough')
    turn.resolve(end)
    await vi.advanceTimersByTimeAsync(0)
    expect(end).toHaveBeenCalledTimes(1)
    expect(fetch.requests).toHaveLength(0)
  })

  test('that ignores the abort of a call announces nothing more', async () => {
    const events: string[] = []
    const { rateLimiter } = recordingLimiter(async (_key, _signal, { onWait }) => {
      for (let waits = 0; waits < 3; waits += 1) {
        onWait(1_000)
        await new Promise((resolve) => setTimeout(resolve, 1_000))
      }
    })
    const hooks = { onWait: () => void events.push('wait'), onOperationEnd: () => void events.push('end') }
    const controller = new AbortController()
    const client = keyedClient({ fetch: scripted(json({})), rateLimiter, hooks })
    const call = rejection(client.me({ signal: controller.signal }))
    await vi.advanceTimersByTimeAsync(0)
    controller.abort('enough')
    expect(await settled(call)).toBe('enough')
    await vi.advanceTimersByTimeAsync(3_000)
    expect(events).toEqual(['wait', 'end'])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('that aborts the call starts no attempt', async () => {
    const controller = new AbortController()
    const { rateLimiter } = recordingLimiter(() => controller.abort('enough'))
    const onAttemptStart = vi.fn()
    const client = keyedClient({ fetch: scripted(json({})), rateLimiter, hooks: { onAttemptStart } })
    expect(await settled(rejection(client.me({ signal: controller.signal })))).toBe('enough')
    expect(onAttemptStart).not.toHaveBeenCalled()
  })

  test.each([
    ['at once', (announce: () => void) => announce()],
    ['later', (announce: () => void) => void Promise.resolve().then(announce)],
  ])('that announces too long a wait %s, and then never ends, is not waited for', async (_, begin) => {
    const { rateLimiter } = recordingLimiter((_key, _signal, { onWait }) => {
      begin(() => {
        onWait(60_001, 60_001)
        onWait(1)
      })
      return new Promise(() => {})
    })
    const fetch = scripted(json({}))
    const hooks = { onWait: vi.fn() }
    const start = performance.now()
    const call = rejection(keyedClient({ fetch, rateLimiter, hooks }).me())
    expect(await settled(call)).toMatchObject({
      ...{ name: 'RateLimitError', outcome: 'not-sent', remedy: 'retry', retryAfter: 61, attempts: [] },
      message: expect.stringContaining('was not sent'),
    })
    expect(performance.now()).toBe(start)
    expect(hooks.onWait).not.toHaveBeenCalled()
  })

  test('that announces a wait after it has granted the permit leaves the request alone', async () => {
    const { rateLimiter } = recordingLimiter((_key, _signal, { onWait }) => {
      setTimeout(() => onWait(90_000, 90_000), 100)
    })
    const hooks = { onWait: vi.fn() }
    const answer = () => new Promise<Response>((resolve) => setTimeout(() => resolve(json({ data: { id: 'c' } })), 200))
    const fetch = scripted(answer)
    const call = keyedClient({ fetch, rateLimiter, hooks }).contacts.create({ email: 'ada@example.com' })
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await settled(call)).toMatchObject({ id: 'c' })
    expect([fetch.requests.length, hooks.onWait.mock.calls]).toEqual([1, []])
  })

  test('learns whether a call can wait, when it was made, and how much time it has left', async () => {
    const { rateLimiter, calls } = recordingLimiter()
    const fetch = scripted(slowDown, () => json({}))
    const client = keyedClient({ fetch, rateLimiter })
    const madeAt = performance.now()
    const call = client.me()
    await vi.advanceTimersByTimeAsync(10_000)
    await settled(call)
    await settled(client.me({ maxRetries: 0 }))
    expect(calls).toMatchObject([
      { canWait: true, startedAt: madeAt, timeLeft: 120_000 },
      { canWait: true, startedAt: madeAt, timeLeft: 110_000 },
      { canWait: false, startedAt: madeAt + 10_000, timeLeft: 120_000 },
    ])
  })

  test.each<[string, RateLimiter['acquire'], object]>([
    ['would have to wait too long', announcing(60_000, 60_000), { name: 'RateLimitError', retryAfter: 60 }],
    ['is granted too late', neverSettles, { name: 'TimeoutError', limit: 'total' }],
  ])('rejects a call whose retry %s, with its attempts', async (_, acquire, expected) => {
    const fetch = scripted(slowDown, json({}))
    const client = keyedClient({ fetch, rateLimiter: beforeRetry(acquire), totalTimeout: 20_000 })
    const call = rejection(client.me())
    await vi.advanceTimersByTimeAsync(20_000)
    expect(await settled(call)).toMatchObject({ ...expected, outcome: 'refused', attempts: [{ status: 429 }] })
    expect(fetch.requests).toHaveLength(1)
  })

  test('that announces an endless wait makes the call reject with a number of seconds', async () => {
    const { rateLimiter } = recordingLimiter(announcing(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY))
    const error = await settled(rejection(keyedClient({ fetch: scripted(json({})), rateLimiter }).me()))
    expect(error).toMatchObject({ name: 'RateLimitError', retryAfter: 31_536_000 })
  })
})

/** Lets one request at a time through. */
function oneAtATime(): RateLimiter {
  let last = Promise.resolve()
  return {
    async acquire() {
      const earlier = last
      const turn = Promise.withResolvers<void>()
      last = turn.promise
      await earlier
      return () => turn.resolve()
    },
  }
}

describe('the permit of a request', () => {
  beforeEach(() => jitter(0))

  test.each(['getAccessToken', 'onInvalidToken'] as const)('is not what a call in %s waits for', async (name) => {
    const rateLimiter = oneAtATime()
    const other = keyedClient({ fetch: scripted(() => json({})), rateLimiter })
    const ask = async () => {
      await other.me()
      return token
    }
    const accessToken = { getAccessToken: () => token, [name]: ask }
    const fetch = scripted(refusal(503, 'x'), refusal(401, 'invalid_token'))
    const error = await rejection(keyedClient({ accessToken, fetch, rateLimiter }).me())
    expect(error).toMatchObject({ name: 'AuthenticationError', attempts: [{}, {}] })
  })
})

test.each<[string, 'GET' | 'DELETE', Parameters<typeof scripted>[0], object]>([
  ['a GET after a 429', 'GET', refusal(429, 'x'), { outcome: 'refused', remedy: 'retry' }],
  ['a GET after a 503', 'GET', refusal(503, 'x'), { outcome: 'no-effect', remedy: 'retry' }],
  ['a DELETE after a 503', 'DELETE', refusal(503, 'x'), { outcome: 'unknown', remedy: 'retry' }],
  ['a DELETE after a broken connection', 'DELETE', brokenConnection(), { outcome: 'unknown', remedy: 'retry' }],
])('a call that is held back after it was sent says so: %s', async (_, method, step, expected) => {
  jitter(0)
  const client = keyedClient({ fetch: scripted(step), rateLimiter: beforeRetry(announcing(90_000, 90_000)) })
  const error = (await rejection(client.request(method, '/x'))) as RequestError
  expect(error).toMatchObject({ ...expected, name: 'RateLimitError', attempts: [{}] })
  expect(error.message).toContain('failed and was not retried: the service has asked this client to slow down.')
})

describe('the key of a client', () => {
  test('is by default the same for clients with the same token, and does not contain it', async () => {
    const { rateLimiter, keys } = recordingLimiter()
    const fetch = scripted(() => json({}))
    for (const accessToken of [token, token, 'swot_another']) await makeClient({ fetch, rateLimiter, accessToken }).me()
    expect(keys[0]).toMatch(/^[0-9a-f]{64}$/)
    expect(keys[1]).toBe(keys[0])
    expect(keys[2]).not.toBe(keys[0])
    expect(keys.join()).not.toContain(token)
  })

  test('is by default one that no other client has, for a function that returns the token', async () => {
    const { rateLimiter, keys } = recordingLimiter()
    const fetch = scripted(() => json({}))
    const accessToken = () => token
    const client = makeClient({ fetch, rateLimiter, accessToken })
    await client.me()
    await client.me()
    await makeClient({ fetch, rateLimiter, accessToken }).me()
    expect(keys[1]).toBe(keys[0])
    expect(keys[2]).not.toBe(keys[0])
  })
})

describe('a connection store', () => {
  /** Returns a store with two connections. */
  async function connect(client: ConstructorParameters<typeof ConnectionStore>[0]['client'] = {}) {
    const sandbox = await startSandbox()
    onTestFinished(() => sandbox.close())
    const store = new ConnectionStore({ baseUrl: sandbox.url, client })
    const app = await store.save(sandbox.issueToken())
    const self = await store.save(sandbox.issueToken({ actor: 'self' }))
    return { sandbox, store, app, self }
  }

  test('lets refusals hold back all clients of the connection, and those of no other connection', async () => {
    const { sandbox, store, app, self } = await connect({ maxRetries: 0 })
    sandbox.faults.add({ status: 429, retryAfter: 30, times: 8 })
    for (let call = 0; call < 8; call += 1) await rejection((await store.workspace(app.key)).me())
    expect(await rejection((await store.workspace(app.key)).me())).toMatchObject({
      outcome: 'not-sent',
      retryAfter: 30,
    })
    await (await store.workspace(self.key)).me()
  })

  test('passes the key of the connection to a custom rate limiter', async () => {
    const { rateLimiter, keys } = recordingLimiter()
    const { store, app, self } = await connect({ rateLimiter })
    keys.length = 0
    await (await store.workspace(app.key)).me()
    await (await store.workspace(self.key)).me()
    expect(keys).toEqual([app.key, self.key])
  })
})
