import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import {
  ATTR_ERROR_TYPE,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_REQUEST_RESEND_COUNT,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
  ATTR_SERVER_ADDRESS,
  ATTR_SERVER_PORT,
} from '@opentelemetry/semantic-conventions'
import { ATTR_URL_TEMPLATE } from '@opentelemetry/semantic-conventions/incubating'
import { type ClientOptions, type Hooks, InvalidArgumentError, type RateLimiter } from 'support-workspace-sdk'
import { type OtelHooksOptions, otelHooks } from 'support-workspace-sdk/otel'
import { createSandbox } from 'support-workspace-sdk/sandbox'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { json, makeClient, page, refusal, rejection, scripted, token } from '../helpers/client.ts'
import { fakeClock, jitter } from '../helpers/clock.ts'
import { settledAfterTimers } from '../helpers/settled.ts'

const started: ReadableSpan[] = []
const exporter = new InMemorySpanExporter()
let lastId = 0
const nextId = (length: number) => (++lastId).toString(16).padStart(length, '0')
const provider = new BasicTracerProvider({
  // The default ids come from `Math.random`, which these tests replace.
  idGenerator: { generateSpanId: () => nextId(16), generateTraceId: () => nextId(32) },
  spanProcessors: [
    new SimpleSpanProcessor(exporter),
    {
      onStart: (span) => void started.push(span),
      onEnd: () => {},
      forceFlush: async () => {},
      shutdown: async () => {},
    },
  ],
})
const tracer = provider.getTracer('test')

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
})

afterAll(() => context.disable())

fakeClock()
beforeEach(() => jitter(0))

afterEach(() => {
  const open = started.filter((span) => !span.ended).map(({ name }) => name)
  started.length = 0
  exporter.reset()
  expect(open).toEqual([])
})

const spans = () => exporter.getFinishedSpans()
const idOf = (span: ReadableSpan) => span.spanContext().spanId
const callSpans = () => spans().filter(({ kind }) => kind === SpanKind.INTERNAL)
const requestSpans = () => spans().filter(({ kind }) => kind === SpanKind.CLIENT)
const requestsOf = (call: ReadableSpan | undefined) =>
  requestSpans().filter(({ parentSpanContext }) => parentSpanContext?.spanId === (call && idOf(call)))

/** Creates a client of a sandbox, whose calls are traced. */
function tracedSandbox(options: Partial<ClientOptions<'self'>> = {}, otelOptions: OtelHooksOptions = {}) {
  const sandbox = createSandbox({ conversations: 12 })
  const accessToken = sandbox.issueToken({ actor: 'self' })
  const hooks = otelHooks({ tracer, ...otelOptions })
  const client = makeClient({ baseUrl: sandbox.url, fetch: sandbox.fetch, accessToken, hooks, ...options })
  return { sandbox, client, accessToken }
}

describe('the spans of a call', () => {
  test('are one for the operation and one for its request, with exactly these attributes', async () => {
    const { client, sandbox } = tracedSandbox()
    const conversation = sandbox.state.conversations[0]?.id ?? ''
    const { response } = await client.messages.create(conversation, { body_html: '<p>Hi</p>' }).withResponse()
    const [request, call] = spans()
    expect(spans()).toHaveLength(2)
    expect(call).toMatchObject({
      name: 'messages.create',
      kind: SpanKind.INTERNAL,
      status: { code: SpanStatusCode.UNSET },
      parentSpanContext: undefined,
      events: [],
    })
    expect(call?.attributes).toEqual({ 'support_workspace.actor': 'self', 'support_workspace.attempts': 1 })
    expect(request).toMatchObject({
      name: 'POST /api/oauth/v1/conversations/{conversation_id}/messages',
      kind: SpanKind.CLIENT,
      status: { code: SpanStatusCode.UNSET },
      events: [],
    })
    expect(request?.attributes).toEqual({
      [ATTR_HTTP_REQUEST_METHOD]: 'POST',
      [ATTR_HTTP_RESPONSE_STATUS_CODE]: 201,
      [ATTR_SERVER_ADDRESS]: 'sandbox.localhost',
      [ATTR_SERVER_PORT]: 80,
      'support_workspace.request_id': response.requestId,
      [ATTR_URL_TEMPLATE]: '/api/oauth/v1/conversations/{conversation_id}/messages',
    })
    expect(requestsOf(call)).toEqual([request])
  })

  test.each([
    ['https://api.test', 'api.test', 443, '/api/oauth/v1/me'],
    ['https://api.test:8443/prefix/', 'api.test', 8443, '/prefix/api/oauth/v1/me'],
    ['http://localhost', 'localhost', 80, '/api/oauth/v1/me'],
  ])('name the server and the path of %s', async (baseUrl, address, port, template) => {
    await makeClient({ baseUrl, fetch: scripted(json({})), hooks: otelHooks({ tracer }) }).me()
    expect(requestSpans()[0]?.attributes).toMatchObject({
      'server.address': address,
      'server.port': port,
      'url.template': template,
    })
  })

  test('do not mix when calls are concurrent', async () => {
    const { client, sandbox } = tracedSandbox()
    sandbox.faults.add({ times: Number.POSITIVE_INFINITY, path: /\/users/, latency: 300 })
    sandbox.faults.add({ times: 4, path: /\/me$/, status: 503 })
    const calls = Array.from({ length: 4 }, (_, index) =>
      tracer.startActiveSpan(`job ${index}`, (job) => {
        const results = [client.me(), client.members.list(), client.organization.get(), client.tasks.list()]
        return Promise.all<unknown>(results).finally(() => job.end())
      }),
    )
    await settledAfterTimers(Promise.all(calls))
    for (const index of calls.keys()) {
      const job = spans().find(({ name }) => name === `job ${index}`)
      const own = callSpans().filter(({ parentSpanContext }) => parentSpanContext?.spanId === (job && idOf(job)))
      const seen = own.map((call) => [call.name, ...new Set(requestsOf(call).map(({ name }) => name))].join(': '))
      expect(seen.sort()).toEqual([
        'me: GET /api/oauth/v1/me',
        'members.list: GET /api/oauth/v1/users',
        'organization.get: GET /api/oauth/v1/organization',
        'tasks.list: GET /api/oauth/v1/tasks',
      ])
    }
    expect(requestSpans()).toHaveLength(16 + 4)
  })

  test('are one for each page of a list', async () => {
    const { client } = tracedSandbox()
    expect(await client.conversations.list({ limit: 5 }).toArray()).toHaveLength(12)
    const pages = callSpans().map(({ name, attributes }) => `${name} ${attributes['support_workspace.page']}`)
    expect(pages).toEqual(['conversations.list 1', 'conversations.list 2', 'conversations.list 3'])
    expect(callSpans().map((call) => requestsOf(call).length)).toEqual([1, 1, 1])
  })

  test('send no trace context to the service', async () => {
    const fetch = scripted(json({}))
    await makeClient({ fetch, hooks: otelHooks({ tracer }) }).me()
    expect([...(fetch.requests[0]?.headers.keys() ?? [])].sort()).toEqual(['accept', 'authorization', 'user-agent'])
  })
})

describe('the spans of a call that fails', () => {
  test('have the status as the error of the request, and the name of the error for the call', async () => {
    const { client } = tracedSandbox()
    await rejection(client.members.get('nobody'))
    const [request, call] = spans()
    expect(request?.status).toEqual({ code: SpanStatusCode.ERROR })
    expect(request?.attributes).toEqual({
      [ATTR_HTTP_REQUEST_METHOD]: 'GET',
      [ATTR_HTTP_RESPONSE_STATUS_CODE]: 404,
      [ATTR_ERROR_TYPE]: '404',
      [ATTR_SERVER_ADDRESS]: 'sandbox.localhost',
      [ATTR_SERVER_PORT]: 80,
      'support_workspace.request_id': expect.any(String),
      [ATTR_URL_TEMPLATE]: '/api/oauth/v1/users/{id}',
    })
    expect(call?.status).toEqual({ code: SpanStatusCode.ERROR })
    expect(call?.attributes).toMatchObject({ 'error.type': 'NotFoundError', 'support_workspace.outcome': 'refused' })
  })

  test('have the name of the error if there is no response', async () => {
    const { client, sandbox } = tracedSandbox({ maxRetries: 0 })
    const conversation = sandbox.state.conversations[0]?.id ?? ''
    sandbox.failNext({ drop: 'after-effect' })
    await rejection(client.messages.create(conversation, { body_html: '<p>Hi</p>' }))
    const [request, call] = spans()
    expect(request?.attributes).toMatchObject({ 'error.type': 'NetworkError' })
    expect(request?.attributes).not.toHaveProperty('http.response.status_code')
    expect(call?.attributes).toMatchObject({ 'error.type': 'NetworkError', 'support_workspace.outcome': 'unknown' })
  })

  test('are only one if nothing was sent', async () => {
    const { client } = tracedSandbox({ accessToken: () => Promise.reject(new TypeError('no token')) })
    await rejection(client.me())
    expect(spans().map(({ name, attributes }) => [name, attributes['error.type']])).toEqual([['me', 'TypeError']])
    expect(spans()[0]?.attributes['support_workspace.attempts']).toBe(0)
  })
})

describe('retries and waits', () => {
  test('are spans with their number, and events of the call', async () => {
    const { client, sandbox } = tracedSandbox()
    sandbox.faults.add({ status: 503, times: 2, retryAfter: 2 })
    await settledAfterTimers(client.me())
    const [call] = callSpans()
    expect(call?.status).toEqual({ code: SpanStatusCode.UNSET })
    expect(call?.attributes['support_workspace.attempts']).toBe(3)
    expect(requestsOf(call).map(({ attributes }) => attributes[ATTR_HTTP_REQUEST_RESEND_COUNT])).toEqual([
      undefined,
      1,
      2,
    ])
    expect(requestsOf(call).map(({ attributes }) => attributes['error.type'])).toEqual(['503', '503', undefined])
    expect(call?.events.map(({ name, attributes }) => [name, attributes])).toEqual([
      ['retry', { 'support_workspace.wait_ms': 2_000, 'support_workspace.reason': 503 }],
      ['retry', { 'support_workspace.wait_ms': 2_000, 'support_workspace.reason': 503 }],
    ])
  })

  test('are events of every call that waits for the rate limit', async () => {
    const rateLimiter: RateLimiter = { acquire: async (_key, _signal, { onWait }) => onWait(5) }
    const { client, sandbox } = tracedSandbox({ rateLimiter, rateLimitKey: 'key' })
    sandbox.failNext({ status: 429, retryAfter: 10 })
    await settledAfterTimers(client.me())
    const wait = ['wait', { 'support_workspace.wait_ms': 5, 'support_workspace.reason': 'rate_limit' }]
    const events = callSpans().flatMap((span) => span.events.map((event) => [event.name, event.attributes]))
    expect(events).toEqual([
      wait,
      ['retry', { 'support_workspace.wait_ms': 10_000, 'support_workspace.reason': 429 }],
      wait,
    ])
  })
})

test('no span contains a token, id, query, cursor or body', async () => {
  const fetch = scripted(
    () => json({ ...(page([{ id: 'needle' }], 'needle') as object) }, 200, { 'x-request-id': token }),
    () => json(page([]), 200, { 'x-echo': `Bearer ${token}` }),
    () => refusal(503, `${token} needle`, { 'retry-after': '1' }),
    () => refusal(422, `${token} needle`),
    new TypeError(`connect to needle with ${token}`),
  )
  const client = makeClient({ fetch, maxRetries: 1, hooks: otelHooks({ tracer }) })
  await client.contacts.list({ search: 'needle' } as never, { extraQuery: { q: 'needle' } }).toArray()
  await settledAfterTimers(rejection(client.members.get('needle')))
  await settledAfterTimers(rejection(client.messages.create('needle', { body_html: 'needle' })))
  expect(requestSpans()).toHaveLength(5)
  const text = JSON.stringify(
    spans().map(({ name, attributes, events, status, links }) => [name, attributes, events, status, links]),
  )
  expect(text).toContain('contacts.list')
  expect(text).not.toContain('needle')
  expect(text).not.toContain(token)
})

test('your own hooks are called with each event while the span of the call is active', async () => {
  const active: [string, string | undefined][] = []
  const names = ['onOperationStart', 'onAttemptStart', 'onAttemptEnd', 'onRetry', 'onWait', 'onOperationEnd']
  const record = (name: string) => () => void active.push([name, trace.getActiveSpan()?.spanContext().spanId])
  const hooks: Hooks = Object.fromEntries(names.map((name) => [name, record(name)]))
  const { client, sandbox } = tracedSandbox({}, { hooks })
  sandbox.failNext({ status: 503 })
  await settledAfterTimers(client.me())
  const id = callSpans()[0]?.spanContext().spanId
  const attempt = ['onAttemptStart', 'onAttemptEnd']
  const expected = ['onOperationStart', ...attempt, 'onRetry', ...attempt, 'onOperationEnd']
  expect(active).toEqual(expected.map((name) => [name, id]))
  expect(id).toBeDefined()
})

test('without a tracer, the global tracer provider is used, even if it is registered later', async () => {
  const { client } = tracedSandbox({}, { tracer: undefined })
  trace.setGlobalTracerProvider(provider)
  try {
    await context.with(ROOT_CONTEXT, () => client.me())
  } finally {
    trace.disable()
  }
  expect(callSpans()[0]?.instrumentationScope).toMatchObject({ name: 'support-workspace-sdk', version: '0.1.0' })
})

describe('what does not work', () => {
  test.each<[string, unknown]>([
    ['options', 'tracer'],
    ['tracers', { tracers: tracer }],
    ['tracer', { tracer: 'x' }],
    ['tracer', { tracer: provider }],
    ['tracer', { tracer: null }],
    ['hooks', { hooks: 5 }],
    ['onRetyr', { hooks: { onRetyr() {} } }],
    ['onRetry', { hooks: { onRetry: 'log' } }],
  ])('an option that is no %s is refused', (argument, options) => {
    expect(() => otelHooks(options as OtelHooksOptions)).toThrow(expect.objectContaining({ argument }))
    expect(() => otelHooks(options as OtelHooksOptions)).toThrow(InvalidArgumentError)
  })

  test('a tracer that throws does not keep hooks from being called', async () => {
    const startSpan = () => {
      throw new Error('no span')
    }
    const hooks = { onOperationStart: vi.fn(), onAttemptEnd: vi.fn(), onOperationEnd: vi.fn() }
    const broken = { startSpan } as never
    await makeClient({ fetch: scripted(json({})), hooks: otelHooks({ tracer: broken, hooks }) }).me()
    for (const hook of Object.values(hooks)) expect(hook).toHaveBeenCalledTimes(1)
  })
})
