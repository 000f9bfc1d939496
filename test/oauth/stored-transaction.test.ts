import { afterEach, describe, expect, test, vi } from 'vitest'
import { openTransaction, sealTransaction } from '../../src/oauth/index.ts'
import { callbackOf, loginError, makeApp, scope } from './helpers/login.ts'
import { accessToken, useTokenEndpoint } from './helpers/token-endpoint.ts'

const secret = 'a secret of this app, 32 characters or more'
const older = 'the secret of last year, 32 characters or more'

const endpoint = await useTokenEndpoint()
afterEach(() => {
  vi.useRealTimers()
})

describe('an encrypted transaction', () => {
  test('is decrypted until the login expires, finishes it on another server, and then cannot be made again', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const login = await makeApp(endpoint.url).startLogin({ scope, actor: 'self' })
    const sealed = await sealTransaction(login.transaction, { secret })
    vi.setSystemTime(login.transaction.expiresAt - 1)
    const transaction = await openTransaction(sealed, { secret })
    expect(transaction).toEqual(login.transaction)
    const token = await makeApp(endpoint.url).finishLogin(callbackOf(login), transaction)
    expect(token.accessToken).toBe(accessToken)
    await loginError(sealTransaction(login.transaction, { secret }), 'transaction_used')
    vi.setSystemTime(login.transaction.expiresAt)
    await loginError(openTransaction(sealed, { secret }), 'transaction_expired')
  })

  test('is decrypted with an older secret until it is dropped', async () => {
    const login = await makeApp(endpoint.url).startLogin({ scope })
    const sealed = await sealTransaction(login.transaction, { secret: older })
    expect((await openTransaction(sealed, { secret: [secret, older] })).clientId).toBe('app_abc123')
    for (const bad of [sealed, 'x']) await loginError(openTransaction(bad, { secret }), 'transaction_invalid')
  })

  test.each([null, undefined, ''])('is missing if the text is %j', async (sealed) => {
    await loginError(openTransaction(sealed, { secret }), 'transaction_missing')
  })
})

test.each<[string, unknown]>([
  ['options', undefined],
  ['options', null],
  ['options', 'a secret of this app, 32 characters or more'],
  ['secrets', { secrets: 'a secret of this app, 32 characters or more' }],
  ['secret', { secret: null }],
  ['secret', { secret: 'short' }],
  ['secret', { secret: ['a secret of this app, 32 characters or more', 'short'] }],
])('sealTransaction and openTransaction reject the option %s: %j', async (argument, options) => {
  const { transaction } = await makeApp('https://service.example').startLogin({ scope })
  const expected = { name: 'InvalidArgumentError', argument }
  await expect(sealTransaction(transaction, options as never)).rejects.toMatchObject(expected)
  await expect(openTransaction(undefined, options as never)).rejects.toMatchObject(expected)
})
