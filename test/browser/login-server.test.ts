import type { Page } from 'playwright-core'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { startLoginServer } from '../../examples/login-server/server.ts'
import { consent } from './helpers/consent.ts'
import { addHostileMessage } from './helpers/hostile-message.ts'
import { browserName } from './helpers/installed-browsers.ts'
import { startOtherSite } from './helpers/other-site.ts'
import { phone, pictures, useBrowser, type Visitor } from './helpers/use-browser.ts'

const visit = useBrowser()

let sandbox: Sandbox
let server: Awaited<ReturnType<typeof startLoginServer>>

beforeEach(async () => {
  sandbox = await startSandbox({ app: { name: 'Login server', description: 'An inbox on a server.' } })
  server = await startLoginServer({ port: 0, sandbox })
})

afterEach(async () => {
  await server.close()
  await sandbox.close()
})

/** Starts a login on the start page, and returns when the consent page is open. */
async function startLogin(page: Page, way: 'yourself' | 'the app' = 'yourself'): Promise<void> {
  await page.goto(server.url)
  await page.getByRole('link', { name: `Connect as ${way}` }).click()
  await page.getByRole('button', { name: 'Allow' }).waitFor()
}

async function connected(way?: 'yourself' | 'the app'): Promise<Visitor> {
  const visitor = await visit()
  await startLogin(visitor.page, way)
  await consent(visitor.page, 'Allow')
  await visitor.page.getByRole('heading', { name: 'Conversations' }).waitFor()
  return visitor
}

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
    await page.getByLabel('Your reply').fill('On it.\nMore <b>tomorrow</b> & the day after.\n\nYours')
    await page.getByRole('button', { name: 'Send as' }).click()
    const reply = page.getByRole('listitem').filter({ hasText: 'More <b>tomorrow</b> & the day after.' })
    await reply.getByText('You', { exact: true }).waitFor()
    const customer = sandbox.state.conversations[0]?.user.id
    const colleagues = sandbox.state
      .messages(seen[0] ?? '')
      .slice(1)
      .filter(({ user }) => user.id !== customer)
    expect(await page.locator('.message.colleague').count()).toBe(colleagues.length)
    await pictures(page, 'login-server-conversation')
    expect(sandbox.state.messages(seen[0] ?? '')[0]?.body_html).toBe(
      '<p>On it.<br>More &#60;b&#62;tomorrow&#60;/b&#62; &#38; the day after.</p><p>Yours</p>',
    )

    await page.locator('summary').click()
    await pictures(page, 'login-server-account')
    await page.getByRole('button', { name: 'Disconnect' }).click()
    await page.getByRole('heading', { name: 'Disconnected' }).waitFor()
    await page.goto(`${server.url}/conversations`)
    await page.getByRole('heading', { name: 'Connect your workspace' }).waitFor()
    await watch.expectNothingMore()
  })

  test('cannot send more than 1 MiB', async () => {
    const init = { method: 'POST', body: new URLSearchParams({ text: 'x'.repeat(1024 * 1024) }) }
    const headers = { origin: server.url }
    expect((await fetch(`${server.url}/conversations/any/messages`, { ...init, headers })).status).toBe(413)
  })

  test('sees the HTML of a message as plain text', async () => {
    const conversation = await addHostileMessage(sandbox)
    const { page } = await connected()
    await page.goto(`${server.url}/conversations/${conversation}`)
    await page.getByText('I wrote <script> myself & more').waitFor()
    expect(await page.locator('main :is(img, script, style, b, form[action*=evil])').count()).toBe(0)
  })

  test('who connects as the app can read, and learns why there is no reply form', async () => {
    const { page } = await connected('the app')
    await page.locator('main li a').first().click()
    await page.getByText('only a person can write').waitFor()
    expect(await page.getByLabel('Your reply').count()).toBe(0)
    await page.getByText('as the app').waitFor()
  })

  test('who denies access sees a message and can try again', async () => {
    const { page, watch } = await visit()
    await startLogin(page)
    await consent(page, 'Deny')
    await page.getByRole('heading', { name: 'You are not connected' }).waitFor()
    await pictures(page, 'login-server-denied')
    await watch.expectFailedResponses({ status: 403, path: '/login/callback' })
    await page.getByRole('link', { name: 'Connect as yourself' }).click()
    await consent(page, 'Allow')
    await page.getByRole('heading', { name: 'Conversations' }).waitFor()
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

  test('shows the login page when the connection is revoked', async () => {
    const { page, watch } = await connected()
    const token = sandbox.requests.findLast(({ operation }) => operation === 'listConversations')?.headers.authorization
    sandbox.revoke(token?.replace('Bearer ', '') ?? '')
    await page.getByRole('link', { name: 'Older' }).click()
    await page.getByRole('heading', { name: 'Connect again' }).waitFor()
    await watch.expectFailedResponses({ status: 401, path: '/conversations' })
    await page.getByRole('link', { name: 'Connect as yourself' }).click()
    await consent(page, 'Allow')
    await page.getByRole('heading', { name: 'Conversations' }).waitFor()
  })

  test('says that a reply may have been sent, and keeps its text', async () => {
    const { page, watch } = await connected()
    await page.locator('main li a').first().click()
    await page.getByLabel('Your reply').fill('On it.')
    sandbox.faults.add({ method: 'POST', path: /\/messages$/, drop: 'after-effect' })
    await page.getByRole('button', { name: 'Send as' }).click()
    await page.getByRole('alert').filter({ hasText: 'The write may have been applied' }).waitFor()
    expect(await page.getByLabel('Your reply').inputValue()).toBe('On it.')
    await pictures(page, 'login-server-reply-unknown')
    await watch.expectFailedResponses({ status: 502, path: new URL(page.url()).pathname })
    expect(sandbox.state.writes.map(({ operation }) => operation)).toEqual(['createMessage'])
  })

  test('supports logins in two tabs at the same time', async () => {
    const { page, openTab } = await visit()
    const other = await openTab()
    for (const tab of [page, other]) await startLogin(tab)
    await consent(page, 'Allow')
    await consent(other, 'Allow', 'agent')
    for (const tab of [page, other]) await tab.getByRole('heading', { name: 'Conversations' }).waitFor()
  })

  test('handles the back button after a login, and rejects a callback that is opened again', async () => {
    const { page, watch } = await visit()
    const callbacks: string[] = []
    page.on('request', (request) => {
      if (request.url().includes('/login/callback')) callbacks.push(request.url())
    })
    await startLogin(page)
    await consent(page, 'Allow')
    await page.getByRole('heading', { name: 'Conversations' }).waitFor()

    await page.goBack()
    await consent(page, 'Allow')
    await page.getByRole('heading', { name: 'Your connection is unchanged' }).waitFor()
    await page.goto(callbacks[0] ?? '')
    await page.getByRole('heading', { name: 'Your connection is unchanged' }).waitFor()
    await watch.expectFailedResponses(...Array(2).fill({ status: 400, path: '/login/callback' }))
    // The first connection still works.
    await page.getByRole('link', { name: 'Go to your conversations' }).click()
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
