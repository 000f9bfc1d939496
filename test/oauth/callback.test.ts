import { inspect } from 'node:util'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  type LoginErrorReason,
  type OAuthAppOptions,
  PublicOAuthApp,
  parseTransaction,
  type Remedy,
  type Scope,
  type StartedLogin,
  serializeTransaction,
} from '../../src/oauth/index.ts'
import { rejection } from '../helpers/client.ts'
import { callbackOf, code, loginError, makeApp, redirectUri, scope, startLogin, stateOf } from './helpers/login.ts'
import { accessToken, goodResponse, jsonResponse, useTokenEndpoint } from './helpers/token-endpoint.ts'

const endpoint = await useTokenEndpoint()
afterEach(() => {
  vi.useRealTimers()
})

const start = (options?: Partial<OAuthAppOptions>) => startLogin(endpoint.url, options)

/** Finishes a login with the callback from `attack`. It must fail with `reason` before anything is sent. */
async function refused(reason: LoginErrorReason, attack: (login: StartedLogin) => string | URL | Request) {
  const { login, finish } = await start()
  const error = await loginError(finish(attack(login)), reason)
  expect(endpoint.requests).toEqual([])
  return error
}

describe('a callback is rejected before anything is sent', () => {
  test.each<[string, LoginErrorReason, Record<string, string | undefined>]>([
    ['no state', 'missing_parameter', { state: undefined }],
    ['an empty state', 'missing_parameter', { state: '' }],
    ['no code', 'missing_parameter', { code: undefined }],
    ['an empty code', 'missing_parameter', { code: '' }],
    ['another issuer', 'issuer_mismatch', { iss: 'https://evil.example' }],
    ['an empty issuer', 'issuer_mismatch', { iss: '' }],
    ['an error with another state', 'state_mismatch', { error: 'access_denied', state: 'x' }],
    ['another issuer with another state', 'state_mismatch', { iss: 'https://evil.example', state: 'x' }],
  ])('with %s', async (_title, reason, change) => {
    await refused(reason, (login) => callbackOf(login, change))
  })

  test.each(['/', '.evil.example', '/api'])('with the issuer followed by %s', async (more) => {
    await refused('issuer_mismatch', (login) => callbackOf(login, { iss: endpoint.url + more }))
  })

  test.each<[string, (state: string) => string]>([
    ['is another one', () => 'A'.repeat(43)],
    ['starts with the expected one', (state) => `${state}x`],
    ['lacks its last character', (state) => state.slice(0, -1)],
    ['differs in its last character', (state) => state.slice(0, -1) + (state.endsWith('A') ? 'B' : 'A')],
    ['differs in its first character', (state) => (state.startsWith('A') ? 'B' : 'A') + state.slice(1)],
    ['differs in case', (state) => state.toUpperCase()],
  ])('with a state that %s, and the transaction stays usable', async (_title, change) => {
    const { login, finish } = await start()
    const forged = callbackOf(login, { state: change(stateOf(login)), code: 'forged' })
    await loginError(finish(forged), 'state_mismatch')
    expect(endpoint.requests).toEqual([])
    await finish()
  })

  test.each(['code', 'state', 'iss', 'error', 'error_description', 'anything'])('with a duplicate %s', async (name) => {
    await refused('duplicate_parameter', (login) => {
      const url = new URL(callbackOf(login))
      if (!url.searchParams.has(name)) url.searchParams.append(name, 'one')
      url.searchParams.append(name, url.searchParams.get(name) ?? '')
      return url
    })
  })

  test.each<[string, (url: string) => string | URL | Request]>([
    ['another origin', (url) => url.replace('app.example', 'evil.example')],
    ['another scheme', (url) => url.replace('https:', 'http:')],
    ['another port', (url) => url.replace('app.example', 'app.example:8443')],
    ['another path', (url) => url.replace('/login/callback', '/login/callback/')],
    ['another origin without a scheme', (url) => url.replace('https://app.example', '//evil.example')],
    ['another path, as a Request', (url) => new Request(url.replace('/login/callback', '/elsewhere'))],
    ['another origin, as a URL', (url) => new URL(url.replace('app.example', 'evil.example'))],
  ])('at %s', async (_title, move) => {
    await refused('redirect_uri_mismatch', (login) => move(callbackOf(login)))
  })

  test.each([
    ['without a parameter of the redirect URI', '?tenant=1', '?'],
    ['with another value of it', '?tenant=1', '?tenant=2'],
    ['with a second value in front', '?tenant=1', '?tenant=2&tenant=1'],
    ['with a second value behind', '?tenant=1', '?tenant=1&tenant=2'],
    ['with the same value twice', '?tenant=1', '?tenant=1&tenant=1'],
    ['with two values in one', '?tenant=1&tenant=2', '?tenant=1,2'],
    ['with one of two values twice', '?tenant=1&tenant=2', '?tenant=1&tenant=1'],
  ])('%s, and the transaction stays usable', async (_title, query, received) => {
    const { login, finish } = await start({ redirectUri: redirectUri + query })
    await loginError(finish(callbackOf(login).replace(query, received)), 'redirect_uri_mismatch')
    expect(endpoint.requests).toEqual([])
    await finish()
  })
})

test.each<[unknown]>([
  [{ href: '/login/callback?code=secret-code' }],
  [{ href: 1, url: 'https://app.example/login/callback?code=secret-code' }],
  [{ href: new URL('https://app.example/login/callback?code=secret-code') }],
  [{ method: 'GET', url: '/login/callback?code=secret-code', headers: {} }],
  [{ url: { code: 'secret-code' } }],
  [{ url: new URL('https://app.example/login/callback?code=secret-code') }],
  ['https://:secret-code'],
  [{}],
  [7],
  [null],
  [undefined],
])('rejects %o as the callback without quoting it', async (callback) => {
  const { app, login } = await start()
  const error = (await rejection(app.finishLogin(callback as never, login.transaction))) as Error
  expect(error).toMatchObject({ name: 'InvalidArgumentError', argument: 'callback' })
  expect(error.message).toContain('a web `Request`')
  expect(inspect(error, { showHidden: true, depth: 9 })).not.toContain('secret-code')
})

describe('an error in the callback', () => {
  test.each<[string, LoginErrorReason, Remedy]>([
    ['access_denied', 'access_denied', 'reconnect'],
    ['server_error', 'authorization_failed', 'reconnect'],
    ['temporarily_unavailable', 'authorization_failed', 'reconnect'],
    ['login_required', 'authorization_failed', 'reconnect'],
    ['invalid_scope', 'authorization_failed', 'fix'],
    ['invalid_request', 'authorization_failed', 'fix'],
    ['unauthorized_client', 'authorization_failed', 'fix'],
    ['unsupported_response_type', 'authorization_failed', 'fix'],
  ])('%s is the reason %s with the remedy %s, even if there is a code', async (error, reason, remedy) => {
    const change = { error, error_description: ' Version 2.1 said why. ' }
    const failure = await refused(reason, (login) => callbackOf(login, change))
    expect(failure).toMatchObject({ code: error, description: 'Version 2.1 said why.', status: undefined, remedy })
    expect(failure.message).toContain(': Version 2.1 said why. ')
    expect(failure.hint).toMatch(remedy === 'fix' ? /^Check that client id/ : /^Start the login again/)
  })

  test('names the scope that a mistyped one resembles', async () => {
    const { app } = await start()
    const hintOf = async (scope: Scope[]) => {
      const login = await app.startLogin({ scope })
      const finished = app.finishLogin(callbackOf(login, { error: 'invalid_scope' }), login.transaction)
      return (await loginError(finished, 'authorization_failed')).hint
    }
    expect(await hintOf(['contacts:read', 'mesages:write'])).toContain(
      'Did you mean the scope `messages:write` instead of `mesages:write`?',
    )
    expect(await hintOf(['contacts:read', 'invoices:read'])).toMatch(/registration of the app\.$/)
  })

  test('cannot forge or flood log lines or quote the secrets of the login', async () => {
    const error = await refused('authorization_failed', (login) => {
      const { codeVerifier } = JSON.parse(serializeTransaction(login.transaction))
      return callbackOf(login, {
        error: 'x\r\n2026 INFO all is well',
        error_description: `${stateOf(login)} ${code} ${codeVerifier}\u2028\u0000${'y'.repeat(5_000)}`,
      })
    })
    expect(error.message).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u)
    expect(error.message.length).toBeLessThan(800)
    expect(error.description).toMatch(/^\[redacted\] \[redacted\] \[redacted\] ?y+…$/)
  })

  test.each([' ', ' \n ', '. '])('is not quoted if it is %j', async (text) => {
    const error = await refused('authorization_failed', (login) => callbackOf(login, { error: text }))
    expect(error.message).toMatch(/^The service rejected the login\. /)
  })
})

test.each<[string, string | undefined, (url: string) => string]>([
  ['the base URL by default', undefined, (url) => url],
  ['the option', 'https://issuer.example/support', () => 'https://issuer.example/support'],
])('the issuer is %s', async (_title, issuer, iss) => {
  const { login, finish } = await start({ issuer })
  expect((await finish(callbackOf(login, { iss: iss(endpoint.url) }))).accessToken).toBe(accessToken)
})

test('the redirect URI can have parameters that other kinds of logins return', async () => {
  const { finish } = await start({ redirectUri: `${redirectUri}?response=a&token=b&id_token=c` })
  expect((await finish()).accessToken).toBe(accessToken)
})

describe('a transaction', () => {
  test.each<[string, Record<string, string>, LoginErrorReason | undefined]>([
    ['a login', {}, undefined],
    ['an error callback', { error: 'access_denied' }, 'access_denied'],
    ['a failed exchange', { code: 'wrong' }, 'exchange_failed'],
  ])('can be used once: it is used after %s, as are its copies', async (_title, change, reason) => {
    const { app, login, finish } = await start()
    const copy = parseTransaction(serializeTransaction(login.transaction))
    endpoint.respond = (response, request) =>
      request.form.get('code') === code ? goodResponse(response, request) : void response.writeHead(500).end()
    const outcome = finish(callbackOf(login, change))
    await (reason === undefined ? outcome : loginError(outcome, reason))
    await (await start()).finish().catch(() => {}) // another login, meanwhile
    endpoint.requests.length = 0
    await loginError(finish(), 'transaction_used')
    await loginError(app.finishLogin(callbackOf(login), copy), 'transaction_used')
    expect(() => serializeTransaction(login.transaction)).toThrow('used by an earlier callback')
    expect(endpoint.requests).toEqual([])
  })

  test.each<[string, LoginErrorReason, (url: string) => Parameters<typeof makeApp>]>([
    ['another path', 'redirect_uri_mismatch', (url) => [url, { redirectUri: 'https://app.example/other' }]],
    ['a parameter more', 'redirect_uri_mismatch', (url) => [url, { redirectUri: `${redirectUri}?tenant=1` }]],
    ['another client id', 'transaction_invalid', (url) => [url, { clientId: 'app_other' }]],
    ['another service', 'transaction_invalid', (url) => [`${url}/other`]],
  ])('is rejected by an app with %s, whatever the callback has', async (_title, reason, parameters) => {
    const { login } = await start()
    const callback = callbackOf(login, { tenant: '1' })
    await loginError(makeApp(...parameters(endpoint.url)).finishLogin(callback, login.transaction), reason)
    expect(endpoint.requests).toEqual([])
  })

  test('cannot be constructed or copied by hand', async () => {
    const { app, login } = await start()
    for (const copy of [{ ...login.transaction }, structuredClone(login.transaction), {}, null, undefined]) {
      await loginError(app.finishLogin(callbackOf(login), copy as never), 'transaction_invalid')
    }
  })

  test('is valid until its last millisecond, and then expired', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const [inTime, late] = [await start(), await start()]
    vi.setSystemTime(Date.now() + 599_999)
    await inTime.finish()
    vi.setSystemTime(Date.now() + 1)
    await loginError(late.finish(), 'transaction_expired')
    expect(() => serializeTransaction(late.login.transaction)).toThrow('The login has expired')
  })
})

describe('a serialized transaction', () => {
  test.each([null, undefined, ''])('is reported as missing if the text is %j', (text) => {
    expect(() => parseTransaction(text)).toThrow(expect.objectContaining({ reason: 'transaction_missing' }))
  })

  test('is reported as invalid if the text is something else, without quoting it', async () => {
    const { login } = await start()
    const text = serializeTransaction(login.transaction)
    const record = JSON.parse(text)
    const names = ['state', 'codeVerifier', 'redirectUri', 'clientId', 'baseUrl', 'scope', 'createdAt', 'expiresAt']
    const changes = names.flatMap((name) => [{ [name]: undefined }, { [name]: '' }])
    changes.push({ actor: 'owner' }, { redirectUri: 'nowhere' })
    const texts = changes.map((change) => JSON.stringify({ ...record, ...change }))
    for (const bad of [...texts, text.slice(0, -1), '[]', 'null', '7', JSON.stringify(login.transaction)]) {
      expect(() => parseTransaction(bad)).toThrow(expect.objectContaining({ reason: 'transaction_invalid' }))
      expect(() => parseTransaction(bad)).not.toThrow(record.codeVerifier)
    }
  })
})

describe('a login split between browser and server', () => {
  const grant = { code, codeVerifier: 'x'.repeat(43), redirectUri }
  const publicApp = () => new PublicOAuthApp({ baseUrl: endpoint.url, clientId: 'app_abc123', redirectUri })

  test('is finished on the server with the grant of the browser', async () => {
    const browser = publicApp()
    const login = await browser.startLogin({ scope })
    const sent = browser.readCallback(callbackOf(login), login.transaction)
    expect(Object.keys(sent)).toEqual(['code', 'codeVerifier', 'redirectUri', 'scope'])
    endpoint.respond = jsonResponse({ access_token: accessToken, token_type: 'Bearer', scope: 'conversations:read' })
    const token = await makeApp(endpoint.url).exchangeCode(JSON.parse(JSON.stringify(sent)))
    expect(token).toMatchObject({ accessToken, missingScopes: ['messages:write'] })
    expect(endpoint.requests[0]?.form.get('code_verifier')).toBe(sent.codeVerifier)
  })

  test('checks the callback in the browser like finishLogin', async () => {
    const browser = publicApp()
    const login = await browser.startLogin({ scope })
    const read = (change: Record<string, string>) => browser.readCallback(callbackOf(login, change), login.transaction)
    expect(() => read({ state: 'other' })).toThrow(expect.objectContaining({ reason: 'state_mismatch' }))
    expect(() => read({ error: 'access_denied' })).toThrow(expect.objectContaining({ reason: 'access_denied' }))
    expect(() => read({})).toThrow(expect.objectContaining({ reason: 'transaction_used' }))
  })

  const verifier = 'x'.repeat(43)
  test.each<[LoginErrorReason, unknown]>([
    ['redirect_uri_mismatch', { ...grant, redirectUri: 'https://evil.example/login/callback' }],
    ['redirect_uri_mismatch', { ...grant, redirectUri: undefined }],
    ...[
      ...[null, undefined, 'text', 7],
      ...[undefined, '', { toString: 1 }].map((bad) => ({ ...grant, code: bad })),
      ...[undefined, [verifier], '', verifier.slice(1), verifier.repeat(3), `${verifier}+`, `${verifier}\n`].map(
        (bad) => ({ ...grant, codeVerifier: bad }),
      ),
    ].map((bad): [LoginErrorReason, unknown] => ['missing_parameter', bad]),
  ])('rejects with %s the grant %j', async (reason, bad) => {
    await loginError(makeApp(endpoint.url).exchangeCode(bad as never), reason)
    expect(endpoint.requests).toEqual([])
  })

  test.each<[unknown, string[]]>([
    ['messages:write', ['messages:write']],
    ...[undefined, null, 7, ['messages:write']].map((value): [unknown, string[]] => [value, []]),
  ])('grants none of the scopes %j that the browser sent', async (requested, requestedScopes) => {
    endpoint.respond = jsonResponse({ access_token: accessToken, token_type: 'Bearer' })
    const token = await makeApp(endpoint.url).exchangeCode({ ...grant, scope: requested as never })
    expect(token).toMatchObject({ scope: '', scopes: [], requestedScopes, missingScopes: requestedScopes })
  })
})
