import type { WebFetch } from '../../../src/index.ts'

/** A `fetch` that can hold calls back, before they are sent or before their answer is given. */
export function heldFetch() {
  let held: 'nothing' | 'requests' | 'answers' = 'nothing'
  let arrived = 0
  const waiting = new Set<() => void>()
  const watchers: { count: number; resolve: () => void }[] = []
  const arrive = () =>
    new Promise<void>((resolve) => {
      arrived += 1
      waiting.add(resolve)
      for (const watcher of watchers) if (arrived >= watcher.count) watcher.resolve()
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
    /** Resolves when so many are held. */
    held: (count: number) =>
      arrived >= count ? Promise.resolve() : new Promise<void>((resolve) => void watchers.push({ count, resolve })),
    release: () => {
      held = 'nothing'
      for (const resolve of waiting) resolve()
      waiting.clear()
    },
  }
}
