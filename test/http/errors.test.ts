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
  ServerError,
  UnprocessableError,
} from 'support-workspace-sdk'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
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
  scriptedPlatform,
} from '../helpers/client.ts'
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
    [304, 'odd', ApiError, 'no-effect'],
    [300, 'odd', ApiError, 'no-effect'],
  ] as const
  const titled = classes.map((row) => [row[2].name, ...row] as const)

  test.each(titled)('has the class %s for %i %s', async (_, status, code, ErrorClass, outcome) => {
    const response = status === 304 ? new Response(null, { status }) : refusal(status, code)
    const error = await failure(response)
    expect(error).toBeInstanceOf(ErrorClass)
    expect((error as Error).constructor).toBe(ErrorClass)
    expect(error).toMatchObject({ status, outcome, operation: 'me', ...(status !== 304 && { code }) })
  })

  test.each(['constructor', 'toString', '__proto__'])(
    'has the class of its status when the code is %s',
    async (code) => {
      expect(await failure(new Response(`{"error":"${code}"}`, { status: 404 }))).toMatchObject({
        name: 'NotFoundError',
        code,
      })
    },
  )

  test('has no retryAfter if the response has none', async () => {
    expect(await failure(refusal(429, 'slow_down'))).toMatchObject({ retryAfter: undefined })
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

  test.each(['t', 'token', 'scope'])(
    'keeps its code when a short test token is part of it: %s',
    async (accessToken) => {
      expect(await failure(refusal(401, 'invalid_token'), { accessToken })).toMatchObject({ code: 'invalid_token' })
      const error = await failure(refusal(403, 'insufficient_scope'), { accessToken })
      expect(error).toBeInstanceOf(InsufficientScopeError)
    },
  )

  test.each([
    ['with a message only', '{"message":"no"}'],
    ['with another error code', '{"error":"unauthorized"}'],
  ])('prefers the code of the challenge to a body %s', async (_, body) => {
    const headers = { 'www-authenticate': 'Bearer realm="api", error="invalid_token"' }
    const onInvalidToken = vi.fn()
    const accessToken = { getAccessToken: () => 'swot_abcdefgh', onInvalidToken }
    const fetch = scripted(new Response(body, { status: 401, headers }))
    const error = await rejection(makeClient({ fetch, accessToken }).me())
    expect(error).toMatchObject({ code: 'invalid_token' })
    expect(onInvalidToken).toHaveBeenCalledTimes(1)
    expect((error as ApiError).response?.headers.get('www-authenticate')).toBe(headers['www-authenticate'])
  })

  test.each([
    ['', 'Bearer realm="api", error="invalid_token"', 'invalid_token'],
    ['', 'Bearer error=some_code, scope="x"', 'some_code'],
    ['', 'Bearer error_description="An error.", ERROR = "some_code"', 'some_code'],
    ['', 'Bearer error  =  some_code', 'some_code'],
    ['', 'Bearer error="some_code other"', 'some_code'],
    ['', 'Bearer my_error="some_code"', undefined],
    ['', 'Bearer error=""', undefined],
    ['{"type":"about:blank"}', 'Bearer error="some_code"', 'some_code'],
    ['{"error":"body_code"}', 'Bearer error="some_code"', 'body_code'],
  ])('with the body %j and the challenge %s has the code %s', async (body, challenge, code) => {
    const headers = { 'www-authenticate': challenge }
    expect(await failure(new Response(body, { status: 400, headers }))).toMatchObject({ code })
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

  test('omits a code and a description that the response lacks from its message', async () => {
    expect(String(await failure(new Response('', { status: 400 })))).toBe(
      'BadRequestError: me failed with 400. Check the arguments of the call.',
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
    const headers = {
      'x-request-id': 'r1',
      'x-set-cookie': 'off',
      'content-security-policy': policy,
      'set-cookie': 'session=1',
    }
    const error = (await failure(refusal(404, 'not_found', headers))) as ApiError
    expect(error.requestId).toBe('r1')
    expect(error.response?.headers.get('content-security-policy')).toBe(policy)
    expect(error.response?.headers.get('x-set-cookie')).toBe('off')
    expect(error.response?.headers.has('set-cookie')).toBe(false)
  })
})

describe('a token without the prefix of the service', () => {
  const opaque = 'Opaque-Token-9rT4vB2nK6'
  const accessToken = {
    getAccessToken: () => opaque,
    onInvalidToken: () => Promise.reject(new Error(`cannot forget ${opaque}`)),
  }

  test.each<[string, Step]>([
    ['the description of an error', json({ error: 'x', error_description: `No access for ${opaque}` }, 400)],
    ['the code of an error with status 200', json({ error: opaque })],
    ['an error of fetch', new Error(`cannot send ${opaque}`)],
    ['an error of onInvalidToken', refusal(401, 'invalid_token')],
  ])('is redacted in %s', async (_, step) => {
    const error = await rejection(makeClient({ accessToken, fetch: scripted(step), maxRetries: 0 }).me())
    expect(inspect(error)).toContain('[redacted]')
    expect(inspect(error)).not.toContain(opaque)
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
    vi.spyOn(Math, 'random').mockReturnValue(0)
    onTestFinished(() => void vi.restoreAllMocks())
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
    vi.spyOn(Math, 'random').mockReturnValue(0)
    onTestFinished(() => void vi.restoreAllMocks())
    const accessToken = rotating()
    let turns = 0
    const fail = () => {
      throw new Error(`no turn for ${part === 'provider' ? first : quoting}`)
    }
    const client = makeClient({
      accessToken: () => (part === 'provider' && turns === 1 ? fail() : accessToken.getAccessToken()),
      rateLimiter: {
        acquire: () => {
          turns += 1
          if (turns === 2) fail()
        },
        penalize() {},
      },
      fetch: scripted(refusal(503, 'x')),
    })
    const forms = printedForms(await rejection(client.me())).join()
    expect(forms).toContain('no turn for [redacted]')
    expect([first, second].filter((secret) => forms.includes(secret))).toEqual([])
  })
})

describe('an insufficient_scope error', () => {
  test('lists the required, granted and missing scopes and the scopes to request', async () => {
    const fetch = scripted(refusal(403, 'insufficient_scope'))
    const error = await rejection(
      makeClient({ fetch, scopes: ['contacts:read', 'users:read'] }).messages.create('c1', { body_html: 'x' }),
    )
    expect(error).toMatchObject({
      required: ['messages:write'],
      granted: ['contacts:read', 'users:read'],
      missing: ['messages:write'],
      scopesToRequest: ['contacts:read', 'users:read', 'messages:write'],
      hint: expect.stringContaining('"messages:write"'),
    })
  })

  test('has empty lists when neither the scopes nor the operation are known', async () => {
    const fetch = scripted(refusal(403, 'insufficient_scope'))
    const error = await rejection(makeClient({ fetch }).request('GET', '/x'))
    expect(error).toMatchObject({ required: [], granted: undefined, missing: [], scopesToRequest: [] })
  })
})

describe('an actor_self_required error', () => {
  test('comes from a client with actor `app` before it sends a request', async () => {
    const fetch = scripted(json({ data: { id: '1' } }))
    const app = makeClient({ fetch, actor: 'app' })
    const error = await rejection(
      (app as never as ReturnType<typeof makeClient>).messages.create('c1', { body_html: 'x' }),
    )
    expect(error).toBeInstanceOf(ActorSelfRequiredError)
    expect(error).toMatchObject({ outcome: 'not-sent', response: undefined, attempts: [] })
    expect(fetch.requests).toHaveLength(0)
  })

  test('comes from the service when the actor is unknown', async () => {
    const fetch = scripted(refusal(422, 'actor_self_required'))
    const client = makeClient({ fetch, actor: undefined })
    expect(await rejection(client.messages.create('c1', { body_html: 'x' }))).toMatchObject({
      name: 'ActorSelfRequiredError',
      outcome: 'refused',
      status: 422,
    })
  })
})

describe('the hint', () => {
  test.each([
    ['no body', ''],
    ['only a code', '{"error":"not_found"}'],
    ["a router's message", '{"errors":{"detail":"Not Found"}}'],
    ["another router's message", '{"error":"not_found","error_description":"404: Page not found."}'],
    ['a message in quotation marks', '{"message":"- \\"404 was not found!\\" -"}'],
    ['a message about the route', '{"message":"(route: not found)"}'],
    ['a message about the path', '{"message":"Path - was not found"}'],
    ['a message about the resource', '{"message":"resource not found"}'],
    ['a message about the URL', '{"message":"URL not found"}'],
  ])('of a 404 with %s on an inferred operation says that the path is inferred', async (_, body) => {
    const error = await rejection(makeClient({ fetch: scripted(new Response(body, { status: 404 })) }).tasks.get('1'))
    expect((error as ApiError).hint).toContain('is inferred')
  })

  test.each([
    '{"error":"not_found","error_description":"There is no such conversation."}',
    '{"error":{"message":"Conversation not found"}}',
    '{"error":{"message":"404 conversation not found"}}',
    '{"error":{"message":"Not found: conversation 5"}}',
    '{"error":{"message":"The homepage not found"}}',
  ])('of a 404 that names the missing resource says to check the id instead: %s', async (body) => {
    const error = await rejection(makeClient({ fetch: scripted(new Response(body, { status: 404 })) }).tasks.get('1'))
    expect((error as ApiError).hint).toContain('Check the id')
    expect((error as ApiError).hint).not.toContain('defineOperation')
  })

  test('appears once in the printed error and once in its JSON form', async () => {
    const error = (await rejection(makeClient({ fetch: scripted(refusal(422, 'x')) }).me())) as ApiError
    expect(error.message.endsWith(error.hint)).toBe(true)
    expect(inspect(error).split(error.hint)).toHaveLength(2)
    expect(JSON.stringify(error).split(error.hint)).toHaveLength(2)
  })

  test('of a 404 on a documented operation says to check the id', async () => {
    const error = await rejection(makeClient({ fetch: scripted(refusal(404, 'x')) }).members.get('1'))
    expect((error as ApiError).hint).toContain('Check the id')
  })

  test.each([
    [401, 'invalid_token', 'Log in again'],
    [403, 'forbidden', 'lacks the permission'],
    [405, 'x', 'Check the documentation of the service for this status.'],
    [422, 'validation_failed', 'Check the fields of the body.'],
    [422, 'actor_self_required', 'Log in with actor "self" and use that token.'],
    [429, 'slow_down', 'Call less often, or raise `maxRetries`.'],
    [499, 'x', 'Check the documentation of the service for this status.'],
    [500, 'x', 'Try again later.'],
  ])('of a %i %s on a documented operation says: %s', async (status, code, words) => {
    expect(await failure(refusal(status, code))).toMatchObject({ hint: expect.stringContaining(words) })
  })

  test.each([
    ['a Retry-After of 0', json({}, 429, { 'retry-after': '0' }), 'Call less often, or raise `maxRetries`.'],
    ['a Retry-After of 1', json({}, 429, { 'retry-after': '1' }), 'Try again after 1 second.'],
    ['a Retry-After of 90', json({}, 429, { 'retry-after': '90' }), 'Try again after 90 seconds.'],
    [
      'HTML',
      new Response(' <html>', { status: 502 }),
      'The response is HTML, so a proxy or another server sent it. Try again later.',
    ],
    ['text', new Response('Bad gateway', { status: 502 }), 'Try again later.'],
  ])('of %s says: %s', async (_, response, hint) => {
    expect(await failure(response)).toMatchObject({ hint })
  })

  test.each([
    [404, 'a path without an id', 'is inferred', (client: Client) => client.tasks.list()],
    [405, 'any path', 'is inferred', (client: Client) => client.tasks.get('1')],
    [400, 'any path', 'Check the arguments', (client: Client) => client.tasks.get('1')],
  ])('of a %i on an inferred operation with %s says: %s', async (status, _, words, call) => {
    const client = makeClient({ fetch: scripted(json({ message: 'Task not found' }, status)) })
    expect(await rejection(call(client))).toMatchObject({ hint: expect.stringContaining(words) })
  })

  test('of a 403 asks for the scope of the operation, if it is known', async () => {
    const client = makeClient({ fetch: scripted(refusal(403, 'insufficient_scope')) })
    expect(await rejection(client.contacts.list())).toMatchObject({ hint: expect.stringContaining('"contacts:read"') })
    expect(await rejection(client.request('GET', '/x'))).toMatchObject({
      hint: expect.stringContaining('ask for the missing scope'),
    })
  })

  test.each<[string, string, Step]>([
    [
      'a page instead of JSON',
      'me received an unusable response (200): the body is not JSON but HTML. Make sure that `baseUrl` is the API, and that no proxy or login page responds instead.',
      new Response('<html>'),
    ],
    [
      'half of the JSON',
      'me received an unusable response (200): the body is not JSON. The response may have been cut off. Try again.',
      new Response('{"data":'),
    ],
    [
      'a connection that broke',
      'me received no response: socket 1.2 closed. Check the network, then try again.',
      new Error('socket 1.2 closed.'),
    ],
    [
      'a body that is cut off',
      'me failed because the response was cut off: closed. Check the network, then try again.',
      () => new Response(new ReadableStream({ start: (body) => body.error(new Error('closed')) })),
    ],
    [
      'a bug in the `fetch` option',
      'me failed in the `fetch` option: x is not defined. Fix that function.',
      new ReferenceError('x is not defined'),
    ],
  ])('of a read follows the cause after %s', async (_, message, step) => {
    const error = await rejection(makeClient({ fetch: scripted(step), maxRetries: 0 }).me())
    expect(error).toMatchObject({ message })
  })

  test('of a call that could not connect says that nothing was sent', async () => {
    scriptedPlatform(refusedConnection())
    const error = await rejection(makeClient({ maxRetries: 0 }).messages.create('c1', { body_html: 'x' }))
    expect(error).toMatchObject({
      hint: 'Nothing was sent. Check the network, any proxy and `baseUrl`, then try again.',
    })
  })

  test('of a read whose retry has no token says to check the token provider', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    onTestFinished(() => void vi.restoreAllMocks())
    const tokens = ['swot_1']
    const accessToken = () => tokens.pop() ?? Promise.reject(new Error('vault 1.2 is locked.'))
    const error = await rejection(makeClient({ accessToken, fetch: scripted(brokenConnection()) }).me())
    expect(error).toMatchObject({
      message:
        'me failed and could not be retried, because there was no access token: vault 1.2 is locked. Check the token provider, then try again.',
    })
  })

  test('of a response that does not fit a built-in operation says to check the base URL', async () => {
    const error = await rejection(makeClient({ fetch: scripted(json(page([]))) }).members.get('1'))
    expect(error).toMatchObject({ hint: expect.stringContaining('Make sure that `baseUrl` is the API.') })
  })

  test('of a response that is not JSON is about the base URL, even for a custom operation', async () => {
    const operation = defineOperation({ id: 'x', method: 'GET', path: '/x' })
    const error = await rejection(
      makeClient({ fetch: scripted(new Response('<html>')), maxRetries: 0 }).call(operation),
    )
    expect(error).toMatchObject({ hint: expect.stringContaining('Make sure that `baseUrl` is the API') })
  })

  test.each([
    ['a 500', refusal(500, 'x')],
    ['a response that is not JSON', new Response('<html>')],
    ['a redirect', new Response(null, { status: 303, headers: { location: '/x' } })],
    ['a broken connection', new TypeError('fetch failed')],
  ])('of a write says that it may have been applied after %s', async (_, step) => {
    const error = await rejection(makeClient({ fetch: scripted(step) }).messages.create('c1', { body_html: 'x' }))
    expect(error).toMatchObject({ outcome: 'unknown', hint: expect.stringContaining('may have been applied') })
  })
})

describe('a custom operation', () => {
  test('rejects with the same errors as a built-in one', async () => {
    const operation = defineOperation({ id: 'tags.get', method: 'GET', path: '/tags/{id}', scope: 'tags:read' })
    const client = makeClient({ fetch: scripted(refusal(403, 'insufficient_scope')) })
    const error = await rejection(client.call(operation, { path: { id: '1' } }))
    expect(error).toMatchObject({ name: 'InsufficientScopeError', operation: 'tags.get', required: ['tags:read'] })
  })
})
