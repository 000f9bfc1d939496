import { notify } from './notify.ts'

/** Throws the reason of a caller's signal if it has aborted. */
export function throwIfAborted(
  signal: { readonly aborted: boolean; readonly reason?: unknown } | null | undefined,
): void {
  if (signal?.aborted) throw signal.reason
}

/** Aborts a controller when a signal aborts, with the same reason. Returns a function that removes the listener. */
export function forwardAbort(signal: AbortSignal | null | undefined, controller: AbortController): () => void {
  const abort = () => controller.abort(signal?.reason)
  if (signal?.aborted) abort()
  else signal?.addEventListener('abort', abort)
  return () => unlisten(signal, abort)
}

/** Removes a listener. If the caller's signal throws, its error must not replace the result of the call. */
export function unlisten(signal: AbortSignal | null | undefined, listener: () => void): void {
  notify(() => signal?.removeEventListener('abort', listener))
}

/**
 * Returns the result of the promise, or rejects with the signal's reason as soon as the signal aborts. This also works
 * if the operation behind the promise ignores the signal (a custom fetch, a token provider). Removes its listener at
 * the end.
 */
export async function untilAborted<Value>(
  promise: PromiseLike<Value>,
  signal: AbortSignal | undefined,
): Promise<Value> {
  if (signal === undefined) return promise
  return new Promise((resolve, reject) => {
    const settle = <Result>(report: (result: Result) => void) => {
      return (result: Result) => {
        unlisten(signal, abort)
        report(result)
      }
    }
    const fail = settle(reject)
    const abort = () => fail(signal.reason)
    // First, so that its rejection is handled also if the caller's signal throws.
    promise.then(settle(resolve), fail)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort)
  })
}

/**
 * Waits, unless the signal aborts: then rejects with its reason.
 *
 * @param duration in milliseconds
 */
export async function sleep(duration: number, signal: AbortSignal | undefined): Promise<void> {
  throwIfAborted(signal)
  if (duration <= 0) return
  let timer: ReturnType<typeof setTimeout> | undefined
  const pause = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, duration)
  })
  try {
    await untilAborted(pause, signal)
  } finally {
    clearTimeout(timer)
  }
}
