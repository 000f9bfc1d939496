import { startSandbox } from 'support-workspace-sdk/sandbox'
import { expect, test } from 'vitest'
import { startPageSite } from './helpers/page-site.ts'
import { useBrowser } from './helpers/use-browser.ts'
import type { PageApi } from './page/page.ts'

const visit = useBrowser()

test('the stack of an error begins in the code that made the call', async () => {
  const [site, sandbox] = await Promise.all([startPageSite(), startSandbox()])
  try {
    const facts = { baseUrl: sandbox.url, accessToken: sandbox.issueToken({ actor: 'self' }), redirectUri: site.url }
    const { page } = await visit()
    await page.goto(site.url)
    const order = { run: 'caller', facts } as const
    expect(
      await page.evaluate((given) => (globalThis as unknown as { api: PageApi }).api.order('page', given), order),
    ).toBe('inMyApp')
  } finally {
    await Promise.all([site.close(), sandbox.close()])
  }
})
