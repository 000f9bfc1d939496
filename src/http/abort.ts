/** Aborts the controller with the signal's reason when the signal is. Returns how to stop following it. */
export function follow(signal: AbortSignal | null | undefined, controller: AbortController): () => void {
  if (!signal) return () => {}
  const abort = () => controller.abort(signal.reason)
  if (signal.aborted) {
    abort()
    return () => {}
  }
  signal.addEventListener('abort', abort)
  return () => signal.removeEventListener('abort', abort)
}

/**
 * The promise, or a rejection with the signal's reason as soon as it is aborted, also where what stands behind the
 * promise does not listen to the signal (a fetch of the caller's own, a token provider). Leaves no listener behind.
 */
export function untilAborted<Value>(promise: PromiseLike<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    const done = () => signal.removeEventListener('abort', abort)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort)
    promise.then(
      (value) => {
        done()
        resolve(value)
      },
      (error) => {
        done()
        reject(error)
      },
    )
  })
}
