import { RequestError } from 'support-workspace-sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { makeClient, rejection, stubPlatformFetch } from '../helpers/client.ts'
import { type EffectsServer, type Fault, faults, startEffectsServer } from '../helpers/effects-server.ts'
import { Random } from '../helpers/random.ts'
import { respondJson, startRawServer } from '../helpers/raw-server.ts'

// The backoff is multiplied by this, so that no test has to wait.
beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0)
})

afterEach(() => {
  vi.restoreAllMocks()
})

/** Returns a client on the platform's fetch, because only its errors can prove that nothing was sent. */
function client({ server, fetch }: EffectsServer) {
  stubPlatformFetch(fetch)
  return makeClient({ baseUrl: server.url })
}

describe('a write', () => {
  test.each([
    ['refused connection', 'not-sent', 0, 'NetworkError'],
    ['drop before reading', 'unknown', 0, 'NetworkError'],
    ['drop after reading', 'unknown', 0, 'NetworkError'],
    ['reset after reading', 'unknown', 0, 'NetworkError'],
    ['429', 'refused', 0, 'RateLimitError'],
    ['422', 'refused', 0, 'UnprocessableError'],
    ['500 without effect', 'unknown', 0, 'ServerError'],
    ['HTML without effect', 'unknown', 0, 'UnexpectedResponseError'],
    ['drop after effect', 'unknown', 1, 'NetworkError'],
    ['reset after effect', 'unknown', 1, 'NetworkError'],
    ['drop in the headers', 'unknown', 1, 'NetworkError'],
    ['drop in the body', 'unknown', 1, 'NetworkError'],
    ['body cut short', 'unknown', 1, 'UnexpectedResponseError'],
    ['500 after effect', 'unknown', 1, 'ServerError'],
    ['redirect after effect', 'unknown', 1, 'UnexpectedResponseError'],
  ] as [Fault, string, number, string][])(
    'that fails (%s) has the outcome %s (writes applied: %i)',
    async (fault, outcome, effects, name) => {
      await using server = await startEffectsServer()
      server.plan(fault)
      const call = client(server).messages.create('c1', { body_html: 'x' }, { maxRetries: 0 })
      const error = await rejection(call)
      expect(error).toMatchObject({ outcome, name, operation: 'messages.create', attempts: [{ error: name }] })
      expect(server.effects).toBe(effects)
      expect(server.attempts).toBe(1)
    },
  )

  test('that fails (reset before reading) has the outcome not-sent or unknown, and both are true', async () => {
    await using server = await startEffectsServer()
    server.plan('reset before reading')
    const error = await rejection(client(server).messages.create('c1', { body_html: 'x' }, { maxRetries: 0 }))
    expect(error).toMatchObject({ outcome: expect.stringMatching(/^(not-sent|unknown)$/), name: 'NetworkError' })
    expect(server.effects).toBe(0)
  })

  const predictable = faults.filter((fault) => fault !== 'reset before reading')
  test.each(predictable)('that fails (%s) is retried only if it cannot have been applied', async (fault) => {
    await using server = await startEffectsServer()
    server.plan(fault)
    const retried = fault === 'refused connection' || fault === '429'
    const call = client(server).messages.create('c1', { body_html: 'x' })
    if (retried) expect(await call).toMatchObject({ id: 'm1' })
    else await rejection(call)
    expect(server.attempts).toBe(retried ? 2 : 1)
    expect(server.effects).toBeLessThanOrEqual(1)
  })
})

describe('a delete', () => {
  test('that was applied without a response, then gets a 404, has the outcome unknown', async () => {
    let exists = true
    await using server = await startRawServer({
      onRequest(request) {
        if (exists) request.socket.destroy()
        else respondJson(request, { error: 'not_found' }, { status: 404 })
        exists = false
      },
    })
    const error = await rejection(makeClient({ baseUrl: server.url }).messages.delete('c1', 'm1'))
    expect(error).toMatchObject({
      name: 'NotFoundError',
      outcome: 'unknown',
      attempts: [
        { error: 'NetworkError', wait: 0 },
        { status: 404, error: 'NotFoundError' },
      ],
      remedy: 'verify',
    })
  })
})

describe('over thousands of random faults', () => {
  test.each([
    ['create', 2_000, 1],
    ['delete', 1_000, 2],
  ] as const)(
    'every %s has a true outcome, and no create is applied twice',
    async (kind, runs, seed) => {
      await using server = await startEffectsServer()
      const random = new Random(seed)
      const { messages } = client(server)
      const outcomes = { succeeded: 0, 'not-sent': 0, refused: 0, unknown: 0 }
      let injected = 0
      let doubled = 0
      let untrue = 0
      for (let run = 0; run < runs; run += 1) {
        const plan = Array.from({ length: 3 }, () => random.pick<Fault>([...faults, 'none', 'none']))
        server.plan(...plan)
        const options = { maxRetries: random.pick([0, 1, 2]) }
        const outcome = await (kind === 'create'
          ? messages.create('c1', { body_html: 'x' }, options)
          : messages.delete('c1', 'm1', options)
        ).then(
          () => 'succeeded' as const,
          (error: unknown) => {
            if (!(error instanceof RequestError)) throw error
            expect(error.attempts).toHaveLength(server.attempts)
            return error.outcome
          },
        )
        outcomes[outcome as keyof typeof outcomes] += 1
        injected += plan.slice(0, server.attempts).filter((fault) => fault !== 'none').length
        if (kind === 'create' && server.effects > 1) doubled += 1
        if (server.effects > 0 && (outcome === 'refused' || outcome === 'not-sent')) untrue += 1
        if (server.effects === 0 && outcome === 'succeeded') untrue += 1
      }
      console.log(
        `${kind}: ${runs} runs, ${injected} faults, outcomes ${JSON.stringify(outcomes)}, doubled ${doubled}, untrue ${untrue}`,
      )
      expect({ doubled, untrue }).toEqual({ doubled: 0, untrue: 0 })
      // The runs prove something only if every outcome occurred.
      for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(0)
    },
    180_000,
  )
})

describe('connections', () => {
  test('are reused over hundreds of error responses, because every body is read', async () => {
    const statuses = [400, 401, 403, 404, 422, 429, 500, 503]
    await using server = await startRawServer({
      onRequest(request) {
        const status = statuses[request.number % statuses.length] as number
        const headers = { 'retry-after': '0', 'x-large': 'x'.repeat(700) }
        respondJson(request, { error: 'some_code', error_description: 'x'.repeat(10_000) }, { status, headers })
      },
    })
    const workspace = makeClient({ baseUrl: server.url })
    for (let count = 0; count < 200; count += 1) await rejection(workspace.messages.create('c1', { body_html: 'x' }))
    for (let count = 0; count < 100; count += 1) await rejection(workspace.me())
    expect(server.requests.length).toBeGreaterThan(300)
    // A request may start before the platform has released the connection, but it does not open a new one each time.
    expect(server.connections).toBeLessThanOrEqual(3)
  })

  test('are closed when a response is not read to its end', async () => {
    let closed = 0
    await using server = await startRawServer({
      onRequest(request) {
        if (request.target === '/probe') return respondJson(request, {})
        // The server closes no connection before the test ends.
        request.socket.once('close', () => {
          closed += 1
        })
        request.socket.write('HTTP/1.1 302 Found\r\nlocation: /x\r\ncontent-length: 1000000\r\n\r\nsome of it')
      },
    })
    const workspace = makeClient({ baseUrl: server.url })
    for (let count = 0; count < 50; count += 1) await rejection(workspace.me())
    // A close that was sent before a probe arrives before the probe's response.
    for (let probe = 0; probe < 20 && closed < 50; probe += 1) await (await fetch(`${server.url}/probe`)).text()
    expect(closed, 'connections closed by the client').toBe(50)
  })
})
