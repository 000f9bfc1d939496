import * as main from 'support-workspace-sdk'
import { AdaptiveRateLimiter, SupportWorkspace } from 'support-workspace-sdk'
import * as approvals from 'support-workspace-sdk/approvals'
import * as changes from 'support-workspace-sdk/changes'
import * as faultTest from 'support-workspace-sdk/fault-test'
import * as html from 'support-workspace-sdk/html'
import * as journal from 'support-workspace-sdk/journal'
import * as oauth from 'support-workspace-sdk/oauth'
import * as otel from 'support-workspace-sdk/otel'
import * as sandbox from 'support-workspace-sdk/sandbox'
import { createSandbox } from 'support-workspace-sdk/sandbox'
import * as storage from 'support-workspace-sdk/storage'
import { memoryStorage } from 'support-workspace-sdk/storage'
import { expect, test } from 'vitest'
import { json, makeClient, page, refusal, rejection, scripted } from '../helpers/client.ts'

/** Puts a proxy around an object, as Vue and MobX do with what they are given. */
const reactive = <Value extends object>(value: Value): Value => new Proxy(value, {})

const entries = [main, approvals, changes, faultTest, html, journal, oauth, otel, sandbox, storage]
const isClass = (value: unknown): value is { readonly prototype: unknown } =>
  typeof value === 'function' && value.toString().startsWith('class')
const exported = entries
  .flatMap((entry) => Object.entries(entry))
  .filter(([, value]) => isClass(value) && !(value.prototype instanceof Error))

const me = json({ application: { id: 'a' }, organization: { id: 'o' }, user: { id: 'u' }, actor: 'self' })
const options = { baseUrl: 'https://api.test', clientId: 'app_abc123', redirectUri: 'https://app.example/callback' }
const call = { operation: 'GET /x', canWait: true, background: false, whenOver() {}, startedAt: 0, timeLeft: 1_000 }
const contact = { email: 'ada@example.com' }
const propose = (client: SupportWorkspace) => client.contacts.create(contact)

/** What each exported class does through a proxy. */
const uses: Readonly<Record<string, () => unknown>> = {
  async SupportWorkspace() {
    const workspace = reactive(makeClient({ fetch: scripted(json({ data: { id: 'c' } })) }))
    await workspace.me()
    await workspace.request('GET', '/x')
    await workspace.call({ id: 'x', method: 'GET', path: '/x' })
    return reactive(workspace.withOptions({ maxRetries: 0 }).contacts).get('c')
  },
  async Paginated() {
    const list = () => reactive(makeClient({ fetch: scripted(json(page([{ id: 'c' }]))) }).contacts.list())
    for await (const _ of list());
    for await (const _ of list().pages());
    await list().withResponse()
    await list().catch(() => {})
    return [await list(), await list().toArray()]
  },
  AdaptiveRateLimiter() {
    const limiter = reactive(new AdaptiveRateLimiter())
    limiter.setRate('key', 1)
    limiter.acquire('key', new AbortController().signal, { ...call, onWait() {} })
    return limiter.getRate('key')
  },
  OAuthApp: () =>
    reactive(new oauth.OAuthApp({ ...options, clientSecret: 's'.repeat(32) })).startLogin({
      scope: ['conversations:read'],
    }),
  async PublicOAuthApp() {
    const app = reactive(new oauth.PublicOAuthApp(options))
    const { url, transaction } = await app.startLogin({ scope: ['conversations:read'] })
    const state = new URL(url).searchParams.get('state')
    return app.readCallback(`${options.redirectUri}?code=c&state=${state}`, reactive(transaction))
  },
  async ConnectionStore() {
    const client = { fetch: scripted(me) }
    const store = reactive(new oauth.ConnectionStore({ baseUrl: options.baseUrl, storage: memoryStorage(), client }))
    const { key } = await store.save('swot_token')
    return [await store.get(key), await store.list().toArray(), await store.workspace(key)]
  },
  async WriteJournal() {
    const workspace = reactive(makeClient({ fetch: scripted(me, json({ data: { id: 'c' } }, 201)) }))
    const writes = reactive(new journal.WriteJournal({ workspace, storage: reactive(memoryStorage()) }))
    await writes.once('key', (client) => reactive(client).contacts.create(contact))
    return [await writes.get('key'), await writes.list(), await writes.forget(3_600_000)]
  },
  async Approvals() {
    const workspace = reactive(makeClient({ fetch: scripted(me) }))
    const proposals = reactive(new approvals.Approvals({ workspace, storage: memoryStorage(), secret: 's'.repeat(32) }))
    await proposals.propose('key', propose)
    return [await proposals.get('key'), await proposals.list()]
  },
  async ChangeFeed() {
    const { url: baseUrl, fetch, issueToken } = createSandbox()
    const workspace = new SupportWorkspace({ baseUrl, fetch, accessToken: issueToken({ actor: 'app' }) })
    const feed = reactive(
      new changes.ChangeFeed({ workspace, storage: memoryStorage(), since: 'beginning', passes: 1 }),
    )
    for await (const _ of feed);
    await feed.acceptDeletions()
    return feed.status()
  },
}

test('each exported class is in the table', () => {
  const names = [...new Set(exported.map(([name]) => name))]
  expect(Object.keys(uses)).toEqual(expect.arrayContaining(names))
  expect(names.length).toBeGreaterThan(5)
})

test.each(Object.entries(uses))('%s works behind a proxy', async (_, use) => {
  expect(await use()).toBeDefined()
})

test('an error works behind a proxy', async () => {
  const error = await rejection(makeClient({ fetch: scripted(refusal(403, 'forbidden')) }).me())
  const proxied = reactive(error as main.ApiError)
  expect(proxied).toBeInstanceOf(main.PermissionDeniedError)
  expect([main.isSupportWorkspaceError(proxied), proxied.outcome, proxied.code]).toEqual([true, 'refused', 'forbidden'])
  expect(JSON.stringify(proxied)).toBe(JSON.stringify(error))
})
