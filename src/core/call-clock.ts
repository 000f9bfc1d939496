import { unlisten } from '../shared/abort.ts'
import { longestTimer } from '../shared/check-options.ts'

/**
 * The clock of a call: the caller's signal and the total timeout, which end every step, such as a request or the wait
 * for a permit. Only a single step is under way at a time, so a single timer is enough. No timer runs during the delay
 * before a retry, because `repeatAfter` allows only a delay that ends in time. Time is monotonic, so changes of the wall
 * clock have no effect.
 */
export class CallClock {
  readonly #caller: AbortSignal | undefined
  readonly #deadline: number
  readonly #outer: AbortSignal | undefined
  readonly #canFinish: boolean
  /** Aborts the step under way. */
  #step = new AbortController()
  /** Aborts what outlives a step: the delay before a retry, and the work of a journal. */
  #call: AbortController | undefined
  /** Whether a request is under way. */
  #isSending = false
  /** Rejects the step under way. */
  #interrupt: (reason: unknown) => void = () => {}
  /** Why the call ended early: `reason` is the caller's, or an error if its time is over. */
  end: { readonly reason: unknown; readonly isLate: boolean } | undefined

  /**
   * @param deadline when the time of the call is over, in milliseconds of `performance.now()`
   * @param outer aborts when the caller has the result, if middleware sends the call
   * @param canFinish whether a request under way can finish after that
   */
  constructor(caller: AbortSignal | undefined, deadline: number, outer?: AbortSignal, canFinish = false) {
    this.#caller = caller
    this.#deadline = deadline
    this.#outer = outer
    this.#canFinish = canFinish
    outer?.addEventListener('abort', this.#onOuterEnd)
    if (caller?.aborted) this.#onAbort()
    else caller?.addEventListener('abort', this.#onAbort)
  }

  /** Aborts when the call ends early, or does not wait for the step under way any longer. */
  get signal(): AbortSignal {
    return this.#step.signal
  }

  /** Returns a signal that aborts only when the call ends early. */
  createCallSignal(): AbortSignal {
    this.#call ??= new AbortController()
    if (this.end !== undefined) this.#call.abort(this.end.reason)
    return this.#call.signal
  }

  /** Whether something was thrown because the call ended early. */
  isEnd(thrown: unknown): boolean {
    return this.end !== undefined && thrown === this.end.reason
  }

  /** Time left of the total timeout, in milliseconds. */
  get remaining(): number {
    return this.#deadline - performance.now()
  }

  /** Ends the call if its time is over, because synchronous work can outrun the timer. Returns whether it has ended. */
  checkEnd(): boolean {
    if (this.remaining <= 0) this.#expire()
    if (this.#outer?.aborted) this.#onOuterEnd()
    return this.end !== undefined
  }

  throwIfOver(): void {
    if (this.checkEnd()) throw this.end?.reason
  }

  /**
   * Returns the result of a request. If the outer call ends meanwhile, `canFinish` says whether the request ends too.
   */
  async runRequest<Value>(request: PromiseLike<Value>, limit: number, errorAtLimit: () => unknown): Promise<Value> {
    this.#isSending = true
    try {
      return await this.run(request, limit, errorAtLimit)
    } finally {
      this.#isSending = false
    }
  }

  /**
   * Returns the result of a step, or rejects as soon as the call ends, even if the step ignores the signal.
   *
   * @param limit in milliseconds
   * @param errorAtLimit returns the error for a step that reaches the limit
   */
  async run<Value>(
    step: PromiseLike<Value>,
    limit = Number.POSITIVE_INFINITY,
    errorAtLimit: () => unknown = () => undefined,
  ): Promise<Value> {
    let timer: ReturnType<typeof setTimeout> | undefined
    try {
      return await new Promise<Value>((resolve, reject) => {
        this.#interrupt = reject
        step.then(resolve, reject)
        if (this.end !== undefined) return reject(this.end.reason)
        const { remaining } = this
        const delay = Math.ceil(Math.max(0, Math.min(limit, remaining)))
        // A timer cannot run for more than 24.8 days, so there is no limit.
        if (delay > longestTimer) return
        timer = setTimeout(() => (remaining <= limit ? this.#expire() : this.interrupt(errorAtLimit())), delay)
      })
    } finally {
      clearTimeout(timer)
    }
  }

  /** Rejects the step under way, and aborts its signal. The call goes on, so the next step has another signal. */
  interrupt(error: unknown): void {
    const step = this.#step
    this.#step = new AbortController()
    step.abort(new DOMException('The call does not wait for this step any longer.', 'TimeoutError'))
    this.#interrupt(error)
  }

  /** Stops following the signals. */
  stop(): void {
    if (this.#caller !== undefined) unlisten(this.#caller, this.#onAbort)
    if (this.#outer !== undefined) unlisten(this.#outer, this.#onOuterEnd)
  }

  readonly #onAbort = () => this.#endWith((this.#caller as AbortSignal).reason, false)

  readonly #onOuterEnd = () => {
    if (!this.#canFinish || !this.#isSending) this.#endWith((this.#outer as AbortSignal).reason, false)
  }

  #expire(): void {
    this.#endWith(new DOMException('The total timeout has expired.', 'TimeoutError'), true)
  }

  #endWith(reason: unknown, isLate: boolean): void {
    if (this.end !== undefined) return
    this.end = { reason, isLate }
    this.#step.abort(reason)
    this.#call?.abort(reason)
    this.#interrupt(reason)
  }
}

export function isPromise(step: unknown): step is PromiseLike<unknown> {
  return typeof (step as PromiseLike<unknown> | null | undefined)?.then === 'function'
}
