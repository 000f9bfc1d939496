import { forwardAbort, untilAborted } from '../abort.ts'
import { longestTimer } from '../check-options.ts'
import { notify } from '../notify.ts'

/** Thrown when a step of a call takes longer than its own limit. */
export class StepTimeout {}

/**
 * The clock of a call: the caller's signal and the total timeout, which cover every request, body and wait. Time is
 * monotonic, so changes of the wall clock have no effect.
 */
export class CallClock {
  readonly totalTimeout: number
  readonly #controller = new AbortController()
  readonly #deadline: number
  readonly #unfollow: () => void
  readonly #timers = new Set<ReturnType<typeof setTimeout>>()
  #hasExpired = false

  /** @param totalTimeout in milliseconds */
  constructor(caller: AbortSignal | undefined, totalTimeout: number) {
    this.totalTimeout = totalTimeout
    this.#deadline = performance.now() + totalTimeout
    this.#unfollow = forwardAbort(caller, this.#controller)
    this.#after(totalTimeout, () => this.#expire())
  }

  /** Aborts with the caller's reason, or when the total timeout expires. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Whether the total timeout has ended the call. */
  get hasExpired(): boolean {
    return this.#hasExpired
  }

  /** Time left of the total timeout, in milliseconds. */
  get remaining(): number {
    return this.#deadline - performance.now()
  }

  /** Throws if the call is over. Synchronous work can outrun the timer. */
  throwIfOver(): void {
    if (this.remaining <= 0) this.#expire()
    this.signal.throwIfAborted()
  }

  /**
   * Settles with a step that may ignore the signal. Rejects as soon as the signal aborts.
   *
   * @param timeout limit of the step, in milliseconds
   * @throws StepTimeout
   */
  async run<Value>(step: PromiseLike<Value>, timeout: number = Number.POSITIVE_INFINITY): Promise<Value> {
    if (timeout > longestTimer) return untilAborted(step, this.signal)
    let stop: (() => void) | undefined
    const limit = new Promise<never>((_, reject) => {
      stop = this.#after(timeout, () => reject(new StepTimeout()))
    })
    return untilAborted(Promise.race([step, limit]), this.signal).finally(stop)
  }

  /** Returns a promise that resolves after a time in milliseconds, or never if the call ends before. */
  pause(duration: number): Promise<void> {
    return new Promise((resolve) => {
      this.#after(Math.min(duration, longestTimer), resolve)
    })
  }

  /** Removes the timers and the listener. */
  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    // The signal of a polyfill may throw.
    notify(this.#unfollow)
  }

  #expire(): void {
    if (this.signal.aborted) return
    this.#hasExpired = true
    this.#controller.abort(new DOMException('The total timeout has expired.', 'TimeoutError'))
  }

  /** Starts a timer. Returns a function that stops it. A limit longer than a timer supports is no limit. */
  #after(delay: number, run: () => void): () => void {
    if (delay > longestTimer) return () => {}
    const timer = setTimeout(run, Math.ceil(Math.max(0, delay)))
    this.#timers.add(timer)
    return () => {
      clearTimeout(timer)
      this.#timers.delete(timer)
    }
  }
}
