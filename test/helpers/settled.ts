import { setImmediate as turn } from 'node:timers/promises'

/**
 * Returns what a promise resolves to, or rejects with, when no timer and no network is left to wait for. Throws when the
 * promise is still pending after a hundred turns of the event loop: with a fake clock it would stay pending until the
 * time limit of the test. `setImmediate` must not be faked.
 */
export async function settled<Value>(promise: PromiseLike<Value>): Promise<Value> {
  let pending = true
  const finish = () => {
    pending = false
  }
  promise.then(finish, finish)
  for (let turns = 0; turns < 100 && pending; turns += 1) await turn()
  if (pending) throw new Error('The promise is still pending, with nothing left to wait for.')
  return promise
}
