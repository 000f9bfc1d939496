import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, vi } from 'vitest'
import { isFull } from '../../../proofs/is-full.ts'
import { browserName, launchBrowser } from './installed-browsers.ts'
import { patience } from './patience.ts'
import { type Watch, watch } from './watch.ts'

export const phone = { viewport: { width: 375, height: 740 } } as const
export const desktop = { viewport: { width: 1280, height: 860 } } as const

export interface Visitor {
  readonly context: BrowserContext
  readonly page: Page
  readonly watch: Watch
  /** Opens another tab of the same browser profile. */
  openTab(): Promise<Page>
}

/**
 * Starts one browser per test file, and a new profile for each visitor. A test fails if a page has errors that the test
 * did not expect.
 */
export function useBrowser(): (options?: BrowserContextOptions) => Promise<Visitor> {
  let browser: Browser
  const visitors: Visitor[] = []

  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterEach(async () => {
    const left = visitors.splice(0)
    try {
      for (const visitor of left) await visitor.watch.expectNothingMore()
    } finally {
      for (const { context } of left) await context.close()
    }
  })
  afterAll(() => browser?.close())

  return async (options = {}) => {
    const context = await browser.newContext({ ...desktop, ...options })
    context.setDefaultTimeout(patience.timeout)
    const watcher = await watch(context)
    const page = await context.newPage()
    const visitor = { context, page, watch: watcher, openTab: () => context.newPage() }
    visitors.push(visitor)
    return visitor
  }
}

/** Saves a screenshot for review before a release. Retries, because Chromium sometimes cannot take one right after a resize. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!isFull || browserName === 'firefox') return
  await vi.waitFor(() => page.screenshot({ path: `artifacts/${name}.png`, fullPage: true }), patience)
}

/** Saves screenshots for review before a release, in light and dark mode, at desktop and phone width. */
export async function pictures(page: Page, name: string): Promise<void> {
  if (!isFull) return
  const before = page.viewportSize()
  await picture(page, `${name}-desktop-light`)
  await page.emulateMedia({ colorScheme: 'dark' })
  await picture(page, `${name}-desktop-dark`)
  await page.setViewportSize(phone.viewport)
  await picture(page, `${name}-phone-dark`)
  await page.emulateMedia({ colorScheme: 'light' })
  await picture(page, `${name}-phone-light`)
  if (before) await page.setViewportSize(before)
}
