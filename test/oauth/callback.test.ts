import { inspect } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type LoginErrorReason,
  PublicOAuthApp,
  parseTransaction,
  type StartedLogin,
  serializeTransaction,
} from '../../src/oauth.ts'
import { rejection } from '../helpers/client.ts'
import { callbackOf, code, loginError, makeApp, redirectUri, scope, stateOf } from './helpers/login.ts'
import { accessToken, jsonResponse, startTokenEndpoint, type TokenEndpoint } from './helpers/token-endpoint.ts'

let endpoint: TokenEndpoint
beforeAll(async () => {
  endpoint = await startTokenEndpoint()
})
afterAll(() => endpoint.close())
beforeEach(() => {
  endpoint.requests.length = 0
})

function verifierOf(login: StartedLogin): string {
  return JSON.parse(serializeTransaction(login.transaction)).codeVerifier
}

/** Finishes a login with the callback from `attack`. It must fail with `reason` before anything is sent. */
async function refused(reason: LoginErrorReason, attack: (login: StartedLogin) => string | URL | Request) {
  const app = makeApp(endpoint.url)
  const login = await app.startLogin({ scope })
  const error = await loginError(app.finishLogin(attack(login), login.transaction), reason)
  expect(endpoint.requests).toEqual([])
  return error
}

describe('rejects a callback before sending anything', () => {
  test.each<[string, LoginErrorReason, Record<string, string | undefined>]>([
    ['another state', 'state_mismatch', { state: 'foreign-state' }],
    ['a different state of the same length', 'state_mismatch', { state: 'A'.repeat(43) }],
    ['no state', 'missing_parameter', { state: undefined }],
    ['an empty state', 'missing_parameter', { state: '' }],
    ['no code', 'missing_parameter', { code: undefined }],
    ['an empty code', 'missing_parameter', { code: '' }],
    ['another issuer', 'issuer_mismatch', { iss: 'https://evil.example' }],
    ['an empty issuer', 'issuer_mismatch', { iss: '' }],
    ['an error with another state', 'state_mismatch', { error: 'access_denied', state: 'x' }],
  ])('with %s', async (_title, reason, change) => {
    await refused(reason, (login) => callbackOf(login, change))
  })

  test.each([
    ['starts with the expected one', (state: string) => `${state}x`],
    ['lacks its last character', (state: string) => state.slice(0, -1)],
    ['differs in its last character', (state: string) => state.slice(0, -1) + (state.endsWith('A') ? 'B' : 'A')],
    ['differs in its first character', (state: string) => (state.startsWith('A') ? 'B' : 'A') + state.slice(1)],
    ['differs in case', (state: string) => state.toUpperCase()],
  ])('with a state that %s, and keeps the transaction usable', async (_title, change) => {
    const app = makeApp(endpoint.url)
    const login = await app.startLogin({ scope })
    const forged = callbackOf(login, { state: change(stateOf(login)) })
    await loginError(app.finishLogin(forged, login.transaction), 'state_mismatch')
    expect(endpoint.requests).toEqual([])
    await app.finishLogin(callbackOf(login), login.transaction)
  })

  test('with an issuer that only starts like the expected one', async () => {
    for (const more of ['/', '.evil.example', '/api']) {
      await refused('issuer_mismatch', (login) => callbackOf(login, { iss: endpoint.url + more }))
    }
  })

  test.each(['code', 'state', 'iss', 'error', 'error_description', 'anything'])('with a duplicate %s', async (name) => {
    await refused('duplicate_parameter', (login) => {
      const url = new URL(callbackOf(login))
      if (!url.searchParams.has(name)) url.searchParams.append(name, 'one')
      url.searchParams.append(name, url.searchParams.get(name) ?? '')
      return url
    })
  })

  test.each([
    ['another origin', (url: string) => url.replace('app.example', 'evil.example')],
    ['another scheme', (url: string) => url.replace('https:', 'http:')],
    ['another port', (url: string) => url.replace('app.example', 'app.example:8443')],
    ['another path', (url: string) => url.replace('/login/callback', '/login/callback/')],
    ['another origin without a scheme', (url: string) => url.replace('https://app.example', '//evil.example')],
    ['another path, as a Request', (url: string) => new Request(url.replace('/login/callback', '/elsewhere'))],
    ['another origin, as a URL', (url: string) => new URL(url.replace('app.example', 'evil.example'))],
  ])('at %s', async (_title, move) => {
    await refused('redirect_uri_mismatch', (login) => move(callbackOf(login)))
  })

  test('that is not a URL', async () => {
    const app = makeApp(endpoint.url)
    for (const callback of ['https://', undefined, null, 7, {}]) {
      const login = await app.startLogin({ scope })
      const outcome = app.finishLogin(callback as never, login.transaction)
      await expect(outcome).rejects.toMatchObject({ name: 'InvalidArgumentError', argument: 'callback' })
    }
  })

  test.each([
    ['without a parameter', ''],
    ['with another value for a parameter', 'tenant=2'],
  ])('%s of the redirect URI', async (_title, replacement) => {
    const app = makeApp(endpoint.url, { redirectUri: `${redirectUri}?tenant=1` })
    const login = await app.startLogin({ scope })
    const changed = callbackOf(login).replace('tenant=1', replacement)
    await loginError(app.finishLogin(changed, login.transaction), 'redirect_uri_mismatch')
    await app.finishLogin(callbackOf(login), login.transaction)
  })
})

test.each([
  ['a second value in front', '?tenant=2&tenant=1'],
  ['a second value behind', '?tenant=1&tenant=2'],
  ['the same value twice', '?tenant=1&tenant=1'],
])('rejects a callback that gives a parameter of the redirect URI %s', async (_title, query) => {
  const app = makeApp(endpoint.url, { redirectUri: `${redirectUri}?tenant=1` })
  const login = await app.startLogin({ scope })
  const callback = callbackOf(login).replace('?tenant=1', query)
  await loginError(app.finishLogin(callback, login.transaction), 'redirect_uri_mismatch')
  expect(endpoint.requests).toEqual([])
})

test('accepts a redirect URI that has a parameter twice', async () => {
  const app = makeApp(endpoint.url, { redirectUri: `${redirectUri}?tag=1&tag=2` })
  const login = await app.startLogin({ scope })
  const without = callbackOf(login).replace('tag=2', 'tag=1')
  await loginError(app.finishLogin(without, login.transaction), 'redirect_uri_mismatch')
  await app.finishLogin(callbackOf(login), login.transaction)
  expect(endpoint.requests).toHaveLength(1)
})

describe('an error in the callback', () => {
  test('maps access_denied to its own reason, with the description of the service', async () => {
    const denied = { code: undefined, error: 'access_denied', error_description: 'The admin said no.' }
    const error = await refused('access_denied', (login) => callbackOf(login, denied))
    expect(error).toMatchObject({ code: 'access_denied', description: 'The admin said no.', status: undefined })
  })

  test('maps other codes to authorization_failed', async () => {
    const error = await refused('authorization_failed', (login) =>
      callbackOf(login, { code: undefined, error: 'invalid_scope' }),
    )
    expect(error.code).toBe('invalid_scope')
    expect(error.message).toContain('invalid_scope')
  })

  test('takes precedence over a code', async () => {
    await refused('access_denied', (login) => callbackOf(login, { error: 'access_denied' }))
  })

  test('cannot forge or flood log lines or quote the secrets of the login', async () => {
    const error = await refused('authorization_failed', (login) =>
      callbackOf(login, {
        error: 'x\r\n2026 INFO all is well',
        error_description: `${stateOf(login)} ${code} ${verifierOf(login)}\u2028\u0000${'y'.repeat(5_000)}`,
      }),
    )
    expect(error.message).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u)
    expect(error.message.length).toBeLessThan(800)
    expect(error.message).not.toContain(code)
    expect(error.description).toMatch(/^\[redacted\] \[redacted\] \[redacted\] ?y+…$/)
  })
})

describe('the issuer', () => {
  test('defaults to the base URL', async () => {
    const app = makeApp(endpoint.url)
    const login = await app.startLogin({ scope })
    const token = await app.finishLogin(callbackOf(login, { iss: endpoint.url }), login.transaction)
    expect(token.accessToken).toBe(accessToken)
  })

  test('can be configured', async () => {
    const app = makeApp(endpoint.url, { issuer: 'https://issuer.example/support' })
    const login = await app.startLogin({ scope })
    await app.finishLogin(callbackOf(login, { iss: 'https://issuer.example/support' }), login.transaction)
    const other = await app.startLogin({ scope })
    const outcome = app.finishLogin(callbackOf(other, { iss: endpoint.url }), other.transaction)
    await loginError(outcome, 'issuer_mismatch')
  })
})

describe('a transaction', () => {
  test('can be used for one callback', async () => {
    const app = makeApp(endpoint.url)
    const login = await app.startLogin({ scope })
    await app.finishLogin(callbackOf(login), login.transaction)
    await loginError(app.finishLogin(callbackOf(login), login.transaction), 'transaction_used')
    expect(endpoint.requests).toHaveLength(1)
  })

  test.each([
    ['?tenant=1', ''],
    ['', '?tenant=1'],
    ['?tenant=1', '?tenant=2'],
  ])('for a redirect URI with the query "%s" is rejected for one with "%s"', async (query, otherQuery) => {
    const [app, other] = [query, otherQuery].map((text) => makeApp(endpoint.url, { redirectUri: redirectUri + text }))
    const login = await app!.startLogin({ scope })
    // It has every parameter of both, so checking the URL alone would accept it.
    const url = new URL(callbackOf(login))
    for (const [name, value] of new URLSearchParams(otherQuery)) url.searchParams.append(name, value)
    await loginError(other!.finishLogin(url, login.transaction), 'redirect_uri_mismatch')
    expect(endpoint.requests).toEqual([])
    await app!.finishLogin(callbackOf(login), login.transaction)
  })

  test('can be used once, even if it was serialized several times', async () => {
    const app = makeApp(endpoint.url)
    const login = await app.startLogin({ scope })
    const copies = [1, 2, 3].map(() => parseTransaction(serializeTransaction(login.transaction)))
    const outcomes = await Promise.allSettled(copies.map((copy) => app.finishLogin(callbackOf(login), copy)))
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
    expect(endpoint.requests).toHaveLength(1)
  })

  test('can be used by one of two concurrent callbacks', async () => {
    const app = makeApp(endpoint.url)
    const login = await app.startLogin({ scope })
    const outcomes = await Promise.allSettled([
      app.finishLogin(callbackOf(login), login.transaction),
      app.finishLogin(callbackOf(login), login.transaction),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(endpoint.requests).toHaveLength(1)
  })

  test('is used after an error callback and after a failed exchange', async () => {
    const app = makeApp(endpoint.url)
    const denied = await app.startLogin({ scope })
    const callback = callbackOf(denied, { error: 'access_denied' })
    await loginError(app.finishLogin(callback, denied.transaction), 'access_denied')
    await loginError(app.finishLogin(callbackOf(denied), denied.transaction), 'transaction_used')

    const failed = await app.startLogin({ scope })
    endpoint.respond = jsonResponse({ error: 'server_error' }, 500)
    await loginError(app.finishLogin(callbackOf(failed), failed.transaction), 'exchange_failed')
    await loginError(app.finishLogin(callbackOf(failed), failed.transaction), 'transaction_used')
    expect(endpoint.requests).toHaveLength(1)
  })

  test('stays usable after a forged callback', async () => {
    const app = makeApp(endpoint.url)
    const login = await app.startLogin({ scope })
    const forged = callbackOf(login, { state: 'guess', code: 'forged' })
    await loginError(app.finishLogin(forged, login.transaction), 'state_mismatch')
    endpoint.respond = jsonResponse({ access_token: accessToken, token_type: 'Bearer' })
    expect((await app.finishLogin(callbackOf(login), login.transaction)).accessToken).toBe(accessToken)
  })

  test('rejects the callback of another login', async () => {
    const app = makeApp(endpoint.url)
    const [mine, theirs] = [await app.startLogin({ scope }), await app.startLogin({ scope })]
    await loginError(app.finishLogin(callbackOf(theirs), mine.transaction), 'state_mismatch')
  })

  test('is bound to its redirect URI, app and service', async () => {
    const login = await makeApp(endpoint.url).startLogin({ scope })
    const finish = (app: ReturnType<typeof makeApp>) => app.finishLogin(callbackOf(login), login.transaction)
    const foreign = makeApp(endpoint.url, { redirectUri: 'https://app.example/other' })
    await loginError(finish(foreign), 'redirect_uri_mismatch')
    await loginError(finish(makeApp(endpoint.url, { clientId: 'app_other' })), 'transaction_invalid')
    await loginError(finish(makeApp(`${endpoint.url}/other`)), 'transaction_invalid')
    expect(endpoint.requests).toEqual([])
  })

  test('cannot be constructed or copied by hand', async () => {
    const app = makeApp(endpoint.url)
    const login = await app.startLogin({ scope })
    for (const copy of [{ ...login.transaction }, structuredClone(login.transaction), {}, null, undefined]) {
      await loginError(app.finishLogin(callbackOf(login), copy as never), 'transaction_invalid')
    }
  })

  describe('with a fake clock', () => {
    beforeEach(() => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
    })
    afterEach(() => {
      vi.useRealTimers()
    })

    test('expires', async () => {
      const app = makeApp(endpoint.url)
      const login = await app.startLogin({ scope })
      vi.setSystemTime(Date.now() + 600_000)
      await loginError(app.finishLogin(callbackOf(login), login.transaction), 'transaction_expired')
      expect(() => serializeTransaction(login.transaction)).toThrow('The login has expired')
    })

    test('is valid until the last millisecond', async () => {
      const app = makeApp(endpoint.url)
      const login = await app.startLogin({ scope })
      vi.setSystemTime(Date.now() + 599_999)
      expect((await app.finishLogin(callbackOf(login), login.transaction)).accessToken).toBe(accessToken)
    })
  })
})

test.each([
  ['an href that is a path', { href: '/login/callback?code=secret-code' }],
  ['an href that is not a string', { href: 1, url: 'https://app.example/login/callback?code=secret-code' }],
  ['an href that is a URL object', { href: new URL('https://app.example/login/callback?code=secret-code') }],
  ['the request of Express', { method: 'GET', url: '/login/callback?code=secret-code', headers: {} }],
  ['a url that is not a string', { url: { code: 'secret-code' } }],
  ['a url that is a URL object', { url: new URL('https://app.example/login/callback?code=secret-code') }],
  ['a string that is not a URL', 'https://:secret-code'],
  ['null', null],
])('rejects %s as the callback without quoting it', async (_title, callback) => {
  const app = makeApp(endpoint.url)
  const { transaction } = await app.startLogin({ scope })
  const error = (await rejection(app.finishLogin(callback as never, transaction))) as Error
  expect(error).toMatchObject({ name: 'InvalidArgumentError', argument: 'callback' })
  expect(error.message).toContain('a web `Request`')
  expect(inspect(error, { showHidden: true, depth: 9 })).not.toContain('secret-code')
})

describe('a transaction in a browser tab', () => {
  test.each(['app', 'self', undefined] as const)('survives the redirect when serialized (actor %s)', async (actor) => {
    const app = makeApp(endpoint.url)
    const login = await app.startLogin({ scope, actor })
    const restored = parseTransaction(serializeTransaction(login.transaction))
    expect(restored).toEqual(login.transaction)
    await app.finishLogin(callbackOf(login), restored)
  })

  test.each([null, undefined, ''])('is reported as missing if the text is %j', (text) => {
    expect(() => parseTransaction(text)).toThrow(expect.objectContaining({ reason: 'transaction_missing' }))
  })

  test('is reported as invalid if the text is something else, without quoting it', async () => {
    const login = await makeApp(endpoint.url).startLogin({ scope })
    const text = serializeTransaction(login.transaction)
    const record = JSON.parse(text)
    const texts = [text.slice(0, -1), '[]', 'null', '7', JSON.stringify(login.transaction)]
    const broken = ['state', 'codeVerifier', 'redirectUri', 'clientId', 'baseUrl', 'scope', 'createdAt', 'expiresAt']
    for (const name of broken) {
      for (const value of [undefined, '']) texts.push(JSON.stringify({ ...record, [name]: value }))
    }
    texts.push(JSON.stringify({ ...record, actor: 'owner' }), JSON.stringify({ ...record, redirectUri: 'nowhere' }))
    for (const bad of texts) {
      expect(() => parseTransaction(bad)).toThrow(expect.objectContaining({ reason: 'transaction_invalid' }))
      expect(() => parseTransaction(bad)).not.toThrow(record.codeVerifier)
    }
  })

  test('cannot be serialized after it was used', async () => {
    const app = makeApp(endpoint.url)
    const login = await app.startLogin({ scope })
    await app.finishLogin(callbackOf(login), login.transaction)
    expect(() => serializeTransaction(login.transaction)).toThrow('used by an earlier callback')
  })
})

describe('a login split between browser and server', () => {
  const publicApp = () => new PublicOAuthApp({ baseUrl: endpoint.url, clientId: 'app_abc123', redirectUri })

  test('is finished on the server with the grant of the browser', async () => {
    const browser = publicApp()
    const login = await browser.startLogin({ scope })
    const grant = browser.readCallback(callbackOf(login), login.transaction)
    expect(Object.keys(grant)).toEqual(['code', 'codeVerifier', 'redirectUri', 'scope'])
    endpoint.respond = jsonResponse({ access_token: accessToken, token_type: 'Bearer', scope: 'conversations:read' })
    const token = await makeApp(endpoint.url).exchangeCode(JSON.parse(JSON.stringify(grant)))
    expect(token.accessToken).toBe(accessToken)
    expect(token.missingScopes).toEqual(['messages:write'])
    expect(endpoint.requests[0]?.form.get('code_verifier')).toBe(grant.codeVerifier)
  })

  test('checks the callback in the browser like finishLogin', async () => {
    const browser = publicApp()
    const login = await browser.startLogin({ scope })
    const read = (change: Record<string, string>) => browser.readCallback(callbackOf(login, change), login.transaction)
    expect(() => read({ state: 'other' })).toThrow(expect.objectContaining({ reason: 'state_mismatch' }))
    expect(() => read({ error: 'access_denied' })).toThrow(expect.objectContaining({ reason: 'access_denied' }))
    expect(() => read({})).toThrow(expect.objectContaining({ reason: 'transaction_used' }))
  })

  test.each([null, undefined, 'text', 7])('rejects a value that is not a grant: %s', async (grant) => {
    await loginError(makeApp(endpoint.url).exchangeCode(grant as never), 'missing_parameter')
    expect(endpoint.requests).toEqual([])
  })

  test.each<[string, LoginErrorReason, Record<string, unknown>]>([
    ['another redirect URI', 'redirect_uri_mismatch', { redirectUri: 'https://evil.example/login/callback' }],
    ['no redirect URI', 'redirect_uri_mismatch', { redirectUri: undefined }],
    ['no code', 'missing_parameter', { code: undefined }],
    ['an empty code', 'missing_parameter', { code: '' }],
    ['a code that is an object', 'missing_parameter', { code: { toString: 1 } }],
    ['no verifier', 'missing_parameter', { codeVerifier: undefined }],
    ['a verifier that is a list', 'missing_parameter', { codeVerifier: ['x'.repeat(43)] }],
    ['an empty verifier', 'missing_parameter', { codeVerifier: '' }],
    ['a short verifier', 'missing_parameter', { codeVerifier: 'x'.repeat(42) }],
    ['a long verifier', 'missing_parameter', { codeVerifier: 'x'.repeat(129) }],
    ['a verifier with a plus sign', 'missing_parameter', { codeVerifier: `${'x'.repeat(43)}+` }],
    ['a verifier with a line break', 'missing_parameter', { codeVerifier: `${'x'.repeat(43)}\n` }],
  ])('rejects a grant with %s', async (_title, reason, change) => {
    const grant = { code, codeVerifier: 'x'.repeat(43), redirectUri, ...change }
    await loginError(makeApp(endpoint.url).exchangeCode(grant as never), reason)
    expect(endpoint.requests).toEqual([])
  })

  test('sends nothing if the signal is already aborted', async () => {
    const reason = new Error('not now')
    const grant = { code, codeVerifier: 'x'.repeat(43), redirectUri }
    const fetch = vi.fn()
    const outcome = makeApp(endpoint.url, { fetch }).exchangeCode(grant, { signal: AbortSignal.abort(reason) })
    await expect(outcome).rejects.toBe(reason)
    expect(fetch).not.toHaveBeenCalled()
  })

  test.each([undefined, null, 7, ['messages:write']])(
    'has no missing scopes if the requested ones are unknown: %j',
    async (requested) => {
      const grant = { code, codeVerifier: 'x'.repeat(43), redirectUri, scope: requested as never }
      const token = await makeApp(endpoint.url).exchangeCode(grant)
      expect(token.requestedScopes).toEqual([])
      expect(token.missingScopes).toEqual([])
    },
  )
})
