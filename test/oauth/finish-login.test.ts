import type { ServerResponse } from 'node:http'
import type { WebFetch } from 'support-workspace-sdk'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { NetworkError, serializeTransaction, TimeoutError } from '../../src/oauth.ts'
import { refusedConnection, rejection, stubPlatformFetch } from '../helpers/client.ts'
import { settled } from '../helpers/settled.ts'
import { callbackOf, clientSecret, code, loginError, makeApp, redirectUri, scope } from './helpers/login.ts'
import {
  accessToken,
  goodResponse,
  jsonResponse,
  startTokenEndpoint,
  type TokenEndpoint,
} from './helpers/token-endpoint.ts'

let endpoint: TokenEndpoint
beforeAll(async () => {
  endpoint = await startTokenEndpoint()
})
afterAll(() => endpoint.close())
beforeEach(() => {
  endpoint.requests.length = 0
  endpoint.respond = goodResponse
})

async function finish(options: Parameters<typeof makeApp>[1] = {}, signal?: AbortSignal) {
  const app = makeApp(endpoint.url, options)
  const login = await app.startLogin({ scope })
  return await app.finishLogin(callbackOf(login), login.transaction, { signal })
}

describe('a successful login', () => {
  test('returns the access token with its type and scopes as sent', async () => {
    const token = await finish()
    expect(token.accessToken).toBe(accessToken)
    expect(token.tokenType).toBe('Bearer')
    expect(token.scope).toBe('conversations:read messages:write')
    expect(token.scopes).toEqual(['conversations:read', 'messages:write'])
    expect(token.requestedScopes).toEqual(scope)
    expect(token.missingScopes).toEqual([])
  })

  test('names the service and the app of the token', async () => {
    const app = makeApp(`${endpoint.url}/support/`)
    const login = await app.startLogin({ scope })
    const token = await app.finishLogin(callbackOf(login), login.transaction)
    const expected = { baseUrl: `${endpoint.url}/support`, clientId: 'app_abc123' }
    expect(token).toMatchObject(expected)
    expect(JSON.parse(JSON.stringify(token))).toMatchObject(expected)
  })

  test('names the requested scopes that were not granted', async () => {
    endpoint.respond = jsonResponse({ access_token: accessToken, token_type: 'Bearer', scope: 'conversations:read' })
    const token = await finish()
    expect(token.scopes).toEqual(['conversations:read'])
    expect(token.missingScopes).toEqual(['messages:write'])
  })

  test('sends the form of the specification with the secret and no Authorization header', async () => {
    const app = makeApp(endpoint.url)
    const login = await app.startLogin({ scope })
    const { codeVerifier } = JSON.parse(serializeTransaction(login.transaction))
    await app.finishLogin(callbackOf(login), login.transaction)
    expect(endpoint.requests).toHaveLength(1)
    const [request] = endpoint.requests
    expect(request?.method).toBe('POST')
    expect(request?.path).toBe('/api/oauth/token')
    expect(request?.headers['content-type']).toMatch(/^application\/x-www-form-urlencoded/)
    expect(request?.headers.accept).toBe('application/json')
    expect(request?.headers.authorization).toBeUndefined()
    expect(Object.fromEntries(request?.form ?? [])).toEqual({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      client_id: 'app_abc123',
      client_secret: clientSecret,
      code_verifier: codeVerifier,
    })
  })

  test('sends the secret form-encoded with HTTP Basic, and not in the form', async () => {
    await finish({ clientAuthentication: 'client_secret_basic' })
    const [request] = endpoint.requests
    const [scheme, credentials] = (request?.headers.authorization ?? '').split(' ')
    expect(scheme).toBe('Basic')
    const [id, secret] = Buffer.from(credentials ?? '', 'base64')
      .toString()
      .split(':')
    // Unchanged, so that a service that does not decode it sees the same client id.
    expect(id).toBe('app_abc123')
    expect(new URLSearchParams(`secret=${secret}`).get('secret')).toBe(clientSecret)
    expect(request?.form.has('client_secret')).toBe(false)
    expect(request?.form.has('client_id')).toBe(false)
  })

  test('keeps the path prefix of the base URL', async () => {
    const app = makeApp(`${endpoint.url}/support/`)
    const login = await app.startLogin({ scope })
    await app.finishLogin(callbackOf(login), login.transaction)
    expect(endpoint.requests[0]?.path).toBe('/support/api/oauth/token')
  })

  test('accepts the callback as a string, a path, a URL and a Request', async () => {
    const app = makeApp(endpoint.url)
    const shapes = [
      (url: string) => url,
      (url: string) => url.slice('https://app.example'.length),
      (url: string) => new URL(url),
      (url: string) => new Request(url),
      // As seen by a server behind a proxy that terminates TLS.
      (url: string) => new Request(url.replace('https://app.example', 'http://10.0.0.7:8080')),
    ]
    for (const shape of shapes) {
      const login = await app.startLogin({ scope })
      const token = await app.finishLogin(shape(callbackOf(login)), login.transaction)
      expect(token.accessToken).toBe(accessToken)
    }
  })

  test('calls a custom fetch unbound, with a URL and plain data', async () => {
    const seen: string[] = []
    const token = await finish({
      fetch(this: unknown, url, init) {
        expect(this).toBeUndefined()
        seen.push(`${init.method} ${new URL(url).pathname}`)
        return fetch(url, init)
      },
    })
    expect(token.accessToken).toBe(accessToken)
    expect(seen).toEqual(['POST /api/oauth/token'])
  })
})

describe('accepts an unusual token response with', () => {
  test.each([
    ['null for optional fields', { expires_in: null, refresh_token: null, id_token: null }, 200],
    [
      'unexpected types of undocumented fields',
      { expires_in: 'soon', refresh_token: 7, id_token: 'no.jwt', extra: {} },
      200,
    ],
    ['status 201', {}, 201],
  ])('%s', async (_title, fields, status) => {
    endpoint.respond = jsonResponse(
      { access_token: accessToken, token_type: 'Bearer', scope: 'a:read', ...fields },
      status,
    )
    expect((await finish()).accessToken).toBe(accessToken)
  })

  test.each(['bearer', 'BEARER', 'Bearer'])('the token type %s, returned as sent', async (type) => {
    endpoint.respond = jsonResponse({ access_token: accessToken, token_type: type, scope: 'conversations:read' })
    expect((await finish()).tokenType).toBe(type)
  })

  test.each([
    ['absent', {}],
    ['null', { scope: null }],
  ])('a scope that is %s, meaning that all scopes were granted', async (_title, fields) => {
    endpoint.respond = jsonResponse({ access_token: accessToken, token_type: 'Bearer', ...fields })
    const token = await finish()
    expect(token.scope).toBe(scope.join(' '))
    expect(token.missingScopes).toEqual([])
  })

  test('a scope that is a list', async () => {
    const granted = ['conversations:read', 'contacts:read']
    endpoint.respond = jsonResponse({ access_token: accessToken, token_type: 'Bearer', scope: granted })
    const token = await finish()
    expect(token.scope).toBe('conversations:read contacts:read')
    expect(token.scopes).toEqual(granted)
    expect(token.missingScopes).toEqual(['messages:write'])
  })

  test('a body without a JSON content type', async () => {
    const body = JSON.stringify({ access_token: accessToken, token_type: 'Bearer', scope: 'a:read' })
    endpoint.respond = (response) => response.writeHead(200, { 'content-type': 'text/plain' }).end(body)
    expect((await finish()).accessToken).toBe(accessToken)
  })
})

describe('rejects a token response with', () => {
  const good = { access_token: accessToken, token_type: 'Bearer', scope: 'a:read' }
  test.each([
    ['no access token', { ...good, access_token: undefined }],
    ['an empty access token', { ...good, access_token: '' }],
    ['a number as access token', { ...good, access_token: 7 }],
    ['null as access token', { ...good, access_token: null }],
    ['a line break in the access token', { ...good, access_token: 'swot_a\r\nx-evil: 1' }],
    ['a space in the access token', { ...good, access_token: 'swot_a b' }],
    ['an access token that is not ASCII', { ...good, access_token: 'swot_é' }],
    ['no token type', { ...good, token_type: undefined }],
    ['another token type', { ...good, token_type: 'DPoP' }],
    ['a scope that is a list of numbers', { ...good, scope: [7] }],
    ['a scope that is a list with a number in it', { ...good, scope: ['a:read', 7] }],
    ['a scope that is an object', { ...good, scope: { read: true } }],
    ['an array', [good]],
    ['null', null],
    ['HTML', '<!doctype html><title>Welcome</title>'],
    ['nothing', ''],
    ['truncated JSON', JSON.stringify(good).slice(0, -5)],
  ])('%s', async (_title, body) => {
    endpoint.respond = jsonResponse(body)
    const error = await loginError(finish(), 'exchange_failed')
    expect(error.status).toBe(200)
    expect(endpoint.requests).toHaveLength(1)
  })

  test('a body above the size limit, without reading it completely', async () => {
    endpoint.respond = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const chunk = Buffer.alloc(65_536, 0x20)
      const write = () => {
        while (!response.destroyed && response.write(chunk)) {}
      }
      response.on('drain', write)
      write()
    }
    expect((await loginError(finish(), 'exchange_failed')).message).toContain('1048576 bytes')
  })

  test('a body that is not valid UTF-8', async () => {
    endpoint.respond = (response) => response.writeHead(200).end(Buffer.from([0xff, 0xfe, 0x00]))
    await loginError(finish(), 'exchange_failed')
  })
})

describe('an error of the token endpoint', () => {
  test.each([
    ['the documented shape', { error: 'invalid_grant', error_description: 'Code is expired.' }],
    ['code and message', { code: 'invalid_grant', message: 'Code is expired.' }],
    ['an error object', { error: { code: 'invalid_grant', message: 'Code is expired.' } }],
    ['problem+json', { type: 'invalid_grant', title: 'Code is expired.' }],
  ])('is read from %s, with and without a challenge header', async (_title, body) => {
    for (const headers of [{}, { 'www-authenticate': 'Basic realm="token"' }]) {
      endpoint.respond = jsonResponse(body, 400, headers as Record<string, string>)
      const error = await loginError(finish(), 'invalid_grant')
      expect(error).toMatchObject({ status: 400, code: 'invalid_grant', description: 'Code is expired.' })
      expect(error.message).toContain('Code is expired')
    }
  })

  test.each([
    ['by its code', 400, { error: 'invalid_client' }, {}],
    ['by its status', 401, '', {}],
    ['by its challenge', 403, '', { 'www-authenticate': 'Basic realm="x", error="invalid_client"' }],
  ])('reports a wrong secret %s', async (_title, status, body, headers) => {
    endpoint.respond = jsonResponse(body, status, headers as Record<string, string>)
    const error = await loginError(finish(), 'invalid_client')
    expect(error.status).toBe(status)
    expect(error.hint).toContain('`clientSecret`')
  })

  test.each([
    ['an unknown code', 400, { error: 'unsupported_grant_type' }],
    ['HTML with 502', 502, '<html>Bad gateway</html>'],
    ['JSON with 500', 500, { error: 'server_error' }],
    ['429', 429, { error: 'slow_down' }],
    ['404', 404, ''],
    ['204', 204, ''],
    ['an error under status 200', 200, { error: 'bad_verification_code' }],
  ])('reports exchange_failed for %s, without a retry', async (_title, status, body) => {
    endpoint.respond = jsonResponse(body, status)
    const error = await loginError(finish(), 'exchange_failed')
    expect(error.status).toBe(status)
    expect(endpoint.requests).toHaveLength(1)
  })

  test('reports invalid_grant under status 200', async () => {
    endpoint.respond = jsonResponse({ error: 'invalid_grant' }, 200)
    await loginError(finish(), 'invalid_grant')
  })

  test.each([301, 302, 303, 307, 308])('rejects a %i redirect and sends the secret nowhere else', async (status) => {
    const elsewhere = await startTokenEndpoint()
    endpoint.respond = jsonResponse('', status, { location: `${elsewhere.url}/api/oauth/token` })
    const error = await loginError(finish(), 'exchange_failed')
    expect(error.status).toBe(status)
    expect(elsewhere.requests).toEqual([])
    await elsewhere.close()
  })

  test('closes the body of a redirect unread', async () => {
    const cancel = vi.fn()
    const fetch = async () => new Response(new ReadableStream({ cancel }), { status: 307 })
    await loginError(finish({ fetch }), 'exchange_failed')
    expect(cancel).toHaveBeenCalledOnce()
  })

  test('rejects a redirect that a custom fetch followed', async () => {
    endpoint.respond = (response, request) =>
      request.path.endsWith('/moved')
        ? goodResponse(response, request)
        : jsonResponse('', 307, { location: '/moved' })(response, request)
    const following: WebFetch = (url, init) => fetch(url, { ...init, redirect: 'follow' })
    await loginError(finish({ fetch: following }), 'exchange_failed')
  })
})

describe('a failed code exchange', () => {
  test('has the outcome not-sent if the connection never opened', async () => {
    const closed = await startTokenEndpoint()
    await closed.close()
    const app = makeApp(closed.url)
    const login = await app.startLogin({ scope })
    const error = await rejection(app.finishLogin(callbackOf(login), login.transaction))
    expect(error).toBeInstanceOf(NetworkError)
    expect(error).toMatchObject({
      operation: 'oauth.token',
      outcome: 'not-sent',
      attempts: [{ error: 'NetworkError' }],
    })
  })

  test('is to be fixed if `fetch` blocks the port, because another login would fail in the same way', async () => {
    const app = makeApp('http://127.0.0.1:6000')
    const login = await app.startLogin({ scope })
    expect(await rejection(app.finishLogin(callbackOf(login), login.transaction))).toMatchObject({
      outcome: 'not-sent',
      remedy: 'fix',
      hint: 'Nothing was sent. `fetch` blocks this port. Use another one in `baseUrl`.',
    })
  })

  test('says what to fix if a custom fetch does not trust the certificate, although the code may have been sent', async () => {
    const untrusted = Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
    const error = await rejection(finish({ fetch: () => Promise.reject(untrusted) }))
    expect(error).toMatchObject({ outcome: 'unknown', remedy: 'fix' })
    expect((error as NetworkError).hint).toMatch(/^The authorization code may have been used: .*`NODE_EXTRA_CA_CERTS`/)
  })

  test('has an unknown outcome if the body cannot be read, even after a connection error', async () => {
    const body = new ReadableStream({ start: (controller) => controller.error(refusedConnection()) })
    stubPlatformFetch(async () => new Response(body))
    expect(await rejection(finish())).toMatchObject({ name: 'NetworkError', outcome: 'unknown' })
  })

  test('has the outcome unknown if a custom fetch throws the same error', async () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' })
    const retrying: WebFetch = async (url, init) => {
      await fetch(url, init)
      throw new TypeError('fetch failed', { cause: refused })
    }
    expect(await rejection(finish({ fetch: retrying }))).toMatchObject({ name: 'NetworkError', outcome: 'unknown' })
    expect(endpoint.requests).toHaveLength(1)
  })

  test.each([
    ['before the response', (response: ServerResponse) => response.destroy()],
    [
      'during the body',
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-length': '500' })
        response.write('{"access_token":"', () => response.destroy())
      },
    ],
  ])('has the outcome unknown if the connection breaks %s, and is not retried', async (_title, respond) => {
    endpoint.respond = respond
    const error = await rejection(finish())
    expect(error).toBeInstanceOf(NetworkError)
    expect((error as NetworkError).outcome).toBe('unknown')
    expect(endpoint.requests).toHaveLength(1)
  })

  describe('with a fake clock', () => {
    beforeEach(() => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
    })
    afterEach(() => {
      vi.useRealTimers()
    })

    /** Resolves when the endpoint has received the request, and rejects when the login ends before that. */
    async function whenRequested(login: Promise<unknown>, respond: (response: ServerResponse) => void = () => {}) {
      const { promise: asked, resolve } = Promise.withResolvers<void>()
      endpoint.respond = (response) => {
        respond(response)
        resolve()
      }
      const ended = login.then((error) => {
        throw new Error('The login ended before the endpoint received a request.', { cause: error })
      })
      await Promise.race([asked, ended])
    }

    test('rejects with a TimeoutError if there is no response in time', async () => {
      vi.advanceTimersByTime(1_000)
      const startedAt = Date.now()
      let ended = false
      const outcome = rejection(finish({ timeout: 5_000 })).finally(() => {
        ended = true
      })
      await whenRequested(outcome)
      await vi.advanceTimersByTimeAsync(4_999)
      expect(ended).toBe(false)
      await vi.advanceTimersByTimeAsync(1)
      const error = await settled(outcome)
      expect(error).toBeInstanceOf(TimeoutError)
      expect(error).toMatchObject({ operation: 'oauth.token', outcome: 'unknown', timeout: 5_000, limit: 'attempt' })
      expect((error as TimeoutError).attempts).toEqual([{ startedAt, duration: 5_000, error: 'TimeoutError' }])
    })

    test('times out after 30 seconds by default, including the body', async () => {
      const outcome = rejection(finish())
      await whenRequested(outcome, (response) => response.writeHead(200).write('{'))
      await vi.advanceTimersByTimeAsync(30_000)
      expect(await settled(outcome)).toMatchObject({ name: 'TimeoutError', timeout: 30_000 })
    })

    test('times out for a custom fetch that ignores its signal', async () => {
      const { promise: asked, resolve } = Promise.withResolvers<void>()
      const fetch = () => {
        resolve()
        return new Promise<never>(() => {})
      }
      const outcome = rejection(finish({ timeout: 10, fetch }))
      await Promise.race([asked, outcome])
      await vi.advanceTimersByTimeAsync(10)
      expect(await settled(outcome)).toBeInstanceOf(TimeoutError)
    })

    test('closes the body of a response that comes after the time is over', async () => {
      const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
      const { promise: late, resolve: respond } = Promise.withResolvers<Response>()
      const fetch = () => {
        ask()
        return late
      }
      const outcome = rejection(finish({ timeout: 10, fetch }))
      await Promise.race([asked, outcome])
      await vi.advanceTimersByTimeAsync(10)
      expect(await settled(outcome)).toBeInstanceOf(TimeoutError)
      const cancel = vi.fn()
      respond(new Response(new ReadableStream({ cancel })))
      await vi.waitFor(() => expect(cancel).toHaveBeenCalledOnce())
    })

    test('rejects with the abort reason of the caller', async () => {
      const controller = new AbortController()
      const outcome = rejection(finish({}, controller.signal))
      await whenRequested(outcome)
      const reason = new Error('the user closed the tab')
      controller.abort(reason)
      expect(await settled(outcome)).toBe(reason)
    })
  })

  test.each(['cause', 'name', 'code', 'message'])(
    'rejects with a NetworkError if the %s of an error cannot be read',
    async (property) => {
      const error = Object.defineProperty(new TypeError('broken'), property, {
        get() {
          throw new Error('unreadable')
        },
      })
      const fetch = () => Promise.reject(error)
      expect(await rejection(finish({ fetch }))).toMatchObject({ name: 'NetworkError', outcome: 'unknown' })
      stubPlatformFetch(fetch)
      expect(await rejection(finish())).toMatchObject({ name: 'NetworkError', outcome: 'unknown' })
    },
  )

  test('reports whole milliseconds', async () => {
    let now = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
      now += 0.3
      return now
    })
    onTestFinished(() => clock.mockRestore())
    const error = await rejection(finish({ fetch: () => Promise.reject(new Error('broken')) }))
    expect((error as NetworkError).attempts.map(({ duration }) => Number.isInteger(duration))).toEqual([true])
  })

  test('clears the timer after the response', async () => {
    const started = vi.spyOn(globalThis, 'setTimeout')
    const stopped = vi.spyOn(globalThis, 'clearTimeout')
    await finish({ timeout: 12_345 })
    const index = started.mock.calls.findIndex(([, delay]) => delay === 12_345)
    expect(index).toBeGreaterThanOrEqual(0)
    expect(stopped.mock.calls.flat()).toContain(started.mock.results[index]?.value)
    vi.restoreAllMocks()
  })

  test('sends nothing if aborted before the start, and keeps the transaction usable', async () => {
    const app = makeApp(endpoint.url)
    const login = await app.startLogin({ scope })
    const reason = new Error('not now')
    const signal = AbortSignal.abort(reason)
    expect(await rejection(app.finishLogin(callbackOf(login), login.transaction, { signal }))).toBe(reason)
    expect(endpoint.requests).toEqual([])
    await app.finishLogin(callbackOf(login), login.transaction)
  })

  test('accepts a signal of another implementation, without throwIfAborted()', async () => {
    const signal = { aborted: false, reason: undefined, addEventListener() {}, removeEventListener() {} }
    expect((await finish({}, signal as never)).accessToken).toMatch(/^swot_/)
    const reason = new Error('enough')
    expect(await rejection(finish({}, { ...signal, aborted: true, reason } as never))).toBe(reason)
  })

  test('leaves no listeners on a long-lived signal', async () => {
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    for (let round = 0; round < 20; round++) await finish({}, signal)
    expect(added).toHaveBeenCalledTimes(20)
    expect(removed).toHaveBeenCalledTimes(20)
  })
})

test.each<[string, unknown]>([
  ['options', null],
  ['options', 'x'],
  ['Signal', { Signal: AbortSignal.abort() }],
  ['signal', { signal: new AbortController() }],
  ['signal', { signal: {} }],
])('finishLogin and exchangeCode reject the option %s before sending the code', async (argument, options) => {
  const app = makeApp(endpoint.url)
  const login = await app.startLogin({ scope })
  const expected = { name: 'InvalidArgumentError', argument }
  const finishing = app.finishLogin(callbackOf(login), login.transaction, options as never)
  await expect(finishing).rejects.toMatchObject(expected)
  const grant = { code, codeVerifier: 'v'.repeat(43), redirectUri }
  await expect(app.exchangeCode(grant, options as never)).rejects.toMatchObject(expected)
  expect(endpoint.requests).toEqual([])
})

describe('a fetch option that breaks its contract', () => {
  const broken: [string, () => Promise<unknown>, string][] = [
    ['returns nothing', async () => undefined, 'the `fetch` option returned no Response'],
    ['returns plain headers', async () => ({ status: 200, headers: {} }), 'the `fetch` option returned no Response'],
    [
      'has read the body',
      async () => {
        const response = Response.json({})
        await response.text()
        return response
      },
      'the `fetch` option has already read the body',
    ],
  ]
  test.each(broken)('and %s is named as the cause', async (_title, fetch, message) => {
    const error = (await rejection(finish({ fetch: fetch as WebFetch }))) as NetworkError
    expect(error).toBeInstanceOf(NetworkError)
    expect(error.message).toContain(`The code exchange failed: ${message}`)
  })

  test('cannot put a secret into the attempts by its name', async () => {
    for (const name of [{ value: clientSecret }, { get: () => assertNever() }]) {
      const fetch = async () => {
        throw Object.defineProperty(new Error('no route to 10.0.0.1.'), 'name', name)
      }
      const error = (await rejection(finish({ fetch }))) as NetworkError
      expect(error).toBeInstanceOf(NetworkError)
      expect(error.message).toContain('The connection to the token endpoint failed: no route to 10.0.0.1.')
      expect(error.attempts).toMatchObject([{ error: 'NetworkError' }])
      expect(JSON.stringify(error)).not.toContain(clientSecret)
    }
  })
})

function assertNever(): never {
  throw new Error('this getter throws')
}

test('exchangeCode does not grant the scopes that the browser sent', async () => {
  endpoint.respond = jsonResponse({ access_token: accessToken, token_type: 'Bearer' })
  const grant = { code, codeVerifier: 'v'.repeat(43), redirectUri, scope: 'messages:write' }
  const token = await makeApp(endpoint.url).exchangeCode(grant)
  expect(token).toMatchObject({ scope: '', scopes: [], requestedScopes: ['messages:write'] })
})
