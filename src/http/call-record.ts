import type { Attempt, Outcome, RequestError } from '../errors/index.ts'
import { isSupportWorkspaceError } from '../errors/index.ts'
import { isError } from '../errors/redact.ts'
import type { Operation } from '../operation.ts'
import type { AttemptFailure, FailedCall } from './failure.ts'
import { type EventOf, emit, type Hooks, type OperationEvent } from './hooks.ts'
import type { ResponseHead } from './response.ts'
import { isIdempotent } from './retry.ts'
import type { ClientSettings } from './settings.ts'

/** Starts anywhere, because two copies of this package (ESM and CommonJS) may share hooks. */
let lastCallId = Math.floor(Math.random() * 2 ** 40)

/** Records the attempts of a call, for its error and for hooks. */
export class CallRecord {
  readonly operation: Operation
  readonly attempts: Attempt[] = []
  /** The tokens that were sent, which no error may quote. */
  readonly accessTokens: string[] = []
  readonly #id = ++lastCallId
  readonly #settings: ClientSettings
  readonly #page: number | undefined
  readonly #start = performance.now()
  #attempt: { readonly startedAt: number; readonly start: number } | undefined
  #worst: Outcome = 'not-sent'
  #response: ResponseHead | undefined

  constructor(operation: Operation, settings: ClientSettings, page: number | undefined) {
    this.operation = operation
    this.#settings = settings
    this.#page = page
    this.#emit('onOperationStart', (event) => event)
  }

  /** Emits `onWait`, in milliseconds. */
  wait(wait: number): void {
    this.#emit('onWait', (event) => ({ ...event, wait, reason: 'rate_limit' }))
  }

  /** Starts an attempt. Called when the request is sent: a failure before that is not an attempt. */
  startAttempt(accessToken: string): void {
    this.accessTokens.push(accessToken)
    this.#attempt = { startedAt: Date.now(), start: performance.now() }
    this.#emit('onAttemptStart', (event) => ({ ...event, attempt: this.attempts.length + 1 }))
  }

  /** Ends the attempt, if one was started. */
  endAttempt(
    response: ResponseHead | undefined,
    failure?: Pick<AttemptFailure, 'name' | 'outcome'>,
    wait?: number,
  ): void {
    if (failure !== undefined) this.#worst = this.#worse(failure.outcome)
    const started = this.#attempt
    if (started === undefined) return
    this.#attempt = undefined
    const attempt = this.attempts.length + 1
    const duration = Math.round(performance.now() - started.start)
    const status = response?.status
    this.#response = response
    this.attempts.push({
      startedAt: started.startedAt,
      duration,
      ...(status !== undefined && { status }),
      ...(failure !== undefined && { error: failure.name }),
      ...(wait !== undefined && { wait }),
    })
    this.#emit('onAttemptEnd', (event) => ({
      ...event,
      attempt,
      duration,
      status,
      requestId: response?.requestId,
      error: failure?.name,
    }))
    if (wait === undefined) return
    // A body that is cut off comes with the status of a success.
    const isRefusal = status !== undefined && status >= 400
    this.#emit('onRetry', (event) => ({ ...event, attempt, wait, reason: isRefusal ? status : (failure?.name ?? '') }))
  }

  /** Ends an attempt that was aborted. */
  abandonAttempt(thrown: unknown): void {
    if (this.#attempt !== undefined) this.endAttempt(undefined, { name: nameOf(thrown, true), outcome: 'unknown' })
  }

  /** Creates the error of the call after its last attempt. */
  toError(failure: FailedCall): RequestError {
    const outcome = this.#worse(failure.outcome)
    const remedy = outcome === 'unknown' && !isIdempotent(this.operation.method) ? 'verify' : failure.remedy
    return failure.toError({ outcome, remedy, attempts: this.attempts })
  }

  /** @param failed the error that the call rejects with, which can be any value. Absent if it succeeded. */
  end(failed?: { readonly error: unknown; readonly aborted: boolean }): void {
    this.#emit('onOperationEnd', (event) => ({
      ...event,
      duration: Math.round(performance.now() - this.#start),
      attempts: this.attempts.length,
      status: this.#response?.status,
      requestId: this.#response?.requestId,
      error: failed && nameOf(failed.error, failed.aborted),
      outcome: isSupportWorkspaceError(failed?.error) ? (failed.error as Partial<RequestError>).outcome : undefined,
    }))
  }

  /** Calls a hook, if it is defined, with an event that is created only then. */
  #emit<Name extends keyof Hooks>(name: Name, complete: (event: OperationEvent) => EventOf<Name>): void {
    const { hooks, actor, baseUrl } = this.#settings
    emit(hooks, name, () =>
      complete({
        callId: this.#id,
        operation: this.operation.id,
        method: this.operation.method,
        urlTemplate: baseUrl.href.replace(/\/$/, '') + this.operation.path,
        actor,
        page: this.#page,
      }),
    )
  }

  /** Once a write may have been applied, the outcome stays `unknown`, whatever later attempts return. */
  #worse(outcome: Outcome): Outcome {
    const worst = this.#worst
    if (outcome === 'not-sent') return worst
    if (this.operation.method === 'GET') return outcome
    return worst === 'unknown' ? worst : outcome
  }
}

/** Returns an error name for any thrown value, such as an abort reason. */
function nameOf(thrown: unknown, aborted: boolean): string {
  if (isError(thrown)) return thrown.name
  return aborted ? 'AbortError' : 'Error'
}
