import type { BrowserContext, ConsoleMessage } from 'playwright-core'
import { expect, vi } from 'vitest'
import { browserName } from './installed-browsers.ts'
import { patience } from './patience.ts'

/** Collects the errors of all pages of a browser profile: failed responses, console errors and uncaught exceptions. */
export interface Watch {
  /** Waits for these responses with a status of at least 400, in any order. */
  expectFailedResponses(...responses: { status: number; path: string }[]): Promise<void>
  /** Waits until a request to the path has failed without a response, with this network error. */
  expectNoResponse(failure: { error: string; path: string }): Promise<void>
  /** Waits until CORS has blocked one request to the path. */
  expectCorsBlock(path: string): Promise<void>
  /** Waits until sandboxed frames have blocked scripts and images. What they block from then on is no complaint. */
  expectBlockedInFrames(): Promise<void>
  expectNothingMore(): Promise<void>
}

const blockedInFrames = ["error: Blocked script execution in 'about:srcdoc'", 'error: Loading the image ']

export async function watch(context: BrowserContext): Promise<Watch> {
  const complaints: string[] = []
  let areFramesHostile = false
  const take = (text: string) =>
    vi.waitFor(() => {
      const index = complaints.indexOf(text)
      if (index === -1) throw new Error(`No "${text}" among the complaints ${JSON.stringify(complaints)}.`)
      complaints.splice(index, 1)
    }, patience)
  // Chromium logs violations of a Content-Security-Policy, except for an `eval` whose error is caught.
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => console.error(`violation: ${event.violatedDirective}`))
  })
  context.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} ${new URL(response.url()).pathname}`)
  })
  context.on('console', (message) => {
    const isComplaint = message.type() === 'error' || message.type() === 'warning'
    if (isComplaint && !isFailedResponse(message)) complaints.push(textOf(message))
  })
  context.on('weberror', (error) => complaints.push(`uncaught: ${error.error()}`))
  return {
    expectFailedResponses: async (...responses) => {
      for (const { status, path } of responses) await take(`${status} ${path}`)
    },
    expectNoResponse: ({ error, path }) => take(`${error} ${path}`),
    expectCorsBlock: (path) => take(`blocked by CORS ${path}`),
    expectBlockedInFrames: async () => {
      // The frames of a page block at their own pace, and again whenever the page shows them anew.
      for (const start of blockedInFrames) {
        await vi.waitFor(() => expect(complaints.some((text) => text.startsWith(start))).toBe(true), patience)
      }
      areFramesHostile = true
    },
    expectNothingMore: async () => {
      // Messages of a page or worker arrive in order, so after this result no earlier message is outstanding.
      for (const page of context.pages()) {
        // Firefox runs no script in a worker.
        for (const worker of browserName === 'firefox' ? [] : page.workers()) await worker.evaluate('0')
        await page.evaluate('0')
      }
      const expected = areFramesHostile ? blockedInFrames : []
      const unexpected = complaints.splice(0).filter((text) => !expected.some((start) => text.startsWith(start)))
      expect(unexpected).toEqual([])
    },
  }
}

/** Chromium logs the failed responses of a page; the `response` event has those of every browser, and of workers. */
function isFailedResponse(message: ConsoleMessage): boolean {
  return message.text().startsWith('Failed to load resource: the server responded with a status of ')
}

function textOf(message: ConsoleMessage): string {
  const text = message.text()
  const failed = /^Failed to load resource: (net::\w+)/.exec(text)
  if (failed !== null) return `${failed[1]} ${new URL(message.location().url).pathname}`
  const blocked = /^Access to fetch at '([^']+)' from origin '[^']+' has been blocked by CORS policy/.exec(text)
  if (blocked !== null) return `blocked by CORS ${new URL(blocked[1] ?? '').pathname}`
  return `${message.type()}: ${text}`
}
