import { scopes } from './simulated-time.ts'

type Listener = (error: unknown, detail: unknown) => void

/**
 * Reports the unhandled errors of a scope to its owner. Other unhandled errors go to the listeners of the program.
 * Returns a function that ends the watch.
 */
export function watchUncaught(event: 'unhandledRejection' | 'uncaughtException'): () => void {
  // Raw, so that one of `once` is still one afterwards, unless it was called.
  const others = new Set(process.rawListeners(event) as (Listener & { listener?: unknown })[])
  const listener: Listener = (error, detail) => {
    const scope = scopes.getStore()
    // Errors after a kill are ignored.
    if (scope?.owner.isEnded) return
    if (scope !== undefined) scope.owner.uncaught.push(error)
    else if (others.size === 0) throw error
    else {
      for (const other of others) {
        if (other.listener !== undefined) others.delete(other)
        other(error, detail)
      }
    }
  }
  process.removeAllListeners(event)
  process.on(event, listener)
  return () => {
    process.off(event, listener)
    for (const other of others) process.on(event, other)
  }
}
