import { describe, expect, test } from 'vitest'
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/index.ts'

/** Returns a sandbox with a clock that the test moves. */
function limited(rateLimit: SandboxOptions['rateLimit']) {
  const clock = { now: Date.parse('2026-01-01T00:00:00Z') }
  const sandbox = createSandbox({ now: () => clock.now, ...(rateLimit !== undefined && { rateLimit }) })
  return { clock, sandbox }
}

async function me(sandbox: Sandbox, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${sandbox.issueToken()}` }
  return sandbox.fetch(`${sandbox.url}/api/oauth/v1/me`, { headers, ...init })
}

/** Sends requests until one is refused. Returns how many were allowed. */
async function allowedCount(sandbox: Sandbox): Promise<number> {
  for (let count = 0; ; count += 1) if ((await me(sandbox)).status === 429) return count
}

describe('rateLimit', () => {
  test('allows the whole number at once, and then responds with 429 and Retry-After', async () => {
    const { sandbox } = limited('3/min')
    for (let count = 0; count < 3; count += 1) expect((await me(sandbox)).status).toBe(200)
    const refused = await me(sandbox)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('20')
    const error_description = 'The rate limit is exceeded. Retry after 20 s.'
    expect(await refused.json()).toEqual({ error: 'rate_limited', error_description })
    const recorded = { status: 429, operation: 'getMe', actor: 'app', fault: 'rate limit' }
    expect(sandbox.requests.at(-1)).toMatchObject(recorded)
  })

  test.each([
    ['10/s', 10, 100, 1],
    ['100/min', 100, 600, 1],
    ['7/h', 7, 514_286, 515],
  ] as const)('%s allows %i requests, and one more after %i ms', async (rate, capacity, refill, retryAfter) => {
    const { sandbox, clock } = limited(rate)
    expect(await allowedCount(sandbox)).toBe(capacity)
    expect((await me(sandbox)).headers.get('retry-after')).toBe(String(retryAfter))
    clock.now += refill - 1
    expect(await allowedCount(sandbox)).toBe(0)
    clock.now += 1
    expect(await allowedCount(sandbox)).toBe(1)
    clock.now += 3_600_000
    expect(await allowedCount(sandbox)).toBe(capacity)
  })

  test('leaves faults to the requests that it allows', async () => {
    const { sandbox, clock } = limited('1/s')
    await me(sandbox)
    sandbox.failNext({ status: 503 })
    expect((await me(sandbox)).status).toBe(429)
    clock.now += 1_000
    expect((await me(sandbox)).status).toBe(503)
  })
})
