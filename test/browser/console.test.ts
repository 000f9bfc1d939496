import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { browserName } from './helpers/installed-browsers.ts'
import { startOtherSite } from './helpers/other-site.ts'
import { picture, useBrowser } from './helpers/use-browser.ts'

const visit = useBrowser()
const tokens = { self: 'swot_local_self', app: 'swot_local_app' }
const path = '/api/oauth/v1/conversations'

let sandbox: Sandbox

beforeEach(async () => {
  sandbox = await startSandbox({ tokens, app: { name: 'Night desk' } })
})

afterEach(() => sandbox.close())

async function openConsole(options?: Parameters<typeof visit>[0]) {
  const visitor = await visit(options)
  await visitor.page.goto(sandbox.url)
  return visitor
}

async function statusOf(token: string, target = path): Promise<number> {
  return (await fetch(sandbox.url + target, { headers: { authorization: `Bearer ${token}` } })).status
}

describe('the console', () => {
  test('loads itself again after a request, and keeps what was opened', async () => {
    const { page } = await openConsole()
    await page.getByText('No requests yet').waitFor()
    await statusOf(tokens.self)
    await page.locator('#requests summary').click()
    await page.getByText('listConversations').waitFor()
    await statusOf(tokens.app, '/api/oauth/v1/tasks')
    await page.locator('#requests').getByText('GET /api/oauth/v1/tasks').waitFor()
    expect(await page.getByText('listConversations').isVisible()).toBe(true)
    expect(await page.getByText('listTasks').isVisible()).toBe(false)
  })

  test('keeps a message that is typed while requests arrive, and sends it', async () => {
    const id = sandbox.state.conversations[0]?.id ?? ''
    const { page } = await openConsole()
    await page.locator(`[id="${id}"] summary`).click()
    const message = page.locator(`[id="${id}"]`).getByLabel('New message')
    await message.fill('Is there any news?')
    await statusOf(tokens.self)
    // The script asks each second, unless somebody types.
    const asked = page.waitForRequest(/version/, { timeout: 2_500 })
    await expect(asked).rejects.toThrow('Timeout')
    expect(await message.inputValue()).toBe('Is there any news?')
    await page.locator(`[id="${id}"]`).getByRole('button', { name: 'Write as the customer' }).click()
    await page.locator(`[id="${id}"]`).getByText('<p>Is there any news?</p>').waitFor()
    await page.locator(`[id="${id}"]`).getByLabel('New message').fill('Soon.')
    await page.locator(`[id="${id}"]`).getByRole('button', { name: 'Answer as a colleague' }).click()
    await page.locator(`[id="${id}"]`).getByText('<p>Soon.</p>').waitFor()
    expect(sandbox.state.messages(id).slice(0, 2)).toMatchObject([
      { body_html: '<p>Soon.</p>', source: 'dashboard' },
      { body_html: '<p>Is there any news?</p>', source: 'email' },
    ])
  })

  test.each([true, false])('revokes a token and issues it again, with a script: %s', async (javaScriptEnabled) => {
    const { page } = await openConsole({ javaScriptEnabled })
    await page
      .getByRole('button', { name: /^Revoke the app/ })
      .first()
      .click()
    await page.getByText('revoked', { exact: true }).waitFor()
    expect(await statusOf(tokens.app)).toBe(401)
    await page.getByRole('button', { name: 'Issue the app token again' }).click()
    await page.getByText('revoked', { exact: true }).waitFor({ state: 'detached' })
    expect(await statusOf(tokens.app)).toBe(200)
  })

  test.each([
    [1280, 'light'],
    [1280, 'dark'],
    [390, 'light'],
    [390, 'dark'],
  ] as const)('fits a window of %i pixels, %s', async (width, colorScheme) => {
    const [conversation] = sandbox.state.conversations
    sandbox.receiveMessage(conversation?.id ?? '', 'x'.repeat(2_000))
    sandbox.faults.add({ status: 429, retryAfter: 30, path: /messages/, times: 3 })
    for (const target of ['/me', '/contacts', `/conversations/${conversation?.id}/messages`]) {
      await statusOf(tokens.self, `/api/oauth/v1${target}`)
    }
    const { page } = await openConsole({ viewport: { width, height: 844 }, colorScheme })
    await page.locator('#requests').getByText('status=429').waitFor()
    for (const summary of await page.locator('#requests summary, #contacts summary').all()) await summary.click()
    await page.locator(`[id="${conversation?.id}"] summary`).click()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    const lightness = await page.evaluate<number>(
      'Number(/\\d+/.exec(getComputedStyle(document.body).backgroundColor))',
    )
    // Over WebDriver BiDi, Firefox is always light.
    expect(lightness > 128).toBe(colorScheme === 'light' || browserName === 'firefox')
    const top = async (name: string) => (await page.getByRole('heading', { name }).boundingBox())?.y ?? 0
    expect(await top('Requests')).toBeLessThanOrEqual(await top('App'))
    await picture(page, `console-${width}-${colorScheme}`)
  })

  test('loads itself again after the sandbox was restarted', async () => {
    const { page } = await openConsole()
    const port = Number(new URL(sandbox.url).port)
    await sandbox.close()
    sandbox = await startSandbox({ port, tokens, app: { name: 'Morning desk' } })
    await page.getByRole('heading', { name: 'Morning desk' }).waitFor()
  })
})

test('the tour with --serve leads to the console, which has its requests', async () => {
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
    await page.locator('#requests').getByText('422', { exact: true }).waitFor()
    expect(child.exitCode).toBe(null)
    // A page that stays may ask for its version only after the sandbox has stopped.
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
