import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { consent } from './helpers/consent.ts'
import { browserName } from './helpers/installed-browsers.ts'
import { startOtherSite } from './helpers/other-site.ts'
import { picture, useBrowser, type Visitor } from './helpers/use-browser.ts'

const visit = useBrowser()
const tokens = { self: 'swot_local_self', app: 'swot_local_app' }
const path = '/api/oauth/v1/conversations'

let sandbox: Sandbox

beforeEach(async () => {
  sandbox = await startSandbox({ tokens, app: { name: 'Night desk' } })
})

afterEach(() => sandbox.close())

async function openConsole(options?: Parameters<typeof visit>[0]): Promise<Visitor> {
  const visitor = await visit(options)
  await visitor.page.goto(sandbox.url)
  await visitor.page.getByText('live', { exact: true }).waitFor()
  return visitor
}

async function statusOf(token: string, target = path): Promise<number> {
  return (await fetch(sandbox.url + target, { headers: { authorization: `Bearer ${token}` } })).status
}

/** Hides or shows a page as a change of tabs does. A page that is driven by a program is otherwise always visible. */
async function setVisibility(page: Page, state: 'hidden' | 'visible'): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  `)
}

describe('the console', () => {
  test('shows the credentials and copies a token and a curl command', async () => {
    const { page, context } = await openConsole()
    const canRead = browserName === 'chromium'
    if (canRead) await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    for (const text of [sandbox.url, 'app_sandbox', 'secret_sandbox', 'http://localhost:3000/callback']) {
      await page.getByText(text, { exact: true }).waitFor()
    }
    for (const [name, text] of [
      ['Copy client secret', 'secret_sandbox'],
      ['Copy self token', tokens.self],
      [
        'Copy as curl with the app token',
        `curl -H 'Authorization: Bearer ${tokens.app}' '${sandbox.url}/api/oauth/v1/me'`,
      ],
    ] as const) {
      await page.getByRole('button', { name }).click()
      await page.getByText('Copied').waitFor()
      if (canRead) expect(await page.evaluate('navigator.clipboard.readText()')).toBe(text)
    }
  })

  test('shows each request when it was handled, and keeps typed text, the focus and opened rows', async () => {
    const { page } = await openConsole()
    await page.getByText('No requests yet').waitFor()
    await statusOf(tokens.self)
    await page.getByRole('link', { name: 'GET /conversations' }).click()
    await page.getByText('listConversations').waitFor()
    await page.getByText('Scopes all 16').click()
    await page.getByRole('checkbox', { name: 'tasks:write' }).uncheck()
    await page.locator('#connections summary').first().click()
    const path = page.getByLabel('Path contains')
    await path.fill('/typed')
    sandbox.failNext({ status: 503 })
    await statusOf(tokens.app, '/api/oauth/v1/tasks')
    await page.getByRole('row', { name: '503 GET /tasks' }).waitFor()
    expect(await path.evaluate((field) => field === document.activeElement && (field as HTMLInputElement).value)).toBe(
      '/typed',
    )
    expect(await page.getByRole('checkbox', { name: 'tasks:write' }).isChecked()).toBe(false)
    expect(await page.locator('#connections details').first().getAttribute('open')).toBe('')
    await page.getByText('listConversations').waitFor()
    expect(new URL(page.url()).search).toBe('?request=request-1')
    await page.goBack()
    await page.getByText('listConversations').waitFor({ state: 'detached' })
    expect(await path.inputValue()).toBe('/typed')
  })

  test.each([true, false])('injects faults and removes them, with a script: %s', async (javaScriptEnabled) => {
    const { page } = await visit({ javaScriptEnabled })
    await page.goto(sandbox.url)
    await page.getByLabel('Path contains').fill('/conversations')
    await page.getByLabel('Times, or').fill('0')
    await page.getByRole('button', { name: 'Add fault' }).click()
    await page.getByText('Must be an integer of at least 1 or "all", not "0".').waitFor()
    expect(await page.getByLabel('Path contains').inputValue()).toBe('/conversations')
    await page.getByLabel('Times, or').fill('2')
    await page.getByRole('button', { name: 'Add fault' }).click()
    await page.getByText('/conversations, 2 more times').waitFor()
    expect([await statusOf(tokens.app, '/api/oauth/v1/me'), await statusOf(tokens.app)]).toEqual([200, 503])

    await page.getByLabel('Kind').selectOption('Dropped connection')
    expect(await page.getByLabel('Status', { exact: true }).isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Remove status=503' }).click()
    await page.getByText('None. Every request gets a normal response.').waitFor()
    expect(await statusOf(tokens.app)).toBe(200)
  })

  test.each([
    [1280, 'light'],
    [1280, 'dark'],
    [390, 'light'],
    [390, 'dark'],
  ] as const)('fits a window of %i pixels, %s', async (width, colorScheme) => {
    const id = sandbox.state.conversations[0]?.id ?? ''
    const { page } = await openConsole({ viewport: { width, height: 844 }, colorScheme })
    sandbox.faults.add({ status: 429, retryAfter: 30, path: /messages/, times: 3 })
    for (const target of ['/me', '/contacts', `/conversations/${id}/messages`]) {
      await statusOf(tokens.self, `/api/oauth/v1${target}`)
    }
    await page.locator('#requests').getByText('status=429').waitFor()
    await page.getByRole('link', { name: `GET /conversations/${id}/messages` }).click()
    await page.getByText('listMessages').waitFor()
    await page.getByRole('link', { name: id, exact: true }).click()
    await page.getByText('Scopes all 16').click()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    const lightness = await page.evaluate<number>(
      'Number(/\\d+/.exec(getComputedStyle(document.body).backgroundColor))',
    )
    // Over WebDriver BiDi, Firefox is always light.
    expect(lightness > 128).toBe(colorScheme === 'light' || browserName === 'firefox')
    const top = async (name: string) => (await page.getByRole('heading', { name }).boundingBox())?.y ?? 0
    expect(await top('Requests')).toBeLessThanOrEqual(await top('App credentials'))
    await picture(page, `console-${width}-${colorScheme}`)
  })

  test('announces what was done, and moves the focus of a button that is gone', async () => {
    sandbox.issueToken()
    const { page } = await openConsole()
    await page.getByRole('button', { name: 'Revoke the app' }).first().press('Enter')
    await page.getByRole('status').getByText('Revoked').waitFor()
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Connections')
  })

  test('sends a message of the customer, and keeps one that is typed while requests arrive', async () => {
    const id = sandbox.state.conversations[0]?.id ?? ''
    const { page } = await openConsole()
    await page.getByRole('link', { name: id, exact: true }).click()
    const message = page.getByLabel('New message')
    await message.fill('Is there any news?')
    await page.getByRole('button', { name: 'Send as customer' }).focus()
    await statusOf(tokens.self)
    await page.getByRole('row', { name: '200 GET /conversations' }).waitFor()
    expect(await message.inputValue()).toBe('Is there any news?')
    await page.getByRole('button', { name: 'Send as customer' }).click()
    await page.getByRole('status').getByText('Sent').waitFor()
    await page.getByText('<p>Is there any news?</p>').waitFor()
    expect(await message.inputValue()).toBe('')
    expect(sandbox.state.messages(id)[0]?.body_html).toBe('<p>Is there any news?</p>')
  })

  test.each([1280, 390])('keeps the columns of a table with one long word, at %i pixels', async (width) => {
    const [conversation] = sandbox.state.conversations
    sandbox.receiveMessage(conversation?.id ?? '', 'x'.repeat(2_000))
    const { page } = await openConsole({ viewport: { width, height: 844 } })
    const row = page.locator(`[id="${conversation?.id}"]`)
    const boxes = await Promise.all((await row.locator('td').all()).map((cell) => cell.boundingBox()))
    expect(Math.min(...boxes.map((box) => box?.width ?? 0))).toBeGreaterThan(width === 390 ? 20 : 80)
    // A row is one line, or two on a phone.
    expect((await row.boundingBox())?.height).toBeLessThan(90)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    for (const choice of await page
      .locator('#login label')
      .filter({ has: page.getByRole('radio') })
      .all()) {
      expect((await choice.boundingBox())?.height).toBeGreaterThanOrEqual(24)
    }
  })

  test('gives the fields of a task the room that its id leaves', async () => {
    const { page } = await openConsole({ viewport: { width: 1280, height: 844 } })
    await page.getByRole('link', { name: /^Tasks/ }).click()
    const [id, fields] = await page.locator('#data thead th').all()
    expect((await fields?.boundingBox())?.width).toBeGreaterThan(3 * ((await id?.boundingBox())?.width ?? 0))
  })

  test('labels every field and shows where the focus is', async () => {
    const { page } = await openConsole()
    const unlabeled = await page
      .locator('input, select')
      .evaluateAll((fields) => fields.filter((field) => (field as HTMLInputElement).labels?.length === 0).length)
    expect(unlabeled).toBe(0)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
    expect(outline).toBe('solid')
  })

  test('stays live in each of seven tabs, of which one is visible', async () => {
    const { page, openTab } = await openConsole()
    let tab = page
    for (let count = 2; count <= 7; count += 1) {
      await setVisibility(tab, 'hidden')
      tab = await openTab()
      await tab.goto(sandbox.url)
      await tab.getByText('live', { exact: true }).waitFor()
    }
    await statusOf(tokens.self)
    await tab.locator('#requests').getByText('GET /conversations').waitFor()
    await setVisibility(tab, 'hidden')
    expect(await page.locator('#requests').getByText('GET /conversations').count()).toBe(0)
    await setVisibility(page, 'visible')
    await page.locator('#requests').getByText('GET /conversations').waitFor()
  })

  test('reconnects after the sandbox was restarted', async () => {
    const { page, watch } = await visit()
    // The first event loads the page once more, which nothing answers if the sandbox was closed before.
    const loadedAgain = page.waitForEvent('requestfinished', (request) => request.resourceType() === 'fetch')
    await page.goto(sandbox.url)
    await loadedAgain
    const port = Number(new URL(sandbox.url).port)
    await sandbox.close()
    await page.getByText('disconnected').waitFor()
    sandbox = await startSandbox({ port, tokens })
    await page.getByText('live', { exact: true }).waitFor()
    await statusOf(tokens.self, '/api/oauth/v1/me')
    await page.locator('#requests').getByText('GET /me').waitFor()
    // Firefox logs nothing.
    if (browserName === 'firefox') return
    await watch.expectNoResponse({ error: 'net::ERR_INCOMPLETE_CHUNKED_ENCODING', path: '/_sandbox/events' })
  })
})

describe('a login in the console', () => {
  test.each([
    ['self', 1280],
    ['app', 390],
  ] as const)('ends on a page with the facts of the %s token', async (actor, width) => {
    const { page } = await openConsole({ viewport: { width, height: 844 } })
    await page.getByLabel(actor === 'self' ? 'acts as a person' : 'acts as the app').check()
    await page.getByText('Scopes all 16').click()
    await page.getByLabel('tasks:write').uncheck()
    await page.getByRole('button', { name: 'Start login' }).click()
    await consent(page, 'Allow', actor === 'self' ? 'agent' : 'admin')
    await page.getByRole('heading', { name: 'Access was granted' }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    await picture(page, `console-login-${actor}-${width}`)
    const token = await page.locator('#token').innerText()
    expect(await statusOf(token)).toBe(200)
    await page.getByText('"application": {').waitFor()
    expect(await page.getByText('Not granted').count()).toBe(actor === 'self' ? 1 : 0)

    await page.getByRole('link', { name: 'Open the console' }).click()
    await page.getByText('by a login').waitFor()
    await page
      .getByRole('button', { name: /^Revoke/ })
      .first()
      .click()
    await page.getByText('by a login').waitFor({ state: 'detached' })
    expect(await statusOf(token)).toBe(401)
  })
})

test('the tour with --serve leads to the console, where a login ends on a page', async () => {
  const tour = fileURLToPath(new URL('../../examples/tour.ts', import.meta.url))
  const child = spawn(process.execPath, [tour, '--serve'], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    let printed = ''
    for await (const text of child.stdout.setEncoding('utf8')) {
      printed += text
      if (printed.includes('Ctrl+C')) break
    }
    const url = /Open the console: (\S+)/.exec(printed)?.[1] ?? ''
    const { page } = await visit()
    await page.goto(url)
    // The requests of the tour are in the log.
    await page.locator('#requests').getByText('422').waitFor()
    await page.getByRole('button', { name: 'Start login' }).click()
    await consent(page, 'Allow')
    await page.getByRole('heading', { name: 'Access was granted' }).waitFor()
    expect(child.exitCode).toBe(null)
    // A page that stays may ask for its icon only after the sandbox has stopped.
    await page.goto('about:blank')
    child.kill('SIGINT')
    expect((await once(child, 'exit'))[0]).toBe(0)
  } finally {
    child.kill('SIGKILL')
  }
})

test('another site can neither read nor change anything', async () => {
  const other = await startOtherSite(`<!doctype html><link rel="icon" href="data:,"><body>
    <form method="post" action="${sandbox.url}/_sandbox/tokens"><input name="actor" value="self"><button>Issue</button></form><script>
    globalThis.read = (path) => fetch('${sandbox.url}' + path).then(() => 'read', () => 'blocked')
  </script></body>`)
  try {
    const { page, watch } = await visit()
    const before = sandbox.state.tokens
    await page.goto(other.url)
    if (browserName === 'chromium') {
      expect(await page.evaluate('read("/")')).toBe('blocked')
      await watch.expectCorsBlock('/')
      await watch.expectNoResponse({ error: 'net::ERR_FAILED', path: '/' })
    }
    await page.getByRole('button', { name: 'Issue' }).click()
    await page.getByText('Forbidden').waitFor()
    expect(sandbox.state.tokens).toBe(before)
    await watch.expectFailedResponses({ status: 403, path: '/_sandbox/tokens' })
  } finally {
    await other.close()
  }
})
