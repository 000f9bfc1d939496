import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { consent } from './helpers/consent.ts'
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
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const copied = () => page.evaluate('navigator.clipboard.readText()')
    for (const text of [sandbox.url, 'app_sandbox', 'secret_sandbox', 'http://localhost:3000/callback']) {
      await page.getByText(text, { exact: true }).waitFor()
    }
    await page.getByRole('button', { name: 'Copy client secret' }).click()
    await page.getByText('Copied').waitFor()
    expect(await copied()).toBe('secret_sandbox')
    await page.getByRole('button', { name: 'Copy self token' }).click()
    expect(await copied()).toBe(tokens.self)
    await page.getByRole('button', { name: 'Copy as curl with the app token' }).click()
    expect(await copied()).toBe(`curl -H 'Authorization: Bearer ${tokens.app}' '${sandbox.url}/api/oauth/v1/me'`)
  })

  test('shows each request when it was handled', async () => {
    const { page } = await openConsole()
    const rows = page.locator('#log tbody tr')
    const newest = async () => (await rows.first().locator('td').allInnerTexts()).slice(1)
    await page.getByText('No requests yet').waitFor()
    await statusOf(tokens.self)
    await rows.waitFor()
    expect(await newest()).toEqual(['200', `GET ${path}`, 'conversations:read', 'self', ''])
    sandbox.failNext({ status: 503 })
    await statusOf(tokens.app)
    await rows.nth(1).waitFor()
    expect(await newest()).toEqual(['503', `GET ${path}`, 'conversations:read', 'app', 'status=503'])
    expect((await rows.allInnerTexts()).join()).not.toMatch(/swot_|Bearer/i)
  })

  test('revokes a connection and issues its token again', async () => {
    const { page } = await openConsole()
    expect(await statusOf(tokens.self)).toBe(200)
    await page.getByRole('button', { name: /^Revoke Night desk in .*\(admin\)$/ }).click()
    await page.getByText('revoked', { exact: true }).waitFor()
    expect(await statusOf(tokens.self)).toBe(401)
    expect(await statusOf(tokens.app)).toBe(200)
    await page.getByRole('button', { name: 'Issue the self token again' }).click()
    await page.getByRole('button', { name: 'Copy self token' }).waitFor()
    expect(await statusOf(tokens.self)).toBe(200)
  })

  test('injects faults and removes them', async () => {
    const { page, watch } = await openConsole()
    await page.getByLabel('Path contains').fill('/conversations')
    await page.getByLabel('Times, or').fill('2')
    await page.getByRole('button', { name: 'Add fault' }).click()
    await page.getByText('/conversations, 2 more times').waitFor()
    expect([await statusOf(tokens.app, '/api/oauth/v1/me'), await statusOf(tokens.app)]).toEqual([200, 503])
    await page.getByText('/conversations, 1 more time').waitFor()

    await page.getByLabel('Kind').selectOption('Dropped connection')
    await page.getByLabel('When').selectOption('After the effect')
    await page.getByLabel('Times, or').fill('all')
    await page.getByRole('button', { name: 'Add fault' }).click()
    await page.getByText('/conversations, every time').waitFor()
    await page.getByRole('button', { name: 'Remove status=503' }).click()
    await page.getByRole('button', { name: 'Remove status=503' }).waitFor({ state: 'detached' })
    await expect(statusOf(tokens.app)).rejects.toThrow('fetch failed')
    await page.getByRole('button', { name: 'Remove drop=after-effect' }).click()
    await page.getByText('None. Every request gets a normal response.').waitFor()
    expect(await statusOf(tokens.app)).toBe(200)

    await page.getByLabel('Times, or').fill('0')
    await page.getByRole('button', { name: 'Add fault' }).click()
    await page.getByText('The fault option `times` must be an integer of at least 1 or "all", not "0".').waitFor()
    await watch.expectFailedResponses({ status: 400, path: '/_sandbox/faults' })
  })

  test('shows the data of each organization, and what the API changed', async () => {
    const { page } = await openConsole()
    const other = sandbox.state.organizations[1]
    await page.getByText(sandbox.state.conversations[0]?.id ?? '').waitFor()
    await page.getByRole('button', { name: 'Team members, 6' }).click()
    await page
      .locator('#data')
      .getByText(sandbox.state.members[1]?.user.email ?? '')
      .waitFor()
    await page.locator('#organization').selectOption(other?.display_name ?? '')
    await page
      .locator('#data')
      .getByText(sandbox.state.of(other?.id ?? '').members[1]?.user.email ?? '')
      .waitFor()
    await page.locator('#organization').selectOption(sandbox.state.organization.display_name)
    const name = '<b>Ada</b><script>alert(1)</script>'
    await fetch(`${sandbox.url}/api/oauth/v1/users`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tokens.self}`, 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@team.example', name }),
    })
    await page.getByText(name).waitFor()
  })

  test.each([
    [1280, 'light'],
    [1280, 'dark'],
    [390, 'light'],
    [390, 'dark'],
  ] as const)('fits a window of %i pixels, %s', async (width, colorScheme) => {
    const id = sandbox.state.conversations[0]?.id
    const { page } = await openConsole({ viewport: { width, height: 844 }, colorScheme })
    sandbox.faults.add({ status: 429, retryAfter: 30, path: /messages/, times: 3 })
    for (const target of ['/me', '/contacts', `/conversations/${id}/messages`]) {
      await statusOf(tokens.self, `/api/oauth/v1${target}`)
    }
    await page.locator('#log').getByText('status=429').waitFor()
    await page.locator('summary').click()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    for (const region of await page.locator('.scroll').all()) {
      expect(await region.evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0)
    }
    const background = await page.evaluate('getComputedStyle(document.body).backgroundColor')
    expect(background).toBe(colorScheme === 'light' ? 'rgb(243, 244, 247)' : 'rgb(18, 20, 26)')
    await picture(page, `console-${width}-${colorScheme}`)
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
    await tab.locator('#log').getByText(path).waitFor()
    await setVisibility(tab, 'hidden')
    expect(await page.locator('#log').getByText(path).count()).toBe(0)
    await setVisibility(page, 'visible')
    await page.locator('#log').getByText(path).waitFor()
  })

  test('reconnects after the sandbox was restarted', async () => {
    const { page, watch } = await openConsole()
    const port = Number(new URL(sandbox.url).port)
    await sandbox.close()
    await page.getByText('disconnected').waitFor()
    sandbox = await startSandbox({ port, tokens })
    await page.getByText('live', { exact: true }).waitFor()
    await statusOf(tokens.self, '/api/oauth/v1/me')
    await page.locator('#log').getByText('/api/oauth/v1/me').waitFor()
    await watch.expectNoResponse({ error: 'net::ERR_INCOMPLETE_CHUNKED_ENCODING', path: '/_sandbox/events', times: 1 })
  })
})

describe('a login in the console', () => {
  test.each([
    ['self', 1280],
    ['app', 390],
  ] as const)('ends on a page with the facts of the %s token', async (actor, width) => {
    const { page } = await openConsole({ viewport: { width, height: 844 } })
    await page.getByLabel(actor === 'self' ? 'acts as a person' : 'acts as the app').check()
    await page.locator('summary').click()
    await page.getByLabel('tasks:write').uncheck()
    await page.getByText('15 selected').waitFor()
    await page.getByRole('button', { name: 'Start login' }).click()
    await consent(page, 'Allow', actor === 'self' ? 'agent' : 'admin')
    await page.getByRole('heading', { name: 'Access was granted' }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    await picture(page, `console-login-${actor}-${width}`)
    const token = await page.locator('#token').innerText()
    expect(await statusOf(token)).toBe(200)
    await page.getByText('"application": {').waitFor()
    expect(await page.getByText('Not granted').count()).toBe(actor === 'self' ? 1 : 0)
    await page.reload()
    expect(await page.locator('#token').innerText()).toBe(token)

    await page.getByRole('link', { name: 'Open the console' }).click()
    await page.getByText('by a login').waitFor()
    await page
      .getByRole('button', { name: /^Revoke/ })
      .first()
      .click()
    await page.getByText('by a login').waitFor({ state: 'detached' })
    expect(await statusOf(token)).toBe(401)
  })

  test('ends on a page after Deny, from which it can be tried again', async () => {
    const { page } = await openConsole()
    await page.getByRole('button', { name: 'Start login' }).click()
    await consent(page, 'Deny')
    await page.getByRole('heading', { name: 'Access was denied' }).waitFor()
    await page.getByRole('link', { name: 'Try again' }).click()
    await page.getByRole('button', { name: 'Start login' }).waitFor()
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
    await page.locator('#log').getByText('422').waitFor()
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
  const other = await startOtherSite(`<!doctype html><link rel="icon" href="data:,"><body><script>
    const post = (type) => fetch('${sandbox.url}/_sandbox/tokens', {
      method: 'POST', headers: { 'content-type': type }, body: '{"actor":"self"}', mode: type === 'text/plain' ? 'no-cors' : 'cors',
    }).then((response) => response.type, () => 'blocked')
    const read = (path) => fetch('${sandbox.url}' + path).then(() => 'read', () => 'blocked')
    globalThis.attack = async () => [await post('application/json'), await post('text/plain'), await read('/_sandbox/state'), await read('/')]
  </script></body>`)
  try {
    const { page, watch } = await visit()
    const before = sandbox.state.tokens
    await page.goto(other.url)
    expect(await page.evaluate('attack()')).toEqual(['blocked', 'blocked', 'blocked', 'blocked'])
    expect(sandbox.state.tokens).toBe(before)
    await watch.expectNoResponse({ error: 'net::ERR_BLOCKED_BY_RESPONSE', path: '/_sandbox/tokens', times: 1 })
    for (const path of ['/_sandbox/tokens', '/_sandbox/state', '/']) {
      await watch.expectCorsBlock(path)
      await watch.expectNoResponse({ error: 'net::ERR_FAILED', path, times: 1 })
    }
  } finally {
    await other.close()
  }
})
