import { afterEach, describe, expect, test, vi } from 'vitest'
import { openTransaction, sealTransaction, serializeTransaction } from '../../src/oauth.ts'
import { rejection } from '../helpers/client.ts'
import { callbackOf, loginError, makeApp, scope } from './helpers/login.ts'
import { accessToken, useTokenEndpoint } from './helpers/token-endpoint.ts'

const secret = 'a secret of this app, 32 characters or more'
const older = 'the secret of last year, 32 characters or more'

const endpoint = useTokenEndpoint()
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

  test('cannot be made from a used one', async () => {
    const app = makeApp(endpoint.url)
    const login = await app.startLogin({ scope })
    await app.finishLogin(callbackOf(login), login.transaction)
    await loginError(sealTransaction(login.transaction, { secret }), 'transaction_used')
  })

  test('requires a secret of at least 32 characters', async () => {
    const { transaction } = await makeApp(endpoint.url).startLogin({ scope })
    expect(await sealTransaction(transaction, { secret: 'x'.repeat(32) })).toEqual(expect.any(String))
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
