import type { Page } from 'playwright-core'
import type { Sandbox } from 'support-workspace-sdk/sandbox'
import { describe, expect, test } from 'vitest'
import { isFull } from '../../../proofs/is-full.ts'
import { consent } from './consent.ts'
import { addHostileMessage } from './hostile-message.ts'
import { pictures, useBrowser, type Visitor } from './use-browser.ts'

/** An example with an inbox. */
export interface Inbox {
  /** Start of the names of its pictures. */
  readonly name: string
  /** Whether it shows what every inbox can do in the gate, too. All of them do before a release. */
  readonly isInGate: boolean
  readonly notices: { readonly denied: string }
  sandbox(): Sandbox
  url(): string
  /** Expects what the browser logs when a page shows a notice about an error with this status. */
  expectFailed(visitor: Visitor, status: number): Promise<void>
  /** Expects what a tab shows whose login has come back after another tab has started one. */
  expectOlderLogin(visitor: Visitor): Promise<void>
  /** Expects where a person is who has opened the callback of an earlier login again. */
  expectUnchanged(page: Page): Promise<void>
}

/** Registers what every inbox can do. Returns what its own tests begin with. */
export function inboxStories({ name, isInGate, notices, sandbox, url, expectFailed, ...expected }: Inbox) {
  const visit = useBrowser()
  const conversations = (page: Page) => page.locator('a[href*="cnv_"]')
  const seeNotice = (page: Page, text: string) => page.getByRole('alert').filter({ hasText: text }).waitFor()

  /** Starts a login on the page that is open, or on the start page, and returns when the consent page is open. */
  async function startLogin(page: Page, way: 'yourself' | 'the app' = 'yourself'): Promise<void> {
    if (page.url() === 'about:blank') await page.goto(url())
    await page.getByText(`Connect as ${way}`, { exact: true }).click()
    await page.getByRole('button', { name: 'Allow' }).waitFor()
  }

  async function logIn(page: Page, way?: 'yourself' | 'the app'): Promise<void> {
    await startLogin(page, way)
    await consent(page, 'Allow')
    await conversations(page).first().waitFor()
  }

  async function connected(way?: 'yourself' | 'the app'): Promise<Visitor> {
    const visitor = await visit()
    await logIn(visitor.page, way)
    return visitor
  }

  /** Replies in the open conversation, and expects the reply there and at the service. */
  async function reply(page: Page, conversation: string): Promise<void> {
    await page.getByLabel('Your reply').fill('On it.\nMore <b>tomorrow</b> & the day after.\n\nYours')
    await page.getByRole('button', { name: 'Send as' }).click()
    const message = page.getByRole('listitem').filter({ hasText: 'More <b>tomorrow</b> & the day after.' })
    await message.getByText('You', { exact: true }).waitFor()
    expect(sandbox().state.messages(conversation)[0]?.body_html).toBe(
      '<p>On it.<br>More &#60;b&#62;tomorrow&#60;/b&#62; &#38; the day after.</p><p>Yours</p>',
    )
  }

  describe.runIf(isInGate || isFull)('every inbox', () => {
    test('shows the HTML of a message as plain text', async () => {
      await addHostileMessage(sandbox())
      const { page } = await connected()
      await conversations(page).first().click()
      await page.getByText('I wrote <script> myself & more').last().waitFor()
      expect(await page.locator('main :is(img, script, style, b, form[action*=evil])').count()).toBe(0)
    })

    test('can be read by a person who connects as the app, and says why there is no reply form', async () => {
      const { page } = await connected('the app')
      await conversations(page).first().click()
      await page.getByText('only a person can write').waitFor()
      expect(await page.getByLabel('Your reply').count()).toBe(0)
      await page.getByText('as the app').waitFor()
    })

    test('lets a person who denied access try again', async () => {
      const visitor = await visit()
      const { page } = visitor
      await startLogin(page)
      await consent(page, 'Deny')
      await seeNotice(page, notices.denied)
      await pictures(page, `${name}-denied`)
      await expectFailed(visitor, 403)
      await logIn(page)
    })

    test('leads to a new login when the connection is revoked', async () => {
      const visitor = await connected()
      const { page } = visitor
      const { headers } = sandbox().requests.findLast(({ operation }) => operation === 'listConversations') ?? {}
      sandbox().revoke(headers?.authorization?.replace('Bearer ', '') ?? '')
      await conversations(page).first().click()
      await seeNotice(page, 'The connection has ended')
      await pictures(page, `${name}-revoked`)
      await expectFailed(visitor, 401)
      await logIn(page)
    })

    test('says that a reply may have been sent, and keeps its text', async () => {
      const visitor = await connected()
      const { page } = visitor
      await conversations(page).first().click()
      await page.getByLabel('Your reply').fill('On it.')
      sandbox().faults.add({ method: 'POST', path: /\/messages$/, drop: 'mid-body' })
      await page.getByRole('button', { name: 'Send as' }).click()
      await seeNotice(page, 'The write may have been applied')
      expect(await page.getByLabel('Your reply').inputValue()).toBe('On it.')
      await pictures(page, `${name}-reply-unknown`)
      await expectFailed(visitor, 502)
      expect(sandbox().state.writes.map(({ operation }) => operation)).toEqual(['createMessage'])
    })

    test('lets the newer of two logins in two tabs succeed', async () => {
      const visitor = await visit()
      const { page, openTab } = visitor
      const other = await openTab()
      for (const tab of [page, other]) await startLogin(tab)
      await consent(page, 'Allow')
      await expected.expectOlderLogin(visitor)
      await consent(other, 'Allow', 'agent')
      await conversations(other).first().waitFor()
    })

    test('goes on after the back button, and if a callback is opened again', async () => {
      const visitor = await visit()
      const { page } = visitor
      const callbacks: string[] = []
      page.on('request', (request) => {
        if (request.url().includes('/callback?')) callbacks.push(request.url())
      })
      await logIn(page)
      const allowAgain = async () => {
        await page.goBack()
        await consent(page, 'Allow')
      }
      for (const open of [allowAgain, () => page.goto(callbacks[0] ?? '')]) {
        await open()
        await expected.expectUnchanged(page)
      }
      expect(sandbox().requests.filter(({ operation }) => operation === 'token')).toHaveLength(1)
    })
  })

  return { visit, startLogin, connected, reply }
}
