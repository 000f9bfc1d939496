import { expect, vi } from 'vitest'
import type { WebFetch } from '../../../src/index.ts'

/** A `fetch` that can hold calls back, before they are sent or before their answer is given. */
export function heldFetch() {
  let held: 'nothing' | 'requests' | 'answers' = 'nothing'
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
    if (held === 'answers') await arrive()
    return response
  }
  return {
    fetch: send,
    hold: (what: 'requests' | 'answers') => {
      held = what
      arrived = 0
    },
    /** Resolves when exactly this many calls are held. Rejects when they are not after 10 seconds. */
    held: (count: number) =>
      vi.waitFor(() => expect(arrived, 'calls held').toBe(count), { timeout: 10_000, interval: 5 }),
    release: () => {
      held = 'nothing'
      for (const resolve of waiting) resolve()
      waiting.clear()
    },
  }
}
