import { once } from 'node:events'
import { serve } from '@hono/node-server'
import type { Page } from 'playwright-core'
import { SupportWorkspace } from 'support-workspace-sdk'
import { Approvals } from 'support-workspace-sdk/approvals'
import { OAuthApp } from 'support-workspace-sdk/oauth'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { memoryStorage } from 'support-workspace-sdk/storage'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type Desk, isAutomatic } from '../../examples/reply-desk/desk.ts'
import { createSite } from '../../examples/reply-desk/site.ts'
import { draftReplies, sendReplies } from '../../examples/reply-desk/worker.ts'
import { freePort } from '../helpers/free-port.ts'
import { consent } from './helpers/consent.ts'
import { addHostileMessage } from './helpers/hostile-message.ts'
import { startOtherSite } from './helpers/other-site.ts'
import { phone, pictures, useBrowser } from './helpers/use-browser.ts'

const secret = 'a secret of 32 characters or more'
const visit = useBrowser()
let sandbox: Sandbox
let desk: Desk
let url: string
let stop: AbortController
let close: () => Promise<unknown>

beforeEach(async () => {
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  sandbox = await startSandbox({ conversations: 2, app: { name: 'Reply desk', description: 'An example of the SDK.' } })
  const redirectUri = `${url}/login/callback`
  sandbox.registerRedirectUri(redirectUri)
  const accessToken = sandbox.issueToken({ actor: 'self' })
  const workspace = new SupportWorkspace({ baseUrl: sandbox.url, accessToken, actor: 'self' })
  const storage = memoryStorage()
  desk = { workspace, storage, secret, approvals: new Approvals({ workspace, storage, secret, ignore: isAutomatic }) }
  const { clientId, clientSecret } = sandbox.app
  const app = new OAuthApp({ baseUrl: sandbox.url, clientId, clientSecret, redirectUri })
  const server = serve({ fetch: createSite(desk, app, url).fetch, port, hostname: '127.0.0.1' })
  await once(server, 'listening')
  stop = new AbortController()
  close = () =>
    new Promise((resolve) => {
      server.close(resolve)
      if ('closeAllConnections' in server) server.closeAllConnections()
    })
})

afterEach(async () => {
  stop.abort()
  await close()
  await sandbox.close()
})

const first = () => sandbox.state.conversations[0]?.id ?? ''
const replies = () => sandbox.state.messages(first()).map(({ body_html }) => body_html)

/** Stores a draft as the worker does, for a question that is new. */
async function ask(question = '<p>Where is my parcel?</p>'): Promise<string> {
  const message = sandbox.receiveMessage(first(), question)
  const known = sandbox.state.messages(first()).map(({ id }) => id)
  const body_html = '<p>Hello,</p><p>it arrives on Friday.</p>'
  const key = `reply:${message}`
  await desk.approvals.propose(key, (client) => client.messages.create(first(), { body_html }), { basis: known })
  return key
}

async function loggedIn(role = 'admin', options = {}) {
  const visitor = await visit(options)
  await visitor.page.goto(url)
  await visitor.page.getByRole('link', { name: 'Log in' }).click()
  await consent(visitor.page, 'Allow', role)
  await visitor.page.getByRole('heading', { name: 'Drafts' }).waitFor()
  return visitor
}

/** Ends a loop that the abort of a test ends. */
function untilEnd(loop: Promise<void>): void {
  const { signal } = stop
  void loop.catch((error: unknown) => expect(signal.aborted, String(error)).toBe(true))
}

const cards = (page: Page) => page.locator('article')
const seeState = (page: Page, state: string) => cards(page).first().getByText(state, { exact: true }).waitFor()
const press = (page: Page, name: string) => page.getByRole('button', { name }).click()

describe('a person', () => {
  test('approves a draft of the worker, which the sender then sends, and the page says so', async () => {
    const { page } = await loggedIn()
    untilEnd(draftReplies(desk, 100, stop.signal))
    await expect.poll(() => sandbox.requests.some(({ operation }) => operation === 'listConversations')).toBe(true)
    sandbox.receiveMessage(first(), '<p>Where is my parcel?</p>')
    // The page loads itself again.
    await cards(page).waitFor()
    expect(await page.getByLabel('Reply').inputValue()).toContain('thank you for writing: “Where is my parcel?”')
    const sender = sandbox.state.members[0]?.user
    await page.getByText(`What you approve is sent as ${sender?.name}.`).waitFor()
    await pictures(page, 'reply-desk')
    await press(page, 'Approve')
    await seeState(page, 'approved')
    await page.getByText(`approved by ${sender?.name} (${sender?.id})`).waitFor()
    expect(replies()[0]).toBe('<p>Where is my parcel?</p>')
    untilEnd(sendReplies(desk, 100, stop.signal))
    await seeState(page, 'sent')
    expect(replies()[0]).toContain('thank you for writing: “Where is my parcel?”')
  })

  test('edits a draft, takes it back and rejects another, without scripts at phone width', async () => {
    const { page } = await loggedIn('admin', { ...phone, javaScriptEnabled: false })
    const key = await ask()
    await page.reload()
    expect(await page.getByLabel('Reply').inputValue()).toBe('Hello,\n\nit arrives on Friday.')
    await page.getByLabel('Reply').fill('Hello,\nit arrives <today>.')
    await press(page, 'Approve')
    await seeState(page, 'approved')
    const body = { body_html: '<p>Hello,<br>it arrives &#60;today&#62;.</p>' }
    const before = { body_html: '<p>Hello,</p><p>it arrives on Friday.</p>' }
    expect(await desk.approvals.get(key)).toMatchObject({ state: 'approved', body, earlier: [{ body: before }] })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(phone.viewport.width)
    await press(page, 'Take back')
    await seeState(page, 'rejected')
    const other = await ask('<p>And my invoice?</p>')
    await page.goto(url)
    await press(page, 'Reject')
    await seeState(page, 'rejected')
    expect(await desk.approvals.get(other)).toMatchObject({ state: 'rejected' })
    await page.goto(url)
    expect(await cards(page).count()).toBe(0)
  })

  test('who approves after a colleague has answered sees that the draft is stale', async () => {
    const { page } = await loggedIn()
    await ask()
    await cards(page).waitFor()
    sandbox.answer(first(), '<p>Refunded.</p>')
    await press(page, 'Approve')
    untilEnd(sendReplies(desk, 100, stop.signal))
    await seeState(page, 'stale')
    await page.getByText('is newer.').waitFor()
    expect(replies()[0]).toBe('<p>Refunded.</p>')
  })

  test('keeps an edit when the drafts change, and is told so', async () => {
    const { page } = await loggedIn()
    const key = await ask()
    await page.getByLabel('Reply').fill('It arrives today.')
    await desk.approvals.reject(key, { by: 'worker' })
    await page.getByText('The drafts have changed.').waitFor()
    expect(await page.getByLabel('Reply').inputValue()).toBe('It arrives today.')
    await page.getByRole('link', { name: 'Load them' }).click()
    await expect.poll(() => cards(page).count()).toBe(0)
  })

  test('says what became of a reply whose response was lost', async () => {
    const { page } = await loggedIn()
    await ask()
    await cards(page).waitFor()
    await press(page, 'Approve')
    sandbox.faults.add({ method: 'POST', path: /messages$/, drop: 'before-effect' })
    for await (const { state } of desk.approvals.send()) expect(state).toBe('unconfirmed')
    await seeState(page, 'sending')
    await press(page, 'It was not sent')
    await seeState(page, 'pending')
    expect(replies()[0]).toBe('<p>Where is my parcel?</p>')
  })
})

describe('two people', () => {
  const withoutUpdates = { javaScriptEnabled: false }

  test('who answer differently: the second is told what the first has decided', async () => {
    const key = await ask()
    const [one, other] = [await loggedIn('admin', withoutUpdates), await loggedIn('agent', withoutUpdates)]
    await one.page.getByLabel('Reply').fill('It arrives today.')
    await press(one.page, 'Approve')
    await press(other.page, 'Approve')
    const [admin] = sandbox.state.members
    await other.page
      .getByRole('alert')
      .filter({ hasText: `is approved (approved by ${admin?.user.name}` })
      .waitFor()
    await other.watch.expectFailedResponses({ status: 409, path: '/decide' })
    expect(await desk.approvals.get(key)).toMatchObject({ body: { body_html: '<p>It arrives today.</p>' } })
  })
})

describe('the page', () => {
  test('shows the HTML of strangers in frames without scripts and requests', async () => {
    const other = await startOtherSite('')
    onTestFinished(other.close)
    await addHostileMessage(sandbox, other.url)
    await ask()
    const { page, watch } = await loggedIn()
    await page.goto(url)
    await page.frameLocator('ol iframe').nth(1).getByText('bold').waitFor()
    await watch.expectBlockedInFrames()
    expect(other.connections).toBe(0)
  })

  test('rejects forms of another site, and of visitors without a login', async () => {
    const key = await ask()
    const { digest } = (await desk.approvals.get(key)) ?? { digest: '' }
    const { page, watch } = await loggedIn()
    const form = `<form method="post" action="${url}/decide"><input name="key" value="${key}">
      <input name="digest" value="${digest}"><button name="step" value="approve">Win</button></form>`
    const other = await startOtherSite(form)
    onTestFinished(other.close)
    await page.goto(other.url)
    await press(page, 'Win')
    await watch.expectFailedResponses({ status: 403, path: '/decide' })
    const body = new URLSearchParams({ key, digest, step: 'approve' })
    const response = await fetch(`${url}/decide`, { method: 'POST', body, headers: { origin: url } })
    expect(await response.text()).toContain('Log in')
    expect((await desk.approvals.get(key))?.state).toBe('pending')
  })

  test('is closed to another organization', async () => {
    await ask()
    const { page, watch } = await visit()
    await page.goto(`${url}/login`)
    const [, second] = sandbox.state.organizations
    await page.getByLabel('Organization').selectOption(second?.id ?? '')
    await consent(page, 'Allow')
    await page.getByText('This desk belongs to another organization.').waitFor()
    await watch.expectFailedResponses({ status: 403, path: '/login/callback' })
    await page.goto(url)
    await page.getByRole('link', { name: 'Log in' }).waitFor()
  })
})
