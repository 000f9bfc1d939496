import { defineOperation, type Middleware, type OutgoingCall, RequestError, type WebFetch } from 'support-workspace-sdk'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import * as z from 'zod'
import {
  json,
  makeClient,
  neverSettles,
  page,
  refusal,
  rejection,
  type Step,
  scripted,
  token,
} from '../helpers/client.ts'
import { fakeClock, jitter } from '../helpers/clock.ts'
import { thrower } from '../helpers/failing-callbacks.ts'
import { printedForms } from '../helpers/printed-forms.ts'

const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): object }
const contact = { email: 'ada@example.com' }
const created = () => json({ data: { id: 'c' } }, 201)

/** Records the calls that pass. */
function recording() {
  const calls: OutgoingCall[] = []
  const middleware: Middleware = (call, next) => {
    calls.push(call)
    return next(call)
  }
  return { calls, middleware }
}

describe('middleware', () => {
  test('surrounds each call, the client first and what withOptions adds inside, and the retries are inside of it', async () => {
    jitter(0)
    const log: string[] = []
    const named =
      (name: string): Middleware =>
      async (call, next) => {
        log.push(`${name} ${call.operation.id}`)
        try {
          return await next(call)
        } finally {
          log.push(`${name} ends`)
        }
      }
    const fetch = scripted(refusal(503, 'down'), json({ id: 'me' }))
    const client = makeClient({ fetch, middleware: [named('a'), named('b')] }).withOptions({ middleware: named('c') })
    await client.me()
    expect(log).toEqual(['a me', 'b me', 'c me', 'c ends', 'b ends', 'a ends'])
    expect(fetch.requests).toHaveLength(2)
  })

  test('sees what is sent, without the token', async () => {
    const { calls, middleware } = recording()
    const client = makeClient({ fetch: scripted(created()), middleware, headers: { 'x-client': '1' } })
    await client.messages.create('c/1', { body_html: 'x' }, { extraBody: { tag: 1 }, headers: { 'X-Call': '2' } })
    const { operation, ...call } = calls[0] as OutgoingCall
    expect(operation.id).toBe('messages.create')
    expect(call).toEqual({
      path: '/api/oauth/v1/conversations/c%2F1/messages',
      parameters: { conversation_id: 'c/1' },
      query: {},
      body: { body_html: 'x', tag: 1 },
      headers: { 'x-call': '2' },
      signal: undefined,
      baseUrl: 'https://api.test',
      page: undefined,
      timeout: 30_000,
      totalTimeout: 120_000,
      fresh: false,
    })
    expect(printedForms(calls[0]).join()).not.toContain(token)
  })

  test('sees the output of the schemas of a custom operation, and each page of a list', async () => {
    const { calls, middleware } = recording()
    const operation = defineOperation({
      id: 'tags.list',
      method: 'GET',
      path: '/tags',
      envelope: 'list',
      query: z.object({ since: z.date().transform((date) => date.getTime()) }),
    })
    const fetch = scripted(json(page([1], 'a')), json(page([2], 'b')), json(page([3])))
    const list = makeClient({ fetch, middleware }).call(operation, { query: { since: new Date(5) } })
    expect(await list.toArray()).toEqual([1, 2, 3])
    expect(calls.map(({ page, query }) => [page, query.since, query.after])).toEqual([
      [1, 5, undefined],
      [2, 5, 'a'],
      [3, 5, 'b'],
    ])
  })

  test('changes query, body, headers and signal, whose later changes have no effect', async () => {
    const controller = new AbortController()
    const fetch = scripted(created())
    const middleware: Middleware = async (call, next) => {
      const [query, body, headers] = [{ dry: ['yes'] }, { ...(call.body as object), name: 'Ada' }, { 'x-run': '7' }]
      const sent = next({ ...call, query, body, headers: { ...call.headers, ...headers }, signal: controller.signal })
      query.dry.push('no')
      body.name = 'Eve'
      return sent
    }
    await makeClient({ fetch, middleware }).contacts.create(contact, { headers: { 'x-call': '1' } })
    const [request] = fetch.requests
    expect(request?.url).toMatch(/\?dry=yes$/)
    expect(await request?.json()).toEqual({ ...contact, name: 'Ada' })
    expect([request?.headers.get('x-run'), request?.headers.get('x-call')]).toEqual(['7', '1'])
    controller.abort('enough')
    expect(await rejection(makeClient({ fetch, middleware }).contacts.create(contact))).toBe('enough')
  })

  test('adds headers to those of a function, which it does not see', async () => {
    const fetch = scripted(created())
    const seen: object[] = []
    const middleware: Middleware = (call, next) => {
      seen.push(call.headers)
      return next({ ...call, headers: { ...call.headers, 'x-run': '7' } })
    }
    const headers = async () => ({ 'x-call': '1' })
    await makeClient({ fetch, middleware }).contacts.create(contact, { headers })
    expect(seen).toEqual([{}])
    const [request] = fetch.requests
    expect([request?.headers.get('x-run'), request?.headers.get('x-call')]).toEqual(['7', '1'])
  })

  test.each<[string, unknown, 'get' | 'list']>([
    ['undefined', undefined, 'get'],
    ['no data', {}, 'get'],
    ['a list without items', { data: {}, cursors: { after: null, before: null }, response: {} }, 'list'],
    ['a list without cursors', { data: [], response: {} }, 'list'],
    ['no response', { data: {}, cursors: { after: null, before: null } }, 'get'],
  ])('that returns %s is told to return what `next` returns', async (_, reply, kind) => {
    const client = makeClient({ fetch: scripted(json(page([]))), middleware: async () => reply as never })
    const failed = rejection(kind === 'get' ? client.organization.get() : client.contacts.list().toArray())
    expect(await failed).toMatchObject({
      message: expect.stringContaining('a middleware returned no reply'),
      ...{ outcome: 'not-sent', remedy: 'fix' },
    })
  })

  test('can change a body in place, and leaves the text of an unchanged one alone', async () => {
    const fetch = scripted(created(), created())
    const middleware: Middleware = (call, next) => {
      if (call.headers['x-change']) Object.assign(call.body as object, { name: 'Ada' })
      return next(call)
    }
    const client = makeClient({ fetch, middleware })
    await client.request('POST', '/x', { body: { big: rawJson('12345678901234567890') } })
    await client.request('POST', '/x', { body: { big: 1 } }, { headers: { 'x-change': '1' } })
    expect(await Promise.all(fetch.requests.map((request) => request.text()))).toEqual([
      '{"big":12345678901234567890}',
      '{"big":1,"name":"Ada"}',
    ])
  })

  test.each<[string, string, (call: OutgoingCall) => unknown]>([
    ['another operation', 'call.operation', (call) => ({ ...call, operation: { ...call.operation } })],
    ['another path', 'call.path', (call) => ({ ...call, path: '/api/oauth/v1/me' })],
    ['another address', 'call.baseUrl', (call) => ({ ...call, baseUrl: 'https://evil.test' })],
    ['a query that no URL can hold', 'q', (call) => ({ ...call, query: { q: {} } })],
    ['a query that is no object', 'query', (call) => ({ ...call, query: 'q=1' })],
    ['a body that is no JSON', 'body.at', (call) => ({ ...call, body: { at: new Map() } })],
    ['the authorization header', 'headers', (call) => ({ ...call, headers: { authorization: 'Bearer x' } })],
    ['a controller as the signal', 'signal', (call) => ({ ...call, signal: new AbortController() })],
    ['nothing', 'call', () => undefined],
  ])('that passes %s is refused, and nothing is sent', async (_, argument, change) => {
    const fetch = scripted(created())
    const middleware: Middleware = (call, next) => next(change(call) as OutgoingCall)
    const error = await rejection(makeClient({ fetch, middleware }).contacts.create(contact))
    expect(error).toMatchObject({ name: 'InvalidArgumentError', argument, outcome: 'not-sent' })
    expect(fetch.requests).toEqual([])
  })

  test('cannot add a body to a GET', async () => {
    const middleware: Middleware = (call, next) => next({ ...call, body: {} })
    const error = await rejection(makeClient({ fetch: scripted(json({})), middleware }).me())
    expect(error).toMatchObject({ name: 'InvalidArgumentError', argument: 'body' })
  })

  test.each(['GET', 'POST'] as const)(
    'that returns no reply is named, and a %s tells whether to check',
    async (method) => {
      const middleware: Middleware = async (call, next) => void (await next(call)) as never
      const error = await rejection(makeClient({ fetch: scripted(json({})), middleware }).request(method, '/x'))
      const truth = { GET: ['no-effect', 'fix'], POST: ['unknown', 'verify'] }[method]
      expect(error).toBeInstanceOf(RequestError)
      expect(error).toMatchObject({ outcome: truth[0], remedy: truth[1], hint: 'Return what `next` returns.' })
    },
  )

  test('that hangs does not keep the abort of a call waiting', async () => {
    const controller = new AbortController()
    const call = makeClient({ middleware: neverSettles }).me({ signal: controller.signal })
    controller.abort('enough')
    expect(await rejection(call)).toBe('enough')
  })

  test('can replace the data, and its own errors pass', async () => {
    const replaced: Middleware = async (call, next) => ({ ...(await next(call)), data: { id: 'other' } })
    const { data, response } = await makeClient({ fetch: scripted(json({})), middleware: replaced })
      .me()
      .withResponse()
    expect([data, response.status]).toEqual([{ id: 'other' }, 200])
    const own = new Error('Not today.')
    const failing: Middleware = () => Promise.reject(own)
    expect(await rejection(makeClient({ middleware: failing }).me())).toBe(own)
  })
})

describe('middleware that repeats a call', () => {
  const twice: Middleware = (call, next) => next(call).catch(() => next(call))

  test.each<[string, 'POST' | 'PATCH' | 'DELETE' | 'GET', Step[], number, object]>([
    ['sends no POST again whose outcome is unknown', 'POST', [refusal(503, 'x'), created()], 1, { outcome: 'unknown' }],
    [
      'sends no PATCH again whose outcome is unknown',
      'PATCH',
      [refusal(503, 'x'), created()],
      1,
      { outcome: 'unknown' },
    ],
    [
      'sends a refused POST again',
      'POST',
      [refusal(422, 'x'), refusal(403, 'x')],
      2,
      { outcome: 'refused', status: 403 },
    ],
    [
      'keeps that a DELETE may have been applied',
      'DELETE',
      [refusal(503, 'x'), refusal(404, 'x')],
      2,
      { outcome: 'unknown' },
    ],
    ['sends a GET again', 'GET', [refusal(503, 'x'), refusal(404, 'x')], 2, { outcome: 'refused', status: 404 }],
  ])('%s', async (_, method, steps, count, expected) => {
    const fetch = scripted(...steps)
    const client = makeClient({ fetch, middleware: twice, maxRetries: 0 })
    expect(await rejection(client.request(method, '/x'))).toMatchObject(expected)
    expect(fetch.requests).toHaveLength(count)
  })

  test.each(['GET', 'DELETE'] as const)('sends a %s again after a success', async (method) => {
    const fetch = scripted(json({ request: 1 }), json({ request: 2 }))
    const middleware: Middleware = async (call, next) => (await next(call)) && next(call)
    expect(await makeClient({ fetch, middleware }).request(method, '/x')).toEqual({ request: 2 })
  })

  test('sends a POST that failed before it was sent', async () => {
    const accessToken = vi.fn(() => token).mockImplementationOnce(thrower(new Error('shut')))
    const fetch = scripted(created())
    await makeClient({ fetch, accessToken, middleware: twice }).contacts.create(contact)
    expect(fetch.requests).toHaveLength(1)
  })

  test('knows that a GET that it has aborted had no effect', async () => {
    const controller = new AbortController()
    const middleware: Middleware = (call, next) => next({ ...call, signal: controller.signal }).catch(() => next(call))
    const abort = () => {
      controller.abort()
      return neverSettles()
    }
    const client = makeClient({ fetch: scripted(abort, refusal(404, 'x')), middleware })
    expect(await rejection(client.me())).toMatchObject({ status: 404, outcome: 'refused' })
  })
})

describe('a POST is sent once', () => {
  fakeClock()
  const wrapping: Middleware = (call, next) =>
    next(call).catch((cause: unknown) => {
      throw new Error('mine', { cause })
    })
  const repeating: Middleware = (call, next) => next(call).catch(() => next(call))
  test.each<[string, Middleware[]]>([
    [
      'a middleware ends its wait with a signal of its own, and repeats it',
      [
        (call, next) => {
          const own = new AbortController()
          setTimeout(() => own.abort(new Error('enough')), 5)
          return next({ ...call, signal: own.signal }).catch(() => next(call))
        },
      ],
    ],
    ['it is repeated around one that has errors of its own', [repeating, wrapping]],
    ['it is repeated while it is under way', [(call, next) => Promise.any([next(call), next(call)])]],
    ['it is repeated after a success', [async (call, next) => (await next(call)) && next(call)]],
  ])('if %s', async (_, middleware) => {
    for (const steps of [
      [neverSettles, created()],
      [refusal(500, 'x'), created()],
      [created(), created()],
    ]) {
      const fetch = scripted(...steps)
      const client = makeClient({ fetch, middleware, maxRetries: 0, timeout: 50 })
      const settled = client.contacts.create(contact).catch(() => {})
      await vi.advanceTimersByTimeAsync(1_000)
      await settled
      expect(fetch.requests).toHaveLength(1)
    }
  })

  test('and not at all once its call has ended', async () => {
    const fetch = scripted(created())
    let late: (() => Promise<unknown>) | undefined
    const middleware: Middleware = (call, next) => {
      late = async () => next(call)
      return new Promise(() => {})
    }
    const controller = new AbortController()
    const call = makeClient({ fetch, middleware }).contacts.create(contact, { signal: controller.signal })
    await vi.advanceTimersByTimeAsync(1)
    controller.abort(new Error('enough'))
    expect(await rejection(call)).toMatchObject({ message: 'enough' })
    expect(await rejection(late?.() as Promise<unknown>)).toMatchObject({ outcome: 'not-sent', remedy: 'fix' })
    expect(fetch.requests).toEqual([])
  })
})

describe('nothing is sent after the end of a call', () => {
  fakeClock()
  const slow = () => refusal(429, 'slow_down', { 'retry-after': '1' })

  test.each<[string, Middleware]>([
    ['replaces the signal', (call, next) => next({ ...call, signal: undefined })],
    [
      'races `next` with a deadline',
      (call, next) => {
        const { promise, reject } = Promise.withResolvers<never>()
        setTimeout(() => reject(new Error('enough')), 100)
        return Promise.race([next(call), promise])
      },
    ],
  ])('if a middleware %s', async (_, middleware) => {
    jitter(0)
    for (const method of ['POST', 'GET'] as const) {
      const fetch = scripted(slow(), created())
      const controller = new AbortController()
      setTimeout(() => controller.abort(new Error('enough')), 100)
      const client = makeClient({ fetch, middleware })
      const call = rejection(client.request(method, '/x', {}, { signal: controller.signal }))
      await vi.advanceTimersByTimeAsync(100)
      expect(await call).toMatchObject({ message: 'enough' })
      expect(vi.getTimerCount()).toBe(0)
      await vi.advanceTimersByTimeAsync(10_000)
      expect(fetch.requests).toHaveLength(1)
    }
  })

  test.each(['POST', 'GET'] as const)('and a %s that is under way is aborted', async (method) => {
    const { promise: sent, resolve } = Promise.withResolvers<AbortSignal>()
    let reply: Promise<unknown> | undefined
    const fetch: WebFetch = (_, { signal }) => {
      resolve(signal)
      return neverSettles()
    }
    const middleware: Middleware = (call, next) => {
      reply = rejection(next(call))
      return Promise.race([sent.then(() => Promise.reject(new Error('enough'))), neverSettles()])
    }
    expect(await rejection(makeClient({ fetch, middleware }).request(method, '/x'))).toMatchObject({
      message: 'enough',
    })
    expect((await sent).aborted).toBe(true)
    expect(await reply).toMatchObject({ name: 'AbortError' })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('but a read whose signal was replaced can finish, for other calls that share it', async () => {
    const { promise, resolve } = Promise.withResolvers<Response>()
    let shared: Promise<unknown> | undefined
    const middleware: Middleware = (call, next) => {
      const reply = next({ ...call, signal: undefined })
      shared = reply
      return reply
    }
    const controller = new AbortController()
    const client = makeClient({ fetch: () => promise, middleware })
    const call = rejection(client.me({ signal: controller.signal }))
    await vi.advanceTimersByTimeAsync(1)
    controller.abort('mine')
    expect(await call).toBe('mine')
    resolve(json({ id: 'me' }))
    expect(await shared).toMatchObject({ data: { id: 'me' } })
  })

  test('and a `next` that nobody awaits leaves no unhandled rejection', async () => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    onTestFinished(() => void process.off('unhandledRejection', unhandled))
    const response = { status: 200, headers: new Headers(), requestId: undefined }
    const middleware: Middleware = async (call, next) => {
      void next(call)
      void next({ ...call, baseUrl: 'https://other.example' })
      return { data: { id: 'mine' }, cursors: { after: null, before: null }, response }
    }
    const client = makeClient({ fetch: scripted(refusal(403, 'x')), middleware })
    expect(await client.me()).toEqual({ id: 'mine' })
    await vi.advanceTimersByTimeAsync(1_000)
    vi.useRealTimers()
    await new Promise((resolve) => setImmediate(resolve))
    expect(unhandled).not.toHaveBeenCalled()
  })
})

test('a middleware sees its own copy of the parameters, and a context that is NaN', async () => {
  const seen: unknown[] = []
  const middleware: Middleware = (call, next) => {
    seen.push({ ...call.parameters }, call.context)
    Object.assign(call.parameters, { id: 'other' })
    return next(call)
  }
  const fetch = scripted(created())
  await makeClient({ fetch, middleware: [middleware, middleware], context: Number.NaN }).contacts.get('c')
  expect(seen).toEqual([{ id: 'c' }, Number.NaN, { id: 'c' }, Number.NaN])
})

test('a middleware cannot change the operation that all clients share', async () => {
  const middleware: Middleware = (call, next) => {
    Object.assign(call.operation, { method: 'DELETE' })
    return next(call)
  }
  const fetch = scripted(created())
  expect(await rejection(makeClient({ fetch, middleware }).contacts.create(contact))).toBeInstanceOf(TypeError)
  await makeClient({ fetch }).contacts.create(contact)
  expect(fetch.requests.map(({ method }) => method)).toEqual(['POST'])
})
