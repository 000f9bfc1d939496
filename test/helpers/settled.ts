import { setImmediate as turn } from 'node:timers/promises'
import { vi } from 'vitest'

/**
 * Returns what a promise resolves to, or rejects with its reason, without waiting for a timer. Throws when the promise is
 * still pending after a hundred turns of the event loop: under fake timers it would stay pending until the test times out.
 * `setImmediate` must not be faked.
 */
export async function settled<Value>(promise: PromiseLike<Value>): Promise<Value> {
  const isPending = watch(promise)
  for (let turns = 0; turns < 100 && isPending(); turns += 1) await turn()
  if (isPending()) throw new Error('The promise is still pending, with nothing left to wait for.')
  return promise
}

/** Like `settled`, but runs the fake timers that the promise is waiting for. */
export async function settledAfterTimers<Value>(promise: PromiseLike<Value>): Promise<Value> {
  const isPending = watch(promise)
  for (;;) {
    await vi.advanceTimersByTimeAsync(0)
    if (!isPending() || vi.getTimerCount() === 0) return settled(promise)
    await vi.advanceTimersToNextTimerAsync()
  }
}

function watch(promise: PromiseLike<unknown>): () => boolean {
  let pending = true
  const finish = () => {
    pending = false
  }
  promise.then(finish, finish)
  return () => pending
}
