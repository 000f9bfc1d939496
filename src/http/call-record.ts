import type { Attempt, Outcome, RequestError, ResponseInfo } from '../errors/index.ts'
import { isSupportWorkspaceError } from '../errors/index.ts'
import { isError } from '../errors/redact.ts'
import type { Operation } from '../operation.ts'
import type { Failure } from './failure.ts'
import { emit, type OperationEvent } from './hooks.ts'
import type { Settings } from './settings.ts'

/** Keeps what happened in one call, for its error and for the hooks. */
export class CallRecord {
  readonly operation: Operation
  readonly attempts: Attempt[] = []
  readonly #hooks: Settings['hooks']
  readonly #event: OperationEvent
  readonly #startedAt = Date.now()
  #attemptStartedAt = 0
  #worst: Outcome = 'not-sent'
  #answer: ResponseInfo | undefined

  constructor(operation: Operation, settings: Settings, page: number | undefined) {
    this.operation = operation
    this.#hooks = settings.hooks
    this.#event = { operation: operation.id, actor: settings.actor, page }
    emit(this.#hooks, 'onOperationStart', { ...this.#event })
  }

  startAttempt(): void {
    this.#attemptStartedAt = Date.now()
    emit(this.#hooks, 'onAttemptStart', { ...this.#event, attempt: this.attempts.length + 1 })
  }

  endAttempt(response: ResponseInfo | undefined, failure?: Pick<Failure, 'name' | 'outcome'>, wait?: number): void {
    const attempt = this.attempts.length + 1
    const duration = Date.now() - this.#attemptStartedAt
    const status = response?.status
    this.#answer = response
    this.attempts.push({
      startedAt: this.#attemptStartedAt,
      duration,
      ...(status !== undefined && { status }),
      ...(failure !== undefined && { error: failure.name }),
      ...(wait !== undefined && { wait }),
    })
    if (failure !== undefined) this.#worst = this.#worse(failure.outcome)
    const event = { ...this.#event, attempt }
    emit(this.#hooks, 'onAttemptEnd', {
      ...event,
      duration,
      status,
      requestId: response?.requestId,
      error: failure?.name,
    })
    if (wait !== undefined) emit(this.#hooks, 'onRetry', { ...event, wait, reason: status ?? failure?.name ?? '' })
  }

  /** The attempt ends because the caller aborted it, or because there is no token to send. */
  abandonAttempt(thrown: unknown): void {
    this.endAttempt(undefined, { name: nameOf(thrown), outcome: 'unknown' })
  }

  /** The error of the call, once no attempt follows. */
  toError(failure: Failure): RequestError {
    return failure.toError({ outcome: this.#worse(failure.outcome), attempts: this.attempts })
  }

  end(error?: unknown): void {
    emit(this.#hooks, 'onOperationEnd', {
      ...this.#event,
      duration: Date.now() - this.#startedAt,
      attempts: this.attempts.length,
      status: this.#answer?.status,
      requestId: this.#answer?.requestId,
      error: error === undefined ? undefined : nameOf(error),
      outcome: isSupportWorkspaceError(error) ? (error as Partial<RequestError>).outcome : undefined,
    })
  }

  /** A write that may have taken effect once stays so, whatever a later attempt is told. A read has no effect. */
  #worse(outcome: Outcome): Outcome {
    const worst = this.#worst
    if (outcome === 'not-sent') return worst
    if (this.operation.method === 'GET') return outcome
    return worst === 'unknown' ? worst : outcome
  }
}

/** The reason of an abort can be anything at all. */
function nameOf(thrown: unknown): string {
  return isError(thrown) ? thrown.name : 'AbortError'
}
