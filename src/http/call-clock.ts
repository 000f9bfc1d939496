import { longestTimer } from '../check-options.ts'

/** Aborts the controller with the signal's reason when the signal is. Returns how to stop following it. */
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

/** Which limit ended a call. */
export class TimeLimit {
  readonly limit: 'attempt' | 'total'
  readonly timeout: number

  constructor(limit: 'attempt' | 'total', timeout: number) {
    this.limit = limit
    this.timeout = timeout
  }
}

/**
 * The one clock of a call: the caller's signal and the total time limit, for every request, body and wait of it.
 * `signal` is aborted with the caller's reason, or with a `TimeLimit`. Time is monotonic: a wall clock that jumps
 * neither ends a call nor holds it.
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

  /** How much of the total time is left, in ms. */
  get remaining(): number {
    return this.#deadline - performance.now()
  }

  /** A controller for one attempt: ends with the call, or when its own time is up. */
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

  /** Waits some ms, as far as a timer can. Rejects at once with the signal's reason when the call ends first. */
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

  /** Takes back the listener on the caller's signal and the timer. */
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
