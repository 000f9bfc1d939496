import { longestTimer } from '../check-options.ts'

/** Throws the reason of a caller's signal if it has aborted. Polyfills have no `throwIfAborted`, and some no reason. */
export function throwIfAborted(
  signal: { readonly aborted: boolean; readonly reason?: unknown } | null | undefined,
): void {
  if (signal?.aborted) throw signal.reason ?? new DOMException('This operation was aborted', 'AbortError')
}

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

/** A signal for one step of a call, and a function that removes its timer and listener. */
interface Step {
  readonly signal: AbortSignal
  readonly stop: () => void
}

/**
 * The clock of a call: the caller's signal and the total timeout, which cover every request, body and wait. Each step
 * has one signal and one timer. Time is monotonic, so changes of the wall clock have no effect.
 */
export class CallClock {
  readonly #caller: AbortSignal | undefined
  readonly #totalTimeout: number
  readonly #deadline: number

  constructor(caller: AbortSignal | undefined, totalTimeout: number) {
    this.#caller = caller
    this.#totalTimeout = totalTimeout
    this.#deadline = performance.now() + totalTimeout
  }

  /** Whether the caller has aborted the call. */
  get isAborted(): boolean {
    return this.#caller?.aborted === true
  }

  /** Time left of the total timeout, in milliseconds. */
  get remaining(): number {
    return this.#deadline - performance.now()
  }

  /**
   * Starts a step. Its signal aborts with the caller's reason or, when the timeout or the total timeout expires, with a
   * `TimeLimit`.
   *
   * @param timeout in milliseconds
   */
  start(timeout: number = Number.POSITIVE_INFINITY): Step {
    const controller = new AbortController()
    const unfollow = forwardAbort(this.#caller, controller)
    const { remaining } = this
    const limit = timeout < remaining ? new TimeLimit('attempt', timeout) : new TimeLimit('total', this.#totalTimeout)
    const delay = Math.ceil(Math.min(timeout, remaining))
    let timer: ReturnType<typeof setTimeout> | undefined
    if (delay <= 0) controller.abort(limit)
    // A limit longer than a timer supports is no limit.
    else if (delay <= longestTimer) timer = setTimeout(() => controller.abort(limit), delay)
    return {
      signal: controller.signal,
      stop: () => {
        clearTimeout(timer)
        unfollow()
      },
    }
  }

  /** Runs a step that may ignore its signal. Rejects as soon as the signal aborts. */
  async run<Value>(step: (signal: AbortSignal) => PromiseLike<Value>): Promise<Value> {
    const { signal, stop } = this.start()
    try {
      return await untilAborted(step(signal), signal)
    } finally {
      stop()
    }
  }

  /** Waits for a duration in milliseconds. Rejects as soon as the call aborts. */
  async wait(duration: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined
    try {
      await this.run(
        () =>
          new Promise<void>((resolve) => {
            timer = setTimeout(resolve, Math.min(duration, longestTimer))
          }),
      )
    } finally {
      clearTimeout(timer)
    }
  }
}
