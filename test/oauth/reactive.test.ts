import { expect, test } from 'vitest'
import { ConnectionStore, PublicOAuthApp } from '../../src/oauth/index.ts'
import { callbackOf, makeApp, scope } from './helpers/login.ts'
import { accessToken, jsonResponse, useTokenEndpoint } from './helpers/token-endpoint.ts'

const endpoint = await useTokenEndpoint()

/** Puts a proxy around an object, as Vue and MobX do with what they are given. */
const reactive = <Value extends object>(value: Value): Value => new Proxy(value, {})

test('apps, transactions and tokens work in the state of a reactive framework', async () => {
  endpoint.respond = jsonResponse({ access_token: accessToken, token_type: 'Bearer', scope: scope.join(' ') })
  const app = reactive(makeApp(endpoint.url))
  const started = await app.startLogin({ scope })
  const token = reactive(await app.finishLogin(callbackOf(started), reactive(started.transaction)))
  expect(token.accessToken).toBe(accessToken)
  expect(JSON.stringify([app, token])).not.toContain(accessToken)

  const { baseUrl, clientId, redirectUri } = app
  const publicApp = reactive(new PublicOAuthApp({ baseUrl, clientId, redirectUri }))
  const login = await publicApp.startLogin({ scope })
  const grant = publicApp.readCallback(callbackOf(login), reactive(login.transaction))
  expect((await app.exchangeCode(grant)).accessToken).toBe(accessToken)
})

test('a store works in the state of a reactive framework, also one of a subclass', async () => {
  class AuditedStore extends ConnectionStore {
    readonly removed: string[] = []

    override async remove(key: string): Promise<void> {
      await super.remove(key)
      this.removed.push(key)
    }
  }
  const me = { application: { id: 'a' }, organization: { id: 'o' }, actor: 'app' }
  const store = new AuditedStore({ baseUrl: endpoint.url, client: { fetch: async () => Response.json(me) } })
  const shown = reactive(store)
  const { key } = await shown.save('swot_token')
  expect(await shown.list().toArray()).toMatchObject([{ key }])
  expect((await shown.workspace(key)).actor).toBe('app')
  await shown.remove(key)
  expect([await shown.get(key), store.removed]).toEqual([undefined, [key]])
  expect(Object.keys(store)).toEqual(['removed'])
})
