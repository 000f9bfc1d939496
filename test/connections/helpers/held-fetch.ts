import { expect, vi } from 'vitest'
import type { WebFetch } from '../../../src/index.ts'

/** A `fetch` that can hold calls back before they are sent. */
export function heldFetch() {
  let isHolding = false
  const waiting: (() => void)[] = []
  const send: WebFetch = async (url, init) => {
    if (isHolding) await new Promise<void>((resolve) => waiting.push(resolve))
    return fetch(url, init)
  }
  return {
    fetch: send,
    hold: () => {
      isHolding = true
    },
    /** Resolves once exactly this many calls are held. Rejects after 10 seconds. */
    held: (count: number) => vi.waitFor(() => expect(waiting).toHaveLength(count), { timeout: 10_000, interval: 5 }),
    release: () => {
      isHolding = false
      for (const resolve of waiting.splice(0)) resolve()
    },
  }
}
