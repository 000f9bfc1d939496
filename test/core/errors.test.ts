import { inspect } from 'node:util'
import fc from 'fast-check'
import {
  ActorSelfRequiredError,
  ApiError,
  AuthenticationError,
  BadRequestError,
  defineOperation,
  InsufficientScopeError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  type RequestError,
  ServerError,
  UnprocessableError,
} from 'support-workspace-sdk'
import { describe, expect, test, vi } from 'vitest'
import {
  brokenConnection,
  json,
  makeClient,
  page,
  refusal,
  refusedConnection,
  rejection,
  type Step,
  scripted,
} from '../helpers/client.ts'
import { jitter } from '../helpers/clock.ts'
import { thrower } from '../helpers/failing-callbacks.ts'
import { printedForms } from '../helpers/printed-forms.ts'

const failure = (response: Response, options: Parameters<typeof makeClient>[0] = {}) =>
  rejection(makeClient({ ...options, fetch: scripted(response), maxRetries: 0 }).me())

type Client = ReturnType<typeof makeClient<'self'>>

describe('the error of a response', () => {
  const classes = [
    [400, 'invalid_request', BadRequestError, 'refused'],
    [401, 'invalid_token', AuthenticationError, 'refused'],
    [403, 'forbidden', PermissionDeniedError, 'refused'],
    [403, 'insufficient_scope', InsufficientScopeError, 'refused'],
    [404, 'not_found', NotFoundError, 'refused'],
    [405, 'method_not_allowed', ApiError, 'refused'],
    [408, 'timeout', ApiError, 'no-effect'],
    [409, 'conflict', ApiError, 'refused'],
    [418, 'teapot', ApiError, 'refused'],
    [422, 'validation_failed', UnprocessableError, 'refused'],
    [422, 'actor_self_required', ActorSelfRequiredError, 'refused'],
    [429, 'slow_down', RateLimitError, 'refused'],
    [500, 'oops', ServerError, 'no-effect'],
    [503, 'down', ServerError, 'no-effect'],
    [599, 'odd', ServerError, 'no-effect'],
    [500, 'insufficient_scope', ServerError, 'no-effect'],
    [304, 'odd', ApiError, 'no-effect'],
    [300, 'odd', ApiError, 'no-effect'],
  ] as const
  const titled = classes.map((row) => [row[2].name, ...row] as const)

  test.each(titled)('has the class %s for %i %s', async (_, status, code, ErrorClass, outcome) => {
    const response = status === 304 ? new Response(null, { status }) : refusal(status, code)
    const error = await failure(response)
    expect((error as Error).constructor).toBe(ErrorClass)
    expect(error).toMatchObject({ status, outcome, operation: 'me', retryAfter: undefined })
    if (status !== 304) expect(error).toHaveProperty('code', code)
  })

  test.each([
    ['the documented shape', { error: 'some_code', error_description: 'Some words.' }],
    ['a code and a message', { code: 'some_code', message: 'Some words.' }],
    ['an error object', { error: { code: 'some_code', message: 'Some words.' } }],
    ['a code next to an error text', { code: 'some_code', error: 'Bad Request', message: 'Some words.' }],
    ['an error code and a message', { error: 'some_code', message: 'Some words.' }],
    ['an error object with an OAuth error', { error: { error: 'some_code', error_description: 'Some words.' } }],
    ['a code and a description', { code: 'some_code', description: 'Some words.' }],
    ['a list of no errors', { errors: [], code: 'some_code', message: 'Some words.' }],
    ['errors by field', { errors: { name: ['is taken'] }, code: 'some_code', message: 'Some words.' }],
    ['a list of errors', { errors: [{ code: 'some_code', detail: 'Some words.' }, { code: 'second' }] }],
    ['the fields of problem+json', { type: 'some_code', title: 'Some words.', status: 400 }],
    ['the fields of problem+json and a detail', { type: 'some_code', title: 'Title', detail: 'Some words.' }],
  ])('takes its code and description from a body with %s', async (_, body) => {
    expect(await failure(json(body, 400))).toMatchObject({ code: 'some_code', description: 'Some words.' })
  })

  test.each(['t', 'token', 'scope'])('keeps its code when a short token is part of it: %s', async (accessToken) => {
    expect(await failure(refusal(401, 'invalid_token'), { accessToken })).toMatchObject({ code: 'invalid_token' })
    const error = await failure(refusal(403, 'insufficient_scope'), { accessToken })
    expect(error).toBeInstanceOf(InsufficientScopeError)
  })

  const invalidToken = 'Bearer realm="api", error="invalid_token"'
  test.each([
    [401, '{"message":"no"}', invalidToken, 'invalid_token'],
    [401, '{"error":"unauthorized"}', invalidToken, 'invalid_token'],
    [400, '', invalidToken, 'invalid_token'],
    [400, '', 'Bearer error=some_code, scope="x"', 'some_code'],
    [400, '', 'Bearer error_description="An error.", ERROR = "some_code"', 'some_code'],
    [400, '', 'Bearer error  =  some_code', 'some_code'],
    [400, '', 'Bearer error="some_code other"', 'some_code'],
    [400, '', 'Bearer my_error="some_code"', undefined],
    [400, '', 'Bearer error=""', undefined],
    [400, '{"type":"about:blank"}', 'Bearer error="some_code"', 'some_code'],
    [400, '{"error":"body_code"}', 'Bearer error="some_code"', 'body_code'],
  ])('with status %i, the body %j and the challenge %s has the code %s', async (status, body, challenge, code) => {
    const accessToken = { getAccessToken: () => 'swot_abcdefgh', onInvalidToken: vi.fn() }
    const response = new Response(body, { status, headers: { 'www-authenticate': challenge } })
    expect(await failure(response, { accessToken })).toMatchObject({ code })
    expect(accessToken.onInvalidToken).toHaveBeenCalledTimes(status === 401 ? 1 : 0)
  })

  test.each([
    ['is empty', ''],
    ['is HTML', '<html><h1>502 Bad Gateway</h1></html>'],
    ['is a JSON string', '"no"'],
    ['is null', 'null'],
    ['is an array', '[{"error":"x"}]'],
    ['has empty strings', '{"error":"","error_description":""}'],
    ['has fields of the wrong type', '{"error":1,"error_description":{},"errors":[null]}'],
    ['is cut off', '{"error":"inva'],
    ['is not UTF-8', new Uint8Array([0x22, 0xff, 0x22])],
    ['is longer than the limit for an error', JSON.stringify({ error: 'x'.repeat(70_000) })],
  ])('keeps its status when the body %s', async (_, body) => {
    const error = await failure(new Response(body, { status: 400 }))
    expect(error).toBeInstanceOf(BadRequestError)
    expect(error).toMatchObject({ code: undefined, description: undefined })
  })

  test('is an ApiError with the status for any JSON body', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.integer({ min: 400, max: 599 }), async (body, status) => {
        const error = await failure(json(body, status))
        expect(error).toBeInstanceOf(ApiError)
        expect(error).toMatchObject({ status })
        expect((error as ApiError).message.length).toBeLessThan(2_000)
      }),
      { numRuns: 300 },
    )
  })

  test('states the operation, status, code, description and next step', async () => {
    const error = await failure(json({ error: 'invalid_request', error_description: 'limit is bad...' }, 400))
    expect(String(error)).toBe(
      'BadRequestError: me failed with 400 invalid_request: limit is bad. Check the arguments of the call.',
    )
  })

  test('cuts the description at 500 characters and removes control characters', async () => {
    const error = (await failure(
      json({ error: 'x', error_description: `a\n\u001b[31m${'b'.repeat(600)}` }, 400),
    )) as ApiError
    expect(error.description).toBe(`a [31m${'b'.repeat(494)}…`)
  })

  test('has the request id and all headers of the response, however long, except cookies', async () => {
    const policy = `default-src ${'x'.repeat(2_000)}`
    const known = { 'x-request-id': 'r1', 'x-set-cookie': 'off', 'content-security-policy': policy }
    const error = (await failure(refusal(404, 'not_found', { ...known, 'set-cookie': 'session=1' }))) as ApiError
    expect(error.requestId).toBe('r1')
    expect(error.response?.headers.get('content-security-policy')).toBe(policy)
    expect(error.response?.headers.get('x-set-cookie')).toBe('off')
    expect(error.response?.headers.has('set-cookie')).toBe(false)
  })
})

describe('the token of an earlier attempt', () => {
  const first = 'Opaque-Token-9rT4vB2nK6'
  const second = 'Other-Token-2nK69rT4vB'
  const quoting = `${first} and ${second}`

  /** A source whose second token replaces the first one. */
  function rotating() {
    const tokens = [first]
    return {
      getAccessToken: () => tokens.shift() ?? second,
      onInvalidToken: () => Promise.reject(new Error(`cannot forget ${quoting}`)),
    }
  }

  const body = { error: quoting, error_description: `No access for ${quoting}` }
  const headers = { 'x-request-id': quoting, 'x-echo': quoting }

  test.each<[string, Step]>([
    ['an error response', json(body, 400, headers)],
    ['an error with status 200', json(body, 200, headers)],
    ['an error of fetch', new ReferenceError(quoting, { cause: Object.assign(new Error(quoting), { code: quoting }) })],
    ['a body that breaks', () => new Response(new ReadableStream({ start: (it) => it.error(new Error(quoting)) }))],
    ['an error of onInvalidToken', json({ error: 'invalid_token' }, 401, headers)],
  ])('is redacted like the last one in %s', async (_, step) => {
    jitter(0)
    const events: unknown[] = []
    const hooks = { onAttemptEnd: (event: unknown) => void events.push(event) }
    const fetch = scripted(refusal(503, 'x'), step)
    const error = await rejection(makeClient({ accessToken: rotating(), fetch, hooks, maxRetries: 1 }).me())
    expect(error).toMatchObject({ attempts: [{ status: 503 }, {}] })
    const forms = printedForms([error, events]).join()
    expect(forms).toContain('[redacted]')
    expect([first, second].filter((secret) => forms.includes(secret))).toEqual([])
  })

  test.each(['provider', 'rate limiter'])('is redacted in an error of the %s before a retry', async (part) => {
    jitter(0)
    const fail = thrower(new Error(`no turn for ${part === 'provider' ? first : quoting}`))
    const { getAccessToken } = rotating()
    const accessToken = vi.fn(part === 'provider' ? fail : getAccessToken).mockImplementationOnce(getAccessToken)
    const acquire = vi.fn(fail as () => void).mockReturnValueOnce(undefined)
    const client = makeClient({
      accessToken,
      rateLimiter: { acquire },
      fetch: scripted(refusal(503, 'x')),
    })
    const forms = printedForms(await rejection(client.me())).join()
    expect(forms).toContain('no turn for [redacted]')
    expect([first, second].filter((secret) => forms.includes(secret))).toEqual([])
  })
})

test('the word undefined stays in the error of a list that has no cursor', async () => {
  const error = await rejection(makeClient({ fetch: scripted(refusal(400, 'undefined_field')) }).contacts.list())
  expect(error).toMatchObject({ code: 'undefined_field' })
})

test('an insufficient_scope error has empty lists when neither the scopes nor the operation are known', async () => {
  const error = await rejection(
    makeClient({ fetch: scripted(refusal(403, 'insufficient_scope')) }).request('GET', '/x'),
  )
  expect(error).toMatchObject({ required: [], granted: undefined, missing: [], scopesToRequest: [] })
})

describe('the hint', () => {
  /** Returns the hint of the error after this response, by default of an inferred operation with an id. */
  async function hintOf(step: Step, call: (client: Client) => PromiseLike<unknown> = ({ tasks }) => tasks.get('1')) {
    const error = await rejection(call(makeClient({ fetch: scripted(step), maxRetries: 0 })))
    return (error as RequestError).hint
  }

  test.each([
    '',
    '{"errors":{"detail":"Not Found"}}',
    '{"error":"not_found","error_description":"There is no such task."}',
  ])('of a 404 on an inferred operation says to check the id, and that the path is inferred: %s', async (body) => {
    expect(await hintOf(new Response(body, { status: 404 }))).toMatch(/^Check the id.* is inferred, not documented/)
  })

  test.each([
    [401, 'invalid_token', 'Log in again'],
    [403, 'forbidden', 'lacks the permission'],
    [403, 'insufficient_scope', '"users:read"'],
    [404, 'x', 'Check the id'],
    [405, 'x', 'Check the documentation of the service for this status.'],
    [422, 'validation_failed', 'Check the fields of the body.'],
    [422, 'actor_self_required', 'Log in with actor "self" and use that token.'],
    [429, 'slow_down', 'Call less often, or raise `maxRetries`.'],
    [499, 'x', 'Check the documentation of the service for this status.'],
    [500, 'x', 'Try again later.'],
  ])('of a %i %s on a documented operation says: %s', async (status, code, words) => {
    expect(await hintOf(refusal(status, code), get)).toContain(words)
  })

  const notFound = (status: number) => json({ message: 'Task not found' }, status)
  const call = (client: Client) => client.call(defineOperation({ id: 'x', method: 'GET', path: '/x' }))
  const htmlPage = new Response(' <html>', { status: 502 })
  const missingScope = refusal(403, 'insufficient_scope')
  const get = ({ members }: Client) => members.get('1')
  test.each<[string, Step, string | RegExp, ((client: Client) => PromiseLike<unknown>)?]>([
    ['a 404 on an inferred path without an id', notFound(404), 'is inferred', ({ tasks }) => tasks.list()],
    ['a 404 on a documented path without an id', notFound(404), 'has no such path', (client) => client.me()],
    ['a 405 on an inferred path', notFound(405), 'is inferred'],
    ['a 400 on an inferred path', notFound(400), 'Check the arguments'],
    ['a 403 without a known scope', missingScope, 'ask for the missing scope', (client) => client.request('GET', '/x')],
    ['a Retry-After of 0', json({}, 429, { 'retry-after': '0' }), 'Call less often, or raise `maxRetries`.'],
    ['a Retry-After on a 400', json({}, 400, { 'retry-after': '1' }), 'Check the arguments of the call.'],
    ['a Retry-After of 1', json({}, 429, { 'retry-after': '1' }), 'Try again after 1 second.'],
    ['a 503 with a Retry-After', json({}, 503, { 'retry-after': '90' }), 'Try again after 90 seconds.'],
    ['a 502 with HTML', htmlPage, /^The response is HTML, so a proxy or another server sent it\. Try again later\.$/],
    ['a 502 with text', new Response('Bad gateway', { status: 502 }), /^Try again later\.$/],
    ['another shape than a built-in operation has', json(page([])), 'Make sure that `baseUrl` is', get],
    ['another shape than a custom operation has', json(page([])), 'correct its `envelope`', call],
    ['HTML for a custom operation', new Response('<html>'), 'Make sure that `baseUrl` is the API', call],
  ])('after %s fits it', async (_, step, words, use) => {
    expect(await hintOf(step, use)).toMatch(words)
  })

  test('appears once in the printed error and once in its JSON form', async () => {
    const error = (await rejection(makeClient({ fetch: scripted(refusal(422, 'x')) }).me())) as ApiError
    expect(error.message.endsWith(error.hint)).toBe(true)
    expect(inspect(error).split(error.hint)).toHaveLength(2)
    expect(JSON.stringify(error).split(error.hint)).toHaveLength(2)
  })
  test.each([
    ['a 500', refusal(500, 'x'), '$'],
    ['HTML', new Response('<html>'), ' Make sure that `baseUrl` is the API'],
    ['a response that is cut off', new Response('{"data":'), ' The response may have been cut off'],
    ['a redirect', new Response(null, { status: 303 }), ' Redirects are not followed'],
    ['a broken connection', brokenConnection(), '$'],
    ['a refused connection, with a `fetch` of the caller', refusedConnection(), '$'],
    ['a bug in the `fetch` option', new ReferenceError('x is not defined'), ' Fix that function\\.$'],
    [
      'an expired certificate',
      Object.assign(new Error('x'), { code: 'CERT_HAS_EXPIRED' }),
      ' If this machine does not trust',
    ],
  ])('of a write says to check it, and how to correct the configuration, after %s', async (_, step, words) => {
    const error = await rejection(makeClient({ fetch: scripted(step) }).messages.create('c1', { body_html: 'x' }))
    const hint = `^The write may have been applied\\. Check before retrying it\\.${words}`
    expect(error).toMatchObject({ outcome: 'unknown', hint: expect.stringMatching(hint) })
  })
})

describe('the code of a refusal', () => {
  test('is the documented one, although the request has the same text', async () => {
    for (const [status, code, name] of [
      [403, 'insufficient_scope', 'InsufficientScopeError'],
      [401, 'invalid_token', 'AuthenticationError'],
    ] as const) {
      const client = makeClient({ fetch: async () => refusal(status, code), maxRetries: 0 })
      const error = await rejection(client.messages.create('cnv_1', { body_html: code }))
      expect(error).toMatchObject({ name, code, status })
    }
  })

  test.each<[string, UnderlyingSourcePullCallback<ReadableStreamDefaultController>]>([
    ['is cut off', (controller) => controller.error(new TypeError('terminated'))],
    ['does not end', () => new Promise(() => {})],
  ])('counts although the body %s after it', async (_, pull) => {
    const start = (controller: ReadableStreamDefaultController) =>
      controller.enqueue(new TextEncoder().encode('{"error":"insufficient_scope"}'))
    const body = new ReadableStream({ start, pull }, { highWaterMark: 0 })
    const client = makeClient({ fetch: async () => new Response(body, { status: 403 }), maxRetries: 0, timeout: 5 })
    expect(await rejection(client.me())).toMatchObject({ name: 'InsufficientScopeError' })
  })

  test('is known although the request is deep, or a custom fetch has odd headers', async () => {
    let deep: object = {}
    for (let level = 0; level < 4_000; level += 1) deep = { deep }
    const client = makeClient({ fetch: async () => refusal(422, 'other'), maxRetries: 0 })
    const body = { body: deep } as never
    expect(await rejection(client.request('PATCH', '/api/oauth/v1/x', body))).toMatchObject({ outcome: 'refused' })
    const headers = { get: () => 30, forEach: () => {} }
    const odd = { ok: false, status: 403, headers, text: async () => '{"error":"forbidden"}' }
    const mocked = makeClient({ fetch: async () => odd as never, maxRetries: 0 })
    expect(await rejection(mocked.me())).toMatchObject({ name: 'PermissionDeniedError', code: 'forbidden' })
  })
})
