import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { startLoginServer } from '../../examples/login-server/server.ts'
import { consent } from './helpers/consent.ts'
import { inboxStories } from './helpers/inbox-stories.ts'
import { browserName } from './helpers/installed-browsers.ts'
import { startOtherSite } from './helpers/other-site.ts'
import { phone, pictures } from './helpers/use-browser.ts'

let sandbox: Sandbox
let server: Awaited<ReturnType<typeof startLoginServer>>

const { visit, startLogin, connected, reply } = inboxStories({
  name: 'login-server',
  isInGate: false,
  notices: { denied: 'You are not connected' },
  sandbox: () => sandbox,
  url: () => server.url,
  expectFailed: ({ page, watch }, status) =>
    watch.expectFailedResponses({ status, path: new URL(page.url()).pathname }),
  async expectOlderLogin({ page, watch }) {
    await page.getByRole('heading', { name: 'Not connected' }).waitFor()
    await watch.expectFailedResponses({ status: 400, path: '/login/callback' })
  },
  async expectUnchanged(page) {
    await page.getByRole('heading', { name: 'Conversations' }).waitFor()
  },
})

beforeEach(async () => {
  sandbox = await startSandbox({ app: { name: 'Login server', description: 'An inbox on a server.' } })
  server = await startLoginServer({ port: 0, sandbox })
})

afterEach(async () => {
  await server.close()
  await sandbox.close()
})

describe('a person', () => {
  test('can connect, page to the oldest conversation, reply and disconnect', async () => {
    const { page, watch } = await visit()
    await page.goto(server.url)
    await pictures(page, 'login-server-welcome')
    await page.getByRole('link', { name: 'Connect as yourself' }).click()
    await pictures(page, 'consent')
    await consent(page, 'Allow')
    await page.getByRole('heading', { name: 'Conversations' }).waitFor()
    expect(new URL(page.url()).search).toBe('')
    await pictures(page, 'login-server-conversations')

    const seen: string[] = []
    const older = page.getByRole('link', { name: 'Older' })
    const links = page.locator('main li a')
    for (;;) {
      seen.push(
        ...(await links.evaluateAll((all) => all.map((link) => link.getAttribute('href')?.split('/').at(-1) ?? ''))),
      )
      if ((await older.count()) === 0) break
      await older.click()
      // The links at the end come last.
      await page.waitForLoadState()
    }
    expect(seen).toEqual(sandbox.state.conversations.map(({ id }) => id))

    await page.getByRole('link', { name: 'Newest' }).click()
    await links.first().click()
    await reply(page, seen[0] ?? '')
    const customer = sandbox.state.conversations[0]?.user.id
    const colleagues = sandbox.state
      .messages(seen[0] ?? '')
      .slice(1)
      .filter(({ user }) => user.id !== customer)
    expect(await page.locator('.message.colleague').count()).toBe(colleagues.length)
    await pictures(page, 'login-server-conversation')

    await page.locator('summary').click()
    await pictures(page, 'login-server-account')
    await page.getByRole('button', { name: 'Disconnect' }).click()
    await page.getByRole('heading', { name: 'Disconnected' }).waitFor()
    await page.goto(`${server.url}/conversations`)
    await page.getByRole('heading', { name: 'Connect your workspace' }).waitFor()
    await watch.expectNothingMore()
  })

  test.each(['/conversations/cnv_none', '/conversations/%2e%2e%2fx', '/nowhere'])(
    'who opens %s sees that it was not found, and the account menu',
    async (path) => {
      const { page, watch } = await connected()
      await page.goto(`${server.url}${path}`)
      await page.getByRole('heading', { name: 'not found' }).waitFor()
      await watch.expectFailedResponses({ status: 404, path })
      await page.locator('summary', { hasText: 'Juniper Supplies' }).waitFor()
      expect(await page.locator('main').textContent()).not.toMatch(/GET|api|status|`/)
      if (path === '/conversations/cnv_none') await pictures(page, 'login-server-not-found')
      await page.getByRole('link', { name: 'Go to your conversations' }).click()
      await page.getByRole('heading', { name: 'Conversations' }).waitFor()
    },
  )

  test('cannot use an old cookie to open a later connection of another person', async () => {
    const first = await connected('the app')
    const second = await connected('the app')
    await first.page.goto(`${server.url}/conversations`)
    await first.page.getByRole('heading', { name: 'Connect your workspace' }).waitFor()
    await second.page.getByRole('link', { name: 'Older' }).click()
  })
})

describe('the server', () => {
  test('uses the service in the environment variables, and requires all of them', async () => {
    vi.stubEnv('BASE_URL', sandbox.url)
    vi.stubEnv('CLIENT_ID', sandbox.app.clientId)
    vi.stubEnv('CLIENT_SECRET', sandbox.app.clientSecret)
    onTestFinished(() => void vi.unstubAllEnvs())
    await expect(startLoginServer({ port: 0 })).rejects.toThrow('Set COOKIE_SECRET')

    vi.stubEnv('COOKIE_SECRET', 'a secret of 32 characters or more')
    const real = await startLoginServer({ port: 0 })
    onTestFinished(real.close)
    sandbox.registerRedirectUri(`${real.url}/login/callback`)
    const { page } = await visit()
    await page.goto(`${real.url}/login/self`)
    await consent(page, 'Allow')
    await page.getByRole('heading', { name: 'Conversations' }).waitFor()
  })

  test('rejects forms from another site, including another port of its host', async () => {
    const { page, watch } = await connected()
    const form = `<form method="post" action="${server.url}/disconnect"><button>Win</button></form>`
    const other = await startOtherSite(form)
    onTestFinished(other.close)
    await page.goto(other.url)
    await page.getByRole('button').click()
    await page.getByRole('heading', { name: 'Form rejected' }).waitFor()
    await watch.expectFailedResponses({ status: 403, path: '/disconnect' })
    await page.goto(`${server.url}/conversations`)
    await page.getByRole('heading', { name: 'Conversations' }).waitFor()
  })
})

// WebDriver BiDi cannot turn off scripts in Firefox.
test.skipIf(browserName === 'firefox')('the consent page works at phone width without JavaScript', async () => {
  const { page } = await visit({ ...phone, javaScriptEnabled: false })
  await startLogin(page)
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(phone.viewport.width)
  const [second] = sandbox.state.organizations.slice(1)
  await page.getByLabel('Organization').selectOption(second?.id ?? '')
  await consent(page, 'Allow', 'moderator')
  await page.getByRole('heading', { name: 'Conversations' }).waitFor()
  await page.getByText(second?.display_name ?? '').waitFor()
})
