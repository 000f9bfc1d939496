import { scopes } from './simulated-time.ts'

type Listener = (error: unknown, detail: unknown) => void

/**
 * Adds the unhandled errors of a scope to the `uncaught` list of its process. All other unhandled errors go to the
 * listeners that were there before. Returns a function that ends this.
 */
export function watchUncaught(event: 'unhandledRejection' | 'uncaughtException'): () => void {
  // Raw listeners keep the wrapper of `once`, so that such a listener still runs at most once when it is added back.
  const others = process.rawListeners(event) as Listener[]
  const listener: Listener = (error, detail) => {
    const scope = scopes.getStore()
    // Errors of a killed process are ignored.
    if (scope?.owner.isEnded) return
    if (scope !== undefined) scope.owner.uncaught.push(error)
    else if (others.length === 0) throw error
    else for (const other of others) other(error, detail)
  }
  process.removeAllListeners(event)
  process.on(event, listener)
  return () => {
    process.off(event, listener)
    for (const other of others) process.on(event, other)
  }
}
