import { longestTimer } from '../check-options.ts'

/** Aborts a controller when a signal aborts, with the same reason. Returns a function that removes the listener. */
export function forwardAbort(signal: AbortSignal | null | undefined, controller: AbortController): () => void {
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
 * Settles with the promise, or rejects with the signal's reason as soon as the signal aborts, even if the operation
 * behind the promise ignores the signal (a custom fetch, a token provider). Leaves no listener behind.
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

/** The abort reason when a time limit expires. */
export class TimeLimit {
  readonly limit: 'attempt' | 'total'
  readonly timeout: number

  constructor(limit: 'attempt' | 'total', timeout: number) {
    this.limit = limit
    this.timeout = timeout
  }
}

/**
 * The clock of a call: the caller's signal and the total timeout, which cover every request, body and wait. `signal`
 * aborts with the caller's reason or with a `TimeLimit`. Time is monotonic, so changes of the wall clock have no effect.
 */
export class CallClock {
  readonly #controller = new AbortController()
  readonly #unfollow: () => void
  readonly #timer: ReturnType<typeof setTimeout> | undefined
  readonly #deadline: number

  constructor(signal: AbortSignal | undefined, totalTimeout: number) {
    this.#deadline = performance.now() + totalTimeout
    this.#unfollow = forwardAbort(signal, this.#controller)
    this.#timer = startTimer(this.#controller, new TimeLimit('total', totalTimeout))
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Time left of the total timeout, in milliseconds. */
  get remaining(): number {
    return this.#deadline - performance.now()
  }

  /** Starts the timeout of an attempt. The signal also aborts when the call does. */
  startAttempt(timeout: number): { signal: AbortSignal; stop: () => void } {
    const controller = new AbortController()
    const unfollow = forwardAbort(this.signal, controller)
    const timer = startTimer(controller, new TimeLimit('attempt', timeout))
    return {
      signal: controller.signal,
      stop: () => {
        clearTimeout(timer)
        unfollow()
      },
    }
  }

  /** Waits for a duration in milliseconds. Rejects with the signal's reason as soon as the call aborts. */
  wait(duration: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = () => {
        clearTimeout(timer)
        reject(this.signal.reason)
      }
      const timer = setTimeout(
        () => {
          this.signal.removeEventListener('abort', abort)
          resolve()
        },
        Math.min(duration, longestTimer),
      )
      if (this.signal.aborted) abort()
      else this.signal.addEventListener('abort', abort, { once: true })
    })
  }

  /** Removes the timer and the listener on the caller's signal. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#unfollow()
  }
}

/** Starts the timer of a limit. A limit longer than a timer supports is no limit. */
function startTimer(controller: AbortController, limit: TimeLimit): ReturnType<typeof setTimeout> | undefined {
  if (limit.timeout > longestTimer) return undefined
  return setTimeout(() => controller.abort(limit), limit.timeout)
}
