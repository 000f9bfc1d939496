import type { Page } from 'playwright-core'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { browserName } from './helpers/installed-browsers.ts'
import { type PageSite, runInPage, startPageSite } from './helpers/page-site.ts'
import { patience } from './helpers/patience.ts'
import { useBrowser } from './helpers/use-browser.ts'
import type { CheckName } from './page/checks.ts'

const visit = useBrowser()
let site: PageSite
let sandbox: Sandbox

beforeAll(async () => {
  site = await startPageSite()
  sandbox = await startSandbox()
})
afterAll(() => Promise.all([site.close(), sandbox.close()]))

function run(page: Page, name: CheckName, accessToken: string): Promise<unknown> {
  return runInPage(page, 'page', { run: name, facts: { baseUrl: sandbox.url, accessToken, redirectUri: site.url } })
}

/** Collects what the console of a page shows of each value: the fields of an object, the text of an error. */
async function printedBy(page: Page): Promise<string[]> {
  const printed: string[] = []
  if (browserName === 'firefox') {
    page.on('console', (message) => printed.push(message.text()))
    return printed
  }
  const session = await page.context().newCDPSession(page)
  session.on('Runtime.consoleAPICalled', ({ args: [value] }) => {
    const fields = value?.preview?.properties.map(({ name, value }) => `${name}: ${value}`)
    printed.push(value?.subtype === 'error' ? `${value.description}` : `{${fields?.join(', ')}}`)
  })
  await session.send('Runtime.enable')
  return printed
}

test('a connected client, its lists and its errors print well in the console, without the token', async () => {
  const { page, watch } = await visit()
  await page.goto(site.url)
  const printed = await printedBy(page)
  const accessToken = sandbox.issueToken({ actor: 'self' })
  await run(page, 'print', accessToken)
  await vi.waitFor(() => expect(printed).toHaveLength(3), patience)
  const [workspace, list, error] = printed
  expect(workspace).toContain('actor: self, identity: Object, conversations: ')
  expect(list).toBeTypeOf('string')
  // WebDriver BiDi says of an error only that it is one.
  expect(error).toMatch(
    browserName === 'firefox' ? /^Error$/ : /^NotFoundError: contacts\.get failed with 404 .+\n +at /,
  )
  expect(printed.join('\n')).not.toContain(accessToken)
  await watch.expectFailedResponses({ status: 404, path: '/api/oauth/v1/contacts/none' })
})

// Engines other than V8 do not follow a promise to the code that awaits it.
test.runIf(browserName === 'chromium')('the stack of an error leads to the code that made the call', async () => {
  const { page } = await visit()
  await page.goto(site.url)
  expect(await run(page, 'caller', sandbox.issueToken({ actor: 'self' }))).toBe('inMyApp')
})
