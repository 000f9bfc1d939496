import { forwardAbort, untilAborted } from '../shared/abort.ts'
import { longestTimer } from '../shared/check-options.ts'
import { type Attempt, isSupportWorkspaceError, type Outcome, type RequestError } from '../shared/errors/index.ts'
import { isError } from '../shared/errors/redact.ts'
import { notify } from '../shared/notify.ts'
import { type EventOf, emit, type Hooks, type OperationEvent } from './hooks.ts'
import type { CapturedCall } from './input.ts'
import type { ResponseHead } from './response.ts'
import type { ClientSettings } from './settings.ts'

/** Starts anywhere, because two copies of this package (ESM and CommonJS) may share hooks. */
let lastCallId = Math.floor(Math.random() * 2 ** 40)

/** The reason of a call that is aborted because its list is no longer read. That is no failure. */
export const abandoned: unknown = /* @__PURE__ */ new DOMException('The loop over the list has ended.', 'AbortError')

/** What an attempt or a call failed with, which can be any value. */
interface Failed {
  readonly error: unknown
}

/** What the record reads of an attempt. */
export interface AttemptProgress {
  /** When `fetch` was called, by both clocks in milliseconds. */
  started?: { readonly at: number; readonly time: number }
  /** Status and headers, once they were received. */
  head?: ResponseHead
}

/** A call under way: what was captured, its clock, and its attempts, for its error and for hooks. */
export class CallRecord {
  readonly call: CapturedCall
  readonly settings: ClientSettings
  readonly clock: CallClock
  readonly attempts: Attempt[] = []
  /** What no error may quote: the cursor of the page, and every token that was sent. */
  readonly secrets: string[] = []
  readonly #id = ++lastCallId
  readonly #page: number | undefined
  /** When the call was made, in milliseconds of `performance.now()`. */
  readonly start = performance.now()
  /** The attempt under way. */
  #attempt: AttemptProgress | undefined
  #worst: Outcome = 'not-sent'
  #response: ResponseHead | undefined

  constructor(call: CapturedCall, settings: ClientSettings, page: number | undefined) {
    this.call = call
    this.settings = settings
    this.clock = new CallClock(call.signal as AbortSignal | undefined, call.settings.totalTimeout)
    this.#page = page
    this.#emit('onOperationStart', {})
  }

  /**
   * Returns the outcome of the call if the next thing that happens to it has this outcome. Once a write may have been
   * applied, it stays `unknown`. A read changes nothing.
   */
  outcomeAfter(outcome: Outcome): Outcome {
    if (this.#worst === 'unknown') return 'unknown'
    if (outcome === 'not-sent') return this.#worst
    return outcome === 'unknown' && this.call.operation.method === 'GET' ? 'no-effect' : outcome
  }

  /** Emits `onWait`, in milliseconds. */
  wait(wait: number): void {
    this.#emit('onWait', { wait, reason: 'rate_limit' })
  }

  /** Starts an attempt. Called when the request is sent: a failure before that is not an attempt. */
  startAttempt(attempt: AttemptProgress): void {
    attempt.started = { at: Date.now(), time: performance.now() }
    this.#attempt = attempt
    this.#emit('onAttemptStart', { attempt: this.attempts.length + 1 })
  }

  /**
   * Ends the attempt, if one was started.
   *
   * @param failed absent if it succeeded
   * @param wait delay before the retry in milliseconds, if there is one
   */
  endAttempt(failed?: Failed, wait?: number): void {
    if (failed !== undefined) this.#worst = this.outcomeAfter(outcomeOf(failed) ?? 'unknown')
    const { started, head } = this.#attempt ?? {}
    if (started === undefined) return
    this.#attempt = undefined
    this.#response = head
    const attempt = this.attempts.length + 1
    const duration = Math.round(performance.now() - started.time)
    const status = head?.status
    const error = failed && this.#nameOf(failed)
    this.attempts.push({
      startedAt: started.at,
      duration,
      ...(status !== undefined && { status }),
      ...(error !== undefined && { error }),
      ...(wait !== undefined && { wait }),
    })
    this.#emit('onAttemptEnd', { attempt, duration, status, requestId: head?.requestId, error })
    if (wait === undefined) return
    // A body that is cut off comes with the status of a success.
    const reason = status !== undefined && status >= 400 ? status : (error ?? '')
    this.#emit('onRetry', { attempt, wait, reason })
  }

  /** @param failed absent if the call succeeded */
  end(failed?: Failed): void {
    this.#emit('onOperationEnd', {
      duration: Math.round(performance.now() - this.start),
      attempts: this.attempts.length,
      status: this.#response?.status,
      requestId: this.#response?.requestId,
      error: failed && this.#nameOf(failed),
      outcome: failed && outcomeOf(failed),
    })
  }

  #nameOf({ error }: Failed): string | undefined {
    if (error === abandoned) return undefined
    if (isError(error)) return error.name
    return this.call.signal?.aborted ? 'AbortError' : 'Error'
  }

  #emit<Name extends keyof Hooks>(name: Name, details: Omit<EventOf<Name>, keyof OperationEvent>): void {
    const { hooks, actor, baseUrl } = this.settings
    const { id, method, path } = this.call.operation
    emit(hooks, name, () => {
      const urlTemplate = baseUrl.href.replace(/\/$/, '') + path
      const event = { callId: this.#id, operation: id, method, urlTemplate, actor, page: this.#page }
      return { ...event, ...details } as unknown as EventOf<Name>
    })
  }
}

function outcomeOf({ error }: Failed): Outcome | undefined {
  return isSupportWorkspaceError(error) ? (error as Partial<RequestError>).outcome : undefined
}

/** Thrown when a step of a call takes longer than its own limit. */
export class StepTimeout {}

/**
 * The clock of a call: the caller's signal and the total timeout, which cover every request, body and wait. Time is
 * monotonic, so changes of the wall clock have no effect.
 */
export class CallClock {
  readonly #controller = new AbortController()
  readonly #deadline: number
  readonly #unfollow: () => void
  readonly #timers: ReturnType<typeof setTimeout>[] = []
  #hasExpired = false

  /** @param totalTimeout in milliseconds */
  constructor(caller: AbortSignal | undefined, totalTimeout: number) {
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
   * Settles with a step that may ignore the signal. Rejects as soon as the signal aborts. A value needs no timer.
   *
   * @param timeout limit of the step, in milliseconds
   * @throws StepTimeout
   */
  async run<Value>(step: Value | PromiseLike<Value>, timeout: number = Number.POSITIVE_INFINITY): Promise<Value> {
    if (!isPromise(step)) return step
    const limit = new Promise<never>((_, reject) => {
      this.#after(timeout, () => reject(new StepTimeout()))
    })
    return untilAborted(Promise.race([step, limit]), this.signal)
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

  /** Starts a timer, which ends with the call. A limit longer than a timer supports is no limit. */
  #after(delay: number, run: () => void): void {
    if (delay <= longestTimer) this.#timers.push(setTimeout(run, Math.ceil(Math.max(0, delay))))
  }
}

function isPromise(step: unknown): step is PromiseLike<unknown> {
  return typeof (step as PromiseLike<unknown> | null | undefined)?.then === 'function'
}
