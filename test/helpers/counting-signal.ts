/** An abort signal that counts its listeners. */
export interface CountingSignal {
  readonly signal: AbortSignal
  readonly listeners: number
  /** The highest number of listeners at one time. */
  readonly most: number
  /** The number of listeners added in total. */
  readonly added: number
  abort(reason?: unknown): void
}

export function countingSignal(): CountingSignal {
  const controller = new AbortController()
  const { signal } = controller
  const listeners = new Set<unknown>()
  const counts = { most: 0, added: 0 }
  const { addEventListener, removeEventListener } = signal
  signal.addEventListener = (type: string, listener: never, options?: never) => {
    listeners.add(listener)
    counts.added += 1
    counts.most = Math.max(counts.most, listeners.size)
    addEventListener.call(signal, type, listener, options)
  }
  signal.removeEventListener = (type: string, listener: never, options?: never) => {
    listeners.delete(listener)
    removeEventListener.call(signal, type, listener, options)
  }
  return {
    signal,
    get listeners() {
      return listeners.size
    },
    get most() {
      return counts.most
    },
    get added() {
      return counts.added
    },
    abort: (reason) => controller.abort(reason),
  }
}
