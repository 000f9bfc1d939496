import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { createSealer } from '../../src/oauth/seal.ts'
import { openTransaction, sealTransaction, serializeTransaction } from '../../src/oauth.ts'
import { rejection } from '../helpers/client.ts'
import { callbackOf, loginError, makeApp, scope, stateOf } from './helpers/login.ts'
import { accessToken, startTokenEndpoint, type TokenEndpoint } from './helpers/token-endpoint.ts'

const secret = 'a secret of this app, 32 characters or more'
const older = 'the secret of last year, 32 characters or more'

let endpoint: TokenEndpoint
beforeAll(async () => {
  endpoint = await startTokenEndpoint()
})
afterAll(() => endpoint.close())
afterEach(() => {
  vi.useRealTimers()
})

describe('a sealed transaction', () => {
  test('finishes a login on a server that did not start it', async () => {
    const login = await makeApp(endpoint.url).startLogin({ scope, actor: 'self' })
    const sealed = await sealTransaction(login.transaction, { secret })
    const transaction = await openTransaction(sealed, { secret })
    expect(transaction).toEqual(login.transaction)
    const token = await makeApp(endpoint.url).finishLogin(callbackOf(login), transaction)
    expect(token.accessToken).toBe(accessToken)
  })

  test('reveals neither state nor code verifier', async () => {
    const login = await makeApp(endpoint.url).startLogin({ scope })
    const { codeVerifier } = JSON.parse(serializeTransaction(login.transaction))
    const sealed = await sealTransaction(login.transaction, { secret })
    const decoded = sealed.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'))
    for (const text of [sealed, ...decoded]) {
      expect(text).not.toContain(codeVerifier)
      expect(text).not.toContain(stateOf(login))
    }
  })

  test('opens with an older secret until it is dropped', async () => {
    const login = await makeApp(endpoint.url).startLogin({ scope })
    const sealed = await sealTransaction(login.transaction, { secret: older })
    expect((await openTransaction(sealed, { secret: [secret, older] })).clientId).toBe('app_abc123')
    await loginError(openTransaction(sealed, { secret }), 'transaction_invalid')
  })

  test('is invalid if it was changed', async () => {
    const login = await makeApp(endpoint.url).startLogin({ scope })
    const sealed = await sealTransaction(login.transaction, { secret })
    const middle = Math.floor(sealed.length / 2)
    const changed = sealed.slice(0, middle) + (sealed[middle] === 'A' ? 'B' : 'A') + sealed.slice(middle + 1)
    for (const bad of [changed, sealed.slice(0, -10), `${sealed}x`, 'x', serializeTransaction(login.transaction)]) {
      await loginError(openTransaction(bad, { secret }), 'transaction_invalid')
    }
  })

  test('does not open as the cookie of login handlers with the same secret', async () => {
    const login = await makeApp(endpoint.url).startLogin({ scope })
    const sealed = await sealTransaction(login.transaction, { secret })
    const opened = await createSealer(secret, 'login cookie').open(sealed)
    expect(opened).toEqual({ ok: false, failure: 'unknown-key' })
  })

  test.each([null, undefined, ''])('is missing if the text is %j', async (sealed) => {
    await loginError(openTransaction(sealed, { secret }), 'transaction_missing')
  })

  test('opens until the login expires', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const login = await makeApp(endpoint.url).startLogin({ scope })
    const sealed = await sealTransaction(login.transaction, { secret })
    vi.setSystemTime(login.transaction.expiresAt - 1)
    expect(await openTransaction(sealed, { secret })).toEqual(login.transaction)
    vi.setSystemTime(login.transaction.expiresAt)
    await loginError(openTransaction(sealed, { secret }), 'transaction_expired')
  })

  test('stays bound to its redirect URI', async () => {
    const login = await makeApp(endpoint.url).startLogin({ scope })
    const transaction = await openTransaction(await sealTransaction(login.transaction, { secret }), { secret })
    const foreign = makeApp(endpoint.url, { redirectUri: 'https://app.example/other' })
    await loginError(foreign.finishLogin(callbackOf(login), transaction), 'redirect_uri_mismatch')
  })

  test('cannot be made from a used one', async () => {
    const app = makeApp(endpoint.url)
    const login = await app.startLogin({ scope })
    await app.finishLogin(callbackOf(login), login.transaction)
    await loginError(sealTransaction(login.transaction, { secret }), 'transaction_used')
  })

  test('requires a secret of at least 32 characters', async () => {
    const { transaction } = await makeApp(endpoint.url).startLogin({ scope })
    expect(await rejection(sealTransaction(transaction, { secret: 'short' }))).toMatchObject({ argument: 'secret' })
    expect(await rejection(openTransaction(undefined, { secret: 'short' }))).toMatchObject({ argument: 'secret' })
  })
})

test.each<[string, unknown]>([
  ['options', undefined],
  ['options', null],
  ['options', 'a secret of this app, 32 characters or more'],
  ['secrets', { secrets: 'a secret of this app, 32 characters or more' }],
  ['secret', { secret: null }],
])('sealTransaction and openTransaction reject the option %s: %j', async (argument, options) => {
  const { transaction } = await makeApp('https://service.example').startLogin({ scope })
  const expected = { name: 'InvalidArgumentError', argument }
  await expect(sealTransaction(transaction, options as never)).rejects.toMatchObject(expected)
  await expect(openTransaction('x', options as never)).rejects.toMatchObject(expected)
})
