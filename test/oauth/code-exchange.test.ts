import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type ClientAuthentication,
  type LoginErrorReason,
  NetworkError,
  type OAuthAppOptions,
  type Remedy,
  serializeTransaction,
  TimeoutError,
} from '../../src/oauth/index.ts'
import { refusedConnection, rejection, stubPlatformFetch } from '../helpers/client.ts'
import { failingCallbacks } from '../helpers/failing-callbacks.ts'
import { settled } from '../helpers/settled.ts'
import { callbackOf, clientSecret, code, loginError, redirectUri, scope, startLogin } from './helpers/login.ts'
import { accessToken, jsonResponse, startTokenEndpoint, useTokenEndpoint } from './helpers/token-endpoint.ts'

const endpoint = await useTokenEndpoint()

async function finish(options: Partial<OAuthAppOptions> = {}, signal?: AbortSignal) {
  const login = await startLogin(endpoint.url, options)
  return await login.finish(undefined, { signal })
}

describe('a login', () => {
  test('returns the access token with its type and scopes as sent, the service and the app', async () => {
    const { finish } = await startLogin(`${endpoint.url}/support/`)
    const token = await finish()
    expect(token.accessToken).toBe(accessToken)
    const expected = {
      baseUrl: `${endpoint.url}/support`,
      clientId: 'app_abc123',
      tokenType: 'Bearer',
      scope: 'conversations:read messages:write',
      scopes: scope,
      requestedScopes: scope,
      missingScopes: [],
    }
    expect(token).toMatchObject(expected)
    expect(JSON.parse(JSON.stringify(token))).toMatchObject(expected)
    expect(endpoint.requests[0]?.path).toBe('/support/api/oauth/token')
  })

  const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri }
  const posted = { client_id: 'app_abc123', client_secret: clientSecret }
  // The id is unchanged, so that a service that does not decode it sees the same one.
  const basic = `Basic ${btoa(`app_abc123:${new URLSearchParams([['', clientSecret]]).toString().slice(1)}`)}`
  test.each<[ClientAuthentication, object, string | undefined]>([
    ['client_secret_post', posted, undefined],
    ['client_secret_basic', {}, basic],
  ])('sends the form of the specification with %s', async (clientAuthentication, credentials, authorization) => {
    const { login, finish } = await startLogin(endpoint.url, { clientAuthentication })
    const { codeVerifier } = JSON.parse(serializeTransaction(login.transaction))
    await finish()
    expect(endpoint.requests).toHaveLength(1)
    const [request] = endpoint.requests
    expect([request?.method, request?.path]).toEqual(['POST', '/api/oauth/token'])
    expect(request?.headers['content-type']).toMatch(/^application\/x-www-form-urlencoded/)
    expect(request?.headers).toMatchObject({ accept: 'application/json', ...(authorization && { authorization }) })
    expect('authorization' in (request?.headers ?? {})).toBe(authorization !== undefined)
    expect(Object.fromEntries(request?.form ?? [])).toEqual({ ...form, code_verifier: codeVerifier, ...credentials })
  })

  test.each<[string, (url: string) => string | URL | Request]>([
    ['a string', (url) => url],
    ['a path', (url) => url.slice('https://app.example'.length)],
    ['a URL', (url) => new URL(url)],
    ['a Request', (url) => new Request(url)],
    [
      'a Request behind a proxy that terminates TLS',
      (url) => new Request(url.replace('https://app.example', 'http://10.0.0.7:8080')),
    ],
  ])('accepts the callback as %s', async (_title, shape) => {
    const { login, finish } = await startLogin(endpoint.url)
    expect((await finish(shape(callbackOf(login)))).accessToken).toBe(accessToken)
  })

  test('calls a custom fetch unbound, with a URL and plain data', async () => {
    const seen: string[] = []
    await finish({
      fetch(this: unknown, url, init) {
        expect(this).toBeUndefined()
        seen.push(`${init.method} ${new URL(url).pathname} ${Object.keys(init.headers)} ${typeof init.body}`)
        return fetch(url, init)
      },
    })
    expect(seen).toEqual(['POST /api/oauth/token accept,content-type string'])
  })
})

describe('accepts a token response with', () => {
  const good = { access_token: accessToken, token_type: 'Bearer', scope: 'conversations:read' }
  const partly = { scopes: ['conversations:read'], missingScopes: ['messages:write'] }
  const fully = { scopes: [...scope], missingScopes: [] }
  test.each<[string, object, object]>([
    ['fewer scopes than requested', good, partly],
    ['null for optional fields', { ...good, expires_in: null, refresh_token: null, id_token: null }, partly],
    [
      'odd undocumented fields',
      { ...good, expires_in: 'soon', refresh_token: 7, id_token: 'no.jwt', extra: {} },
      partly,
    ],
    ['the token type BEARER', { ...good, token_type: 'BEARER' }, { tokenType: 'BEARER' }],
    [
      'the token among its scopes',
      { ...good, scope: `conversations:read ${accessToken}` },
      { scope: 'conversations:read [redacted]' },
    ],
    ['no scope, which means all of them', { ...good, scope: undefined }, fully],
    [
      'scopes separated by commas',
      { ...good, scope: `${scope.join(',')}, contacts:read` },
      { scope: `${scope.join(' ')} contacts:read`, missingScopes: [] },
    ],
    [
      'a list of scopes',
      { ...good, scope: ['conversations:read', 'contacts:read'] },
      { missingScopes: ['messages:write'] },
    ],
  ])('%s', async (_title, body, expected) => {
    endpoint.respond = jsonResponse(body)
    const token = await finish()
    expect(token.accessToken).toBe(accessToken)
    expect(token).toMatchObject(expected)
  })
})

describe('rejects a token response with', () => {
  const good = { access_token: accessToken, token_type: 'Bearer', scope: 'a:read' }
  test.each<[Remedy, string, unknown]>([
    ['reconnect', 'no access token', { ...good, access_token: undefined }],
    ['fix', 'an empty access token', { ...good, access_token: '' }],
    ['fix', 'a line break in the access token', { ...good, access_token: 'swot_a\r\nx-evil: 1' }],
    ['fix', 'a space in the access token', { ...good, access_token: 'swot_a b' }],
    ['fix', 'an access token that is not ASCII', { ...good, access_token: 'swot_é' }],
    ['fix', 'an object without text as access token', { ...good, access_token: { toString: 1 } }],
    ['fix', 'no token type', { ...good, token_type: undefined }],
    ['fix', 'another token type', { ...good, token_type: 'DPoP' }],
    ['fix', 'a scope that is a list with a number in it', { ...good, scope: ['a:read', 7] }],
    ['fix', 'a scope that is an object', { ...good, scope: { read: true } }],
    ['reconnect', 'an array', [good]],
    ['reconnect', 'null', null],
    ['fix', 'HTML', '<!doctype html><title>Welcome</title>'],
    ['reconnect', 'nothing', ''],
    ['reconnect', 'truncated JSON', JSON.stringify(good).slice(0, -5)],
  ])('the remedy %s: %s', async (remedy, _title, body) => {
    endpoint.respond = jsonResponse(body)
    const error = await loginError(finish(), 'exchange_failed')
    expect(error).toMatchObject({ status: 200, remedy })
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
  const challenge = { 'www-authenticate': 'Basic realm="x", error="invalid_client"' }
  test.each<[LoginErrorReason, Remedy, string, number, unknown, Record<string, string>?]>([
    ['invalid_client', 'fix', 'its code', 400, { error: 'invalid_client' }],
    ['invalid_client', 'fix', 'its status', 401, ''],
    ['invalid_client', 'fix', 'its challenge', 403, '', challenge],
    ['invalid_grant', 'reconnect', 'its code under status 200', 200, { error: 'invalid_grant' }],
    ['exchange_failed', 'fix', 'an unknown code', 400, { error: 'unsupported_grant_type' }],
    ['exchange_failed', 'fix', '404', 404, ''],
    ['exchange_failed', 'reconnect', 'HTML with 502', 502, '<html>Bad gateway</html>'],
    ['exchange_failed', 'reconnect', 'JSON with 500', 500, { error: 'server_error' }],
    ['exchange_failed', 'reconnect', 'a busy service', 400, { error: 'temporarily_unavailable' }],
    ['exchange_failed', 'reconnect', 'a service that is down', 400, { error: 'server_error' }],
    ['exchange_failed', 'reconnect', '429', 429, { error: 'slow_down' }],
    ['exchange_failed', 'reconnect', '408', 408, ''],
    ['exchange_failed', 'reconnect', '204', 204, ''],
    ['exchange_failed', 'reconnect', 'an error under status 200', 200, { error: 'bad_verification_code' }],
  ])('is %s, with the remedy %s, for %s, without a retry', async (reason, remedy, _title, status, body, headers) => {
    endpoint.respond = jsonResponse(body, status, headers)
    expect(await loginError(finish(), reason)).toMatchObject({ status, remedy })
    expect(endpoint.requests).toHaveLength(1)
  })

  test.each([301, 302, 303, 307, 308])('rejects a %i redirect and sends the secret nowhere else', async (status) => {
    const elsewhere = await startTokenEndpoint()
    endpoint.respond = jsonResponse('', status, { location: `${elsewhere.url}/api/oauth/token` })
    const error = await loginError(finish(), 'exchange_failed')
    expect(error.status).toBe(status)
    expect(elsewhere.requests).toEqual([])
    await elsewhere.close()
  })
})

describe('a failed code exchange', () => {
  const refused = () => Promise.reject(refusedConnection())
  const untrusted = Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  const plainHttp = expect.stringContaining('Nothing was sent. The server speaks plain http on this port. ')
  const noResponse = expect.stringContaining('The code exchange failed: the `fetch` option returned no Response')
  test.each<[string, Partial<OAuthAppOptions>, object]>([
    [
      'the service speaks plain http',
      { baseUrl: endpoint.url.replace('http:', 'https:') },
      { outcome: 'not-sent', remedy: 'fix', message: plainHttp },
    ],
    [
      'a custom fetch throws what would prove something from the platform',
      { fetch: refused },
      { outcome: 'unknown', message: expect.stringContaining('ECONNREFUSED 127.0.0.1:1. ') },
    ],
    [
      'a custom fetch does not trust the certificate, although the code may have been sent',
      { fetch: () => Promise.reject(untrusted) },
      {
        outcome: 'unknown',
        remedy: 'fix',
        hint: expect.stringMatching(/^The authorization code may have been used: .*`NODE_EXTRA_CA_CERTS`/),
      },
    ],
    ['a custom fetch returns nothing', { fetch: async () => undefined as never }, { message: noResponse }],
  ])('says what to do if %s', async (_title, options, expected) => {
    const error = await rejection(finish(options))
    expect(error).toBeInstanceOf(NetworkError)
    expect(error).toMatchObject(expected)
  })

  const nothing = 'the `fetch` option failed without an error'
  test.each<[string, unknown, object]>([
    ['an error', new Error('no proxy'), { outcome: 'unknown', remedy: 'reconnect', cause: { message: 'no proxy' } }],
    [
      'an error that says that nothing was sent',
      Object.assign(new Error('offline'), { outcome: 'not-sent' }),
      { outcome: 'not-sent', remedy: 'reconnect', cause: { message: 'offline' } },
    ],
    ['nothing', undefined, { outcome: 'unknown', remedy: 'fix', cause: { message: nothing } }],
  ])('keeps what a custom fetch fails with: %s', async (_title, thrown, expected) => {
    for (const [, fetch] of failingCallbacks(thrown)) {
      const error = await rejection(finish({ fetch }))
      expect(error).toBeInstanceOf(NetworkError)
      expect(error).toMatchObject(expected)
    }
  })

  test('has the outcome not-sent if the connection never opened', async () => {
    stubPlatformFetch(refused)
    const attempts = [{ error: 'NetworkError' }]
    const expected = { operation: 'oauth.token', outcome: 'not-sent', remedy: 'reconnect', attempts }
    expect(await rejection(finish())).toMatchObject(expected)
  })

  test('has an unknown outcome if the body cannot be read, even after a connection error', async () => {
    const body = new ReadableStream({ start: (controller) => controller.error(refusedConnection()) })
    stubPlatformFetch(async () => new Response(body))
    expect(await rejection(finish())).toMatchObject({
      outcome: 'unknown',
      hint: expect.stringMatching(/used: start the login again\.$/),
    })
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

    test('rejects with the abort reason of the caller', async () => {
      const controller = new AbortController()
      const outcome = rejection(finish({}, controller.signal))
      await whenRequested(outcome)
      const reason = new Error('the user closed the tab')
      controller.abort(reason)
      expect(await settled(outcome)).toBe(reason)
    })
  })

  test('sends nothing if aborted before the start, and keeps the transaction usable', async () => {
    const { app, finish } = await startLogin(endpoint.url)
    const reason = new Error('not now')
    const signal = AbortSignal.abort(reason)
    expect(await rejection(finish(undefined, { signal }))).toBe(reason)
    const grant = { code, codeVerifier: 'v'.repeat(43), redirectUri }
    expect(await rejection(app.exchangeCode(grant, { signal }))).toBe(reason)
    expect(endpoint.requests).toEqual([])
    await finish()
  })
})

test.each<[string, unknown]>([
  ['options', null],
  ['options', 'x'],
  ['options', AbortSignal.abort()],
  ['Signal', { Signal: AbortSignal.abort() }],
  ['signal', { signal: new AbortController() }],
  ['signal', { signal: {} }],
])('finishLogin and exchangeCode reject the option %s before sending the code', async (argument, options) => {
  const { app, finish } = await startLogin(endpoint.url)
  const expected = { name: 'InvalidArgumentError', argument }
  await expect(finish(undefined, options as never)).rejects.toMatchObject(expected)
  const grant = { code, codeVerifier: 'v'.repeat(43), redirectUri }
  await expect(app.exchangeCode(grant, options as never)).rejects.toMatchObject(expected)
  expect(endpoint.requests).toEqual([])
})
