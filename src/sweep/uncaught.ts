import { scopes } from './clock.ts'

type Listener = (error: unknown, detail: unknown) => void

/**
 * Reports the errors of an event that nobody handled in a scope to its owner. All others go where they went before. Returns
 * a function that ends it.
 */
export function watchUncaught(event: 'unhandledRejection' | 'uncaughtException'): () => void {
  const others = process.listeners(event as 'unhandledRejection') as Listener[]
  const listener: Listener = (error, detail) => {
    const scope = scopes.getStore()
    // Nobody sees how a process fails that was killed.
    if (scope?.owner.isEnded) return
    if (scope !== undefined) scope.owner.uncaught.push(error)
    else if (others.length > 0) for (const other of others) other(error, detail)
    else throw error
  }
  process.removeAllListeners(event)
  process.on(event, listener)
  return () => {
    process.off(event, listener)
    for (const other of others) process.on(event, other)
  }
}
