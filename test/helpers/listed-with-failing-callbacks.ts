import { expect, vi } from 'vitest'
import { failingCallbacks } from './failing-callbacks.ts'
import { unhandledDuring } from './unhandled.ts'

/**
 * Lists entries of which one cannot be read, with an `onUnreadable` that returns, throws and rejects. Returns the list and
 * the error that each was told, and expects that it was told once and that nothing was left unhandled.
 */
export async function listedWithFailingCallbacks<Item>(
  list: (options: { readonly onUnreadable: (error: Error) => void }) => Promise<readonly Item[]>,
): Promise<(readonly [items: readonly Item[], error: Error | undefined])[]> {
  const results: (readonly [readonly Item[], Error | undefined])[] = []
  const callbacks: (() => unknown)[] = [() => {}, ...failingCallbacks(new Error('no log')).map(([, fail]) => fail)]
  for (const callback of callbacks) {
    const onUnreadable = vi.fn<(error: Error) => void>(() => callback() as undefined)
    let items: readonly Item[] = []
    const unhandled = await unhandledDuring(async () => {
      items = await list({ onUnreadable })
    })
    expect(unhandled).toEqual([])
    expect(onUnreadable).toHaveBeenCalledTimes(1)
    results.push([items, onUnreadable.mock.lastCall?.[0]])
  }
  return results
}
