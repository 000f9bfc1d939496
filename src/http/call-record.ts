import { type Attempt, isSupportWorkspaceError, type Outcome, type RequestError } from '../errors/index.ts'
import { isError } from '../errors/redact.ts'
import { CallClock } from './call-clock.ts'
import { type EventOf, emit, type Hooks, type OperationEvent } from './hooks.ts'
import type { CapturedCall } from './input.ts'
import type { ResponseHead } from './response.ts'
import type { ClientSettings } from './settings.ts'

/** Starts anywhere, because two copies of this package (ESM and CommonJS) may share hooks. */
let lastCallId = Math.floor(Math.random() * 2 ** 40)

/** The reason of a call that is aborted because its list is no longer read. That is no failure. */
export const abandoned: unknown = /* @__PURE__ */ new DOMException('The loop over the list has ended.', 'AbortError')

interface Failed {
  readonly error: unknown
  /** Whether the caller aborted. The error is then the reason. */
  readonly aborted: boolean
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
  #attempt: { readonly startedAt: number; readonly start: number } | undefined
  #worst: Outcome = 'not-sent'
  #response: ResponseHead | undefined

  constructor(call: CapturedCall, settings: ClientSettings, page: number | undefined) {
    this.call = call
    this.settings = settings
    this.clock = new CallClock(call.signal as AbortSignal | undefined, call.settings.totalTimeout)
    this.#page = page
    this.#emit('onOperationStart', (event) => event)
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
    this.#emit('onWait', (event) => ({ ...event, wait, reason: 'rate_limit' }))
  }

  /** Starts an attempt. Called when the request is sent: a failure before that is not an attempt. */
  startAttempt(): void {
    this.#attempt = { startedAt: Date.now(), start: performance.now() }
    this.#emit('onAttemptStart', (event) => ({ ...event, attempt: this.attempts.length + 1 }))
  }

  /**
   * Ends the attempt, if one was started.
   *
   * @param failed what it failed with, which can be any value. Absent if it succeeded.
   * @param wait delay before the retry in milliseconds, if there is one
   */
  endAttempt(response: ResponseHead | undefined, failed?: Failed & { readonly outcome: Outcome }, wait?: number): void {
    if (failed !== undefined) this.#worst = this.outcomeAfter(failed.outcome)
    const started = this.#attempt
    if (started === undefined) return
    this.#attempt = undefined
    this.#response = response
    const attempt = this.attempts.length + 1
    const duration = Math.round(performance.now() - started.start)
    const status = response?.status
    const error = failed && nameOf(failed)
    this.attempts.push({
      startedAt: started.startedAt,
      duration,
      ...(status !== undefined && { status }),
      ...(error !== undefined && { error }),
      ...(wait !== undefined && { wait }),
    })
    this.#emit('onAttemptEnd', (event) => ({
      ...event,
      attempt,
      duration,
      status,
      requestId: response?.requestId,
      error,
    }))
    if (wait === undefined) return
    // A body that is cut off comes with the status of a success.
    const reason = status !== undefined && status >= 400 ? status : (error ?? '')
    this.#emit('onRetry', (event) => ({ ...event, attempt, wait, reason }))
  }

  /** @param failed what the call rejects with, which can be any value. Absent if it succeeded. */
  end(failed?: Failed): void {
    this.#emit('onOperationEnd', (event) => ({
      ...event,
      duration: Math.round(performance.now() - this.start),
      attempts: this.attempts.length,
      status: this.#response?.status,
      requestId: this.#response?.requestId,
      error: failed && nameOf(failed),
      outcome: isSupportWorkspaceError(failed?.error) ? (failed.error as Partial<RequestError>).outcome : undefined,
    }))
  }

  /** Calls a hook, if it is defined, with an event that is created only then. */
  #emit<Name extends keyof Hooks>(name: Name, complete: (event: OperationEvent) => EventOf<Name>): void {
    const { hooks, actor, baseUrl } = this.settings
    const { id, method, path } = this.call.operation
    emit(hooks, name, () =>
      complete({
        callId: this.#id,
        operation: id,
        method,
        urlTemplate: baseUrl.href.replace(/\/$/, '') + path,
        actor,
        page: this.#page,
      }),
    )
  }
}

/** Returns an error name for any thrown value. */
function nameOf({ error, aborted }: Failed): string | undefined {
  if (error === abandoned) return undefined
  if (isError(error)) return error.name
  return aborted ? 'AbortError' : 'Error'
}
