import { type RecordedRequest, type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { buildPage, startBrowserInbox } from '../../examples/browser-inbox/server.ts'
import { consent } from './helpers/consent.ts'
import { inboxStories } from './helpers/inbox-stories.ts'
import { picture, pictures, type Visitor } from './helpers/use-browser.ts'

let sandbox: Sandbox
let server: Awaited<ReturnType<typeof startBrowserInbox>>

const { visit, connected, reply } = inboxStories({
  name: 'browser-inbox',
  isInGate: true,
  notices: { denied: 'Access was denied' },
  sandbox: () => sandbox,
  url: () => server.url,
  async expectFailed({ watch }, status) {
    const isFailed = (request: RecordedRequest) => request.status === 401 || request.operation === 'createMessage'
    const { path } = sandbox.requests.findLast(isFailed) ?? { path: '' }
    if (status === 401) await watch.expectFailedResponses({ status, path })
    if (status === 502) await watch.expectNoResponse({ error: 'net::ERR_CONTENT_LENGTH_MISMATCH', path })
  },
  // Each tab has a transaction of its own.
  async expectOlderLogin({ page }) {
    await page.locator('a[href*="cnv_"]').first().waitFor()
  },
  async expectUnchanged(page) {
    await page.getByRole('alert').filter({ hasText: 'Start the login again' }).waitFor()
    expect(page.url()).toBe(`${server.url}/`)
  },
})

beforeAll(buildPage)

beforeEach(async () => {
  sandbox = await startSandbox({ app: { name: 'Browser inbox', description: 'An inbox in the browser.' } })
  server = await startBrowserInbox({ port: 0, sandbox })
})

afterEach(async () => {
  await server.close()
  await sandbox.close()
})

function items({ page }: Pick<Visitor, 'page'>) {
  return page.getByRole('region', { name: 'Conversations' }).getByRole('link')
}

const idsOf = (visitor: Visitor): Promise<string[]> =>
  items(visitor).evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).hash.slice(1)))

describe('a person', () => {
  test('can connect, scroll to the last conversation, reply and disconnect', async () => {
    const visitor = await visit()
    const { page } = visitor
    await page.goto(server.url)
    await page.getByRole('button', { name: 'Connect as yourself' }).waitFor()
    await pictures(page, 'browser-inbox-welcome')
    await page.getByRole('button', { name: 'Connect as yourself' }).click()
    await consent(page, 'Allow')
    await items(visitor).first().waitFor()
    expect(page.url()).toBe(`${server.url}/`)
    await pictures(page, 'browser-inbox-conversations')

    const all = page.getByText('All 120 conversations are shown.')
    while ((await all.count()) === 0) {
      const count = await items(visitor).count()
      await items(visitor).last().scrollIntoViewIfNeeded()
      await items(visitor).nth(count).or(all).first().waitFor()
    }
    const ids = await idsOf(visitor)
    expect(ids).toEqual(sandbox.state.conversations.map(({ id }) => id))

    await items(visitor).first().click()
    await reply(page, ids[0] ?? '')
    await pictures(page, 'browser-inbox-conversation')
    const [conversation] = sandbox.state.conversations
    const customer = conversation?.user.name ?? conversation?.user.email ?? ''
    await page.getByRole('heading', { name: customer, exact: true }).waitFor()
    const row = items(visitor).first()
    await row.getByText('On it. More <b>tomorrow</b> & the day after. Yours').waitFor()
    expect(await row.locator('time').textContent()).toMatch(/^\d{1,2}:\d\d/)
    expect(await items(visitor).nth(1).locator('time').textContent()).toMatch(/ \d{4}$/)
    expect(await row.getAttribute('aria-current')).toBe('true')

    await page.locator('summary').click()
    await page.getByText('Actor “self”').waitFor()
    expect(await page.locator('.scopes li').allTextContents()).toEqual([
      'conversations:read',
      'messages:read',
      'messages:write',
    ])
    await pictures(page, 'browser-inbox-account')
    await page.getByRole('button', { name: 'Disconnect' }).click()
    await page.getByText('has deleted its access token').waitFor()
    expect(await items(visitor).count()).toBe(0)
  })
})

describe('the page', () => {
  test('keeps its token out of storage and URLs', async () => {
    const { page, context } = await connected()
    const { headers } = sandbox.requests.findLast(({ operation }) => operation === 'getMe') ?? {}
    const token = headers?.authorization?.replace('Bearer ', '')
    expect(token).toMatch(/^swot_/)
    const { cookies, origins } = await context.storageState({ indexedDB: true })
    expect(JSON.stringify([cookies, origins, page.url()])).not.toContain(token)
    expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage, history.state])')).toBe('[{},{},null]')
  })

  test('resumes the list after a failed page', async () => {
    const visitor = await connected()
    const { page, watch } = visitor
    const path = '/api/oauth/v1/conversations'
    const spare = sandbox.faults.add({ status: 503, path, times: Number.POSITIVE_INFINITY })
    await items(visitor).last().scrollIntoViewIfNeeded()
    await page.getByRole('button', { name: 'Try again' }).waitFor()
    await picture(page, 'browser-inbox-list-failed')
    const failed = sandbox.requests.filter(({ status }) => status === 503).length
    await watch.expectFailedResponses(...Array(failed).fill({ status: 503, path }))
    spare()
    const before = await items(visitor).count()
    await page.getByRole('button', { name: 'Try again' }).click()
    await items(visitor).nth(before).waitFor()
    const ids = await idsOf(visitor)
    expect(ids).toEqual(sandbox.state.conversations.slice(0, ids.length).map(({ id }) => id))
  })
})

describe('the server', () => {
  test('uses the service in the environment variables, and sends the page no secret', async () => {
    vi.stubEnv('BASE_URL', 'https://api.supportwire.app')
    vi.stubEnv('CLIENT_ID', 'app_abc123')
    vi.stubEnv('PUBLIC_URL', 'https://inbox.example.com/')
    onTestFinished(() => void vi.unstubAllEnvs())
    await expect(startBrowserInbox({ port: 0 })).rejects.toThrow('Set CLIENT_SECRET')

    vi.stubEnv('CLIENT_SECRET', 'secret_xyz')
    const real = await startBrowserInbox({ port: 0 })
    onTestFinished(real.close)
    const config = await fetch(`${real.url}/config.json`)
    expect(await config.json()).toEqual({
      baseUrl: 'https://api.supportwire.app',
      clientId: 'app_abc123',
      redirectUri: 'https://inbox.example.com/callback',
    })
    expect(config.headers.get('content-security-policy')).toContain("connect-src 'self' https://api.supportwire.app;")
  })

  function exchange(body: string, headers: Record<string, string> = {}) {
    const all = { 'content-type': 'application/json', origin: server.url, ...headers }
    return fetch(`${server.url}/exchange`, { method: 'POST', headers: all, body })
  }

  test('rejects an exchange that is not from its page, is too large or is not JSON', async () => {
    const grant = JSON.stringify(wellFormedGrant())
    expect((await exchange(grant, { origin: 'http://127.0.0.1:1' })).status).toBe(403)
    expect((await exchange(grant, { origin: 'null' })).status).toBe(403)
    expect((await fetch(`${server.url}/exchange`, { method: 'POST', body: grant })).status).toBe(403)
    expect((await exchange(grant, { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await exchange('null')).status).toBe(400)
    expect((await exchange(JSON.stringify({ ...wellFormedGrant(), more: 'x'.repeat(9_000) }))).status).toBe(413)
    expect(sandbox.requests).toEqual([])
    const refused = await exchange(grant)
    expect([refused.status, await refused.json()]).toEqual([400, { error: expect.any(String) }])
    expect(sandbox.requests).toHaveLength(1)
  })
})

function wellFormedGrant() {
  return { code: 'code_stolen', codeVerifier: 'v'.repeat(43), redirectUri: `${server.url}/callback` }
}
