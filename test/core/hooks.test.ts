import {
  type Hooks,
  InvalidArgumentError,
  type OperationEvent,
  type SupportWorkspace,
  type WebFetch,
} from 'support-workspace-sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { brokenConnection, json, makeClient, neverSettles, refusal, rejection, scripted } from '../helpers/client.ts'
import { settled } from '../helpers/settled.ts'
import { turns } from '../helpers/turns.ts'

/** Returns a promise that rejects when the signal aborts. */
function abortOf(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
}

/** Returns a body that breaks when the signal aborts. */
function bodyUntil(signal: AbortSignal | undefined): ReadableStream {
  return new ReadableStream({ start: (body) => void abortOf(signal).catch((reason) => body.error(reason)) })
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: 1_700_000_000_000 })
  vi.spyOn(Math, 'random').mockReturnValue(0)
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const names = ['onOperationStart', 'onOperationEnd', 'onAttemptStart', 'onAttemptEnd', 'onRetry', 'onWait'] as const

/** Returns hooks that record their events. */
function recordEvents() {
  const events: [string, unknown][] = []
  const hooks = Object.fromEntries(
    names.map((name) => [name, (event: unknown) => void events.push([name, event])]),
  ) as Hooks
  return {
    events,
    hooks,
    order: () => events.map(([name]) => name),
    of: (name: string) => events.filter(([each]) => each === name).map(([, event]) => event),
  }
}

/** Returns a signal that aborts in the next turn of the event loop. */
function abortedLater(reason: unknown): AbortSignal {
  const controller = new AbortController()
  void turns(1).then(() => controller.abort(reason))
  return controller.signal
}

describe('hooks', () => {
  test('are called from the start to the end of a call, with exactly the documented fields', async () => {
    const { events, hooks } = recordEvents()
    const fetch = scripted(
      refusal(503, 'down', { 'x-request-id': 'r1' }),
      json({ data: { id: '1' } }, 200, { 'x-request-id': 'r2' }),
    )
    await makeClient({ fetch, hooks }).members.get('secret-id')
    const base = {
      callId: expect.any(Number),
      operation: 'members.get',
      method: 'GET',
      urlTemplate: 'https://api.test/api/oauth/v1/users/{id}',
      actor: 'self',
      page: undefined,
    }
    expect(events).toEqual([
      ['onOperationStart', base],
      ['onAttemptStart', { ...base, attempt: 1 }],
      ['onAttemptEnd', { ...base, attempt: 1, duration: 0, status: 503, requestId: 'r1', error: 'ServerError' }],
      ['onRetry', { ...base, attempt: 1, wait: 0, reason: 503 }],
      ['onAttemptStart', { ...base, attempt: 2 }],
      ['onAttemptEnd', { ...base, attempt: 2, duration: 0, status: 200, requestId: 'r2', error: undefined }],
      [
        'onOperationEnd',
        { ...base, duration: 0, attempts: 2, status: 200, requestId: 'r2', error: undefined, outcome: undefined },
      ],
    ])
    for (const [, event] of events)
      expect(Object.keys(event as object)).toEqual(expect.arrayContaining(Object.keys(base)))
    expect(JSON.stringify(events)).not.toContain('secret-id')
  })

  test('that outlast the total timeout before a request is sent: the error says that it was not', async () => {
    const { hooks, of } = recordEvents()
    const late: Hooks = {
      ...hooks,
      onAttemptStart(event) {
        hooks.onAttemptStart?.(event)
        vi.advanceTimersByTime(101)
      },
    }
    const fetch = scripted(json({}))
    const call = makeClient({ fetch, hooks: late, totalTimeout: 100 }).messages.create('c1', { body_html: 'x' })
    expect(await rejection(call)).toMatchObject({ name: 'TimeoutError', limit: 'total', outcome: 'not-sent' })
    expect(fetch.requests).toEqual([])
    expect(of('onAttemptEnd')).toMatchObject([{ attempt: 1, error: 'TimeoutError' }])
    expect(of('onOperationEnd')).toMatchObject([{ outcome: 'not-sent' }])
  })

  test('report the duration of a call and of its attempts, in milliseconds', async () => {
    vi.advanceTimersByTime(1_000)
    const { hooks, of } = recordEvents()
    const fetch = scripted(() => {
      vi.advanceTimersByTime(30)
      return json({})
    })
    await makeClient({ fetch, hooks }).me()
    expect(of('onAttemptEnd')).toMatchObject([{ duration: 30 }])
    expect(of('onOperationEnd')).toMatchObject([{ duration: 30 }])
  })

  test('report the reason for each retry, which for a response that was cut off is its error', async () => {
    const { hooks, of } = recordEvents()
    const cutOff = new ReadableStream({ pull: (controller) => controller.error(new TypeError('terminated')) })
    const limited = refusal(429, 'x', { 'retry-after': '0' })
    const fetch = scripted(brokenConnection(), limited, () => new Response(cutOff), json({}))
    await makeClient({ fetch, hooks, maxRetries: 3 }).me()
    expect(of('onRetry')).toMatchObject([
      { attempt: 1, reason: 'NetworkError' },
      { attempt: 2, reason: 429 },
      { attempt: 3, reason: 'NetworkError' },
    ])
  })

  test('have one id for all events of a call, which no other call has', async () => {
    const { hooks, of } = recordEvents()
    const fetch = scripted(refusal(503, 'down'), json({}))
    const [one, other] = [makeClient({ fetch, hooks }), makeClient({ fetch, hooks })]
    await Promise.all([one.me(), one.me(), other.me()])
    const ids = (name: string) => (of(name) as OperationEvent[]).map(({ callId }) => callId)
    const [first = Number.NaN, second = Number.NaN, third = Number.NaN] = ids('onOperationStart')
    expect(first).toBeLessThan(second)
    expect(second).toBeLessThan(third)
    expect(new Set(ids('onAttemptEnd'))).toEqual(new Set(ids('onOperationStart')))
    expect(ids('onRetry')).toEqual([ids('onOperationStart')[0]])
    expect(ids('onOperationEnd').sort()).toEqual(ids('onOperationStart').sort())
  })

  const invalidError = new InvalidArgumentError('x', 'No.', 'Fix it.')
  const vaultError = Object.assign(new Error('shut'), { name: 'VaultError' })
  test.each([
    ['the caller aborts', 'AbortError', 1, (signal: AbortSignal) => ({ signal, fetch: neverSettles })],
    ['the caller aborts with text', 'AbortError', 1, () => ({ signal: abortedLater('enough'), fetch: neverSettles })],
    [
      'the caller aborts with the error of another call',
      'InvalidArgumentError',
      1,
      () => ({ signal: abortedLater(invalidError), fetch: neverSettles }),
    ],
    ['the caller aborted before the call', 'AbortError', 0, () => ({ signal: AbortSignal.abort() })],
    ['the token provider rejects', 'VaultError', 0, () => ({ accessToken: () => Promise.reject(vaultError) })],
    ['the token provider rejects with undefined', 'Error', 0, () => ({ accessToken: () => Promise.reject(undefined) })],
    ['the token is invalid', 'InvalidArgumentError', 0, () => ({ accessToken: () => '' }), 'not-sent'],
  ] as const)('report an end for each start when %s', async (_, error, attempts, options, outcome = undefined) => {
    const { hooks, of, order } = recordEvents()
    const controller = new AbortController()
    const { signal, ...clientOptions } = { signal: undefined, ...options(controller.signal) }
    const client = makeClient({ fetch: scripted(json({})), hooks, ...clientOptions })
    const result = rejection(client.me({ signal }))
    await turns(1)
    controller.abort()
    await settled(result)
    expect(order().filter((name) => name === 'onAttemptStart')).toHaveLength(attempts)
    expect(of('onAttemptEnd')).toEqual(Array.from({ length: attempts }, () => expect.objectContaining({ error })))
    expect(of('onOperationStart')).toHaveLength(1)
    expect(of('onOperationEnd')).toEqual([expect.objectContaining({ error, attempts, outcome })])
  })

  test.each<[string, number, (signal: AbortSignal | undefined) => Promise<Response>]>([
    ['waits for the response', 3, (signal) => abortOf(signal)],
    ['reads the body', 3, async (signal) => new Response(bodyUntil(signal))],
    ['waits before a retry', 3, async () => refusal(503, 'x', { 'retry-after': '50' })],
  ])('report no abort when the caller leaves a loop while the next page %s', async (_, number, respond) => {
    const { hooks, of } = recordEvents()
    const asked = Promise.withResolvers<void>()
    const fetch: WebFetch = async (url, { signal }) => {
      const page = Number(new URL(url).searchParams.get('after') ?? 1)
      if (page < number) return json({ data: [{ id: `${page}` }], page_metadata: { after: `${page + 1}` } })
      asked.resolve()
      return respond(signal as AbortSignal)
    }
    for await (const { id } of makeClient({ fetch, hooks }).conversations.list()) {
      if (id !== '2') continue
      await asked.promise
      await turns(5)
      break
    }
    await turns(20)
    const names = (event: string) => of(event).map((each) => (each as { error?: string }).error)
    expect(names('onOperationEnd')).toEqual([undefined, undefined, undefined])
    expect(names('onAttemptEnd')).not.toContain('AbortError')
    expect(names('onAttemptEnd')).toHaveLength(3)
  })

  test('do not affect a call when one changes its event', async () => {
    const change = (event: Record<string, unknown>) => {
      for (const key of Object.keys(event)) event[key] = 'changed'
    }
    const hooks = Object.fromEntries(names.map((name) => [name, change])) as never
    const client = makeClient({ fetch: scripted(refusal(503, 'x'), json({ id: 1 }), refusal(404, 'x')), hooks })
    expect(await client.me()).toEqual({ id: 1 })
    expect(await rejection(client.members.get('1'))).toMatchObject({ operation: 'members.get', outcome: 'refused' })
  })

  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  test.each([{}, { logger }])('are called as methods of their object, with the options %o', async (options) => {
    class CountingHooks implements Hooks {
      count = 0
      onOperationEnd() {
        this.count += 1
      }
    }
    const hooks = new CountingHooks()
    await makeClient({ fetch: scripted(json({})), hooks, ...options }).me()
    expect(hooks.count).toBe(1)
  })
})

test.each<[string, (client: SupportWorkspace<'self'>) => PromiseLike<unknown>]>([
  ['an id', (client) => client.contacts.get('')],
  ['an option', (client) => client.me({ timeout: -1 })],
  ['a body that is no JSON', (client) => client.contacts.create({ email: Number.NaN as never })],
  ['a body, checked by a schema', (client) => client.contacts.create({} as never)],
  ['a query that no URL can hold', (client) => client.request('GET', '/x', { query: { q: {} as never } })],
  ['a list option', (client) => client.contacts.list({ limit: 0 })],
  ['a path', (client) => client.request('GET', '/../x')],
])('a call with an invalid argument does not start: %s', async (_, call) => {
  const hooks = { onOperationStart: vi.fn(), onOperationEnd: vi.fn() }
  expect(await rejection(call(makeClient({ fetch: scripted(json({})), hooks })))).toBeInstanceOf(InvalidArgumentError)
  expect([hooks.onOperationStart, hooks.onOperationEnd].map(({ mock }) => mock.calls)).toEqual([[], []])
})
