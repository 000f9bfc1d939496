import type { BrowserContext, ConsoleMessage } from 'playwright-core'
import { expect, vi } from 'vitest'
import { patience } from './patience.ts'

/** Hears everything that the pages of a profile complain of. */
export interface Watch {
  /** Waits until exactly these responses with a status of 400 or above have come, in any order. */
  expectFailedAnswers(...answers: { status: number; path: string }[]): Promise<void>
  /** Waits until so many requests to the path have ended without an answer, with this network error. */
  expectNoAnswer(answer: { error: string; path: string; times: number }): Promise<void>
  /** Waits until one request to the path has been kept from a page by CORS. */
  expectCorsRefusal(path: string): Promise<void>
  expectNothingMore(): Promise<void>
}

/** A watch over what logs nothing. */
export const silence: Watch = {
  expectFailedAnswers: async () => {},
  expectNoAnswer: async () => {},
  expectCorsRefusal: async () => {},
  expectNothingMore: async () => {},
}

export async function watch(context: BrowserContext): Promise<Watch> {
  const complaints: string[] = []
  const take = (text: string) =>
    vi.waitFor(() => {
      const index = complaints.indexOf(text)
      if (index === -1) throw new Error(`No "${text}" among the complaints ${JSON.stringify(complaints)}.`)
      complaints.splice(index, 1)
    }, patience)
  // Chromium logs violations of a Content-Security-Policy by itself, except for an `eval` whose error is caught.
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => console.error(`violation: ${event.violatedDirective}`))
  })
  context.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} ${new URL(response.url()).pathname}`)
  })
  context.on('console', (message) => {
    const isComplaint = message.type() === 'error' || message.type() === 'warning'
    if (isComplaint && !isFailedAnswer(message)) complaints.push(textOf(message))
  })
  context.on('weberror', (error) => complaints.push(`uncaught: ${error.error()}`))
  return {
    expectFailedAnswers: async (...answers) => {
      for (const { status, path } of answers) await take(`${status} ${path}`)
    },
    expectNoAnswer: async ({ error, path, times }) => {
      for (let count = 0; count < times; count++) await take(`${error} ${path}`)
    },
    expectCorsRefusal: (path) => take(`refused by CORS ${path}`),
    expectNothingMore: async () => {
      // The messages of a page, and of a worker, come in order: after the answer to a question nothing older follows.
      for (const page of context.pages()) {
        for (const worker of page.workers()) await worker.evaluate('0')
        await page.evaluate('0')
      }
      expect(complaints.splice(0)).toEqual([])
    },
  }
}

/** Chromium logs the failed responses of a page; the `response` event has those of every browser, and of workers. */
function isFailedAnswer(message: ConsoleMessage): boolean {
  return message.text().startsWith('Failed to load resource: the server responded with a status of ')
}

function textOf(message: ConsoleMessage): string {
  const text = message.text()
  const failed = /^Failed to load resource: (net::\w+)/.exec(text)
  if (failed !== null) return `${failed[1]} ${new URL(message.location().url).pathname}`
  const refused = /^Access to fetch at '([^']+)' from origin '[^']+' has been blocked by CORS policy/.exec(text)
  if (refused !== null) return `refused by CORS ${new URL(refused[1] ?? '').pathname}`
  return `${message.type()}: ${text}`
}
