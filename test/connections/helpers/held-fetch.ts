import { expect, vi } from 'vitest'
import type { WebFetch } from '../../../src/index.ts'

/** A `fetch` that can hold calls back, before they are sent or before their response is returned. */
export function heldFetch() {
  let held: 'nothing' | 'requests' | 'responses' = 'nothing'
  let arrived = 0
  const waiting = new Set<() => void>()
  const arrive = () =>
    new Promise<void>((resolve) => {
      arrived += 1
      waiting.add(resolve)
    })
  const send: WebFetch = async (url, init) => {
    if (held === 'requests') await arrive()
    const response = await fetch(url, init)
    if (held === 'responses') await arrive()
    return response
  }
  return {
    fetch: send,
    hold: (what: 'requests' | 'responses') => {
      held = what
      arrived = 0
    },
    /** Resolves once exactly this many calls are held. Rejects after 10 seconds. */
    held: (count: number) =>
      vi.waitFor(() => expect(arrived, 'calls held').toBe(count), { timeout: 10_000, interval: 5 }),
    release: () => {
      held = 'nothing'
      for (const resolve of waiting) resolve()
      waiting.clear()
    },
  }
}
