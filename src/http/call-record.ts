import type { Attempt, Outcome, RequestError, ResponseInfo } from '../errors/index.ts'
import { SupportWorkspaceError } from '../errors/index.ts'
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

  endAttempt(response: ResponseInfo | undefined, failure?: Failure, wait?: number): void {
    const attempt = this.attempts.length + 1
    const duration = Date.now() - this.#attemptStartedAt
    const status = response?.status
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

  /** The error of the call, once no attempt follows. */
  toError(failure: Failure): RequestError {
    return failure.toError({ outcome: this.#worse(failure.outcome), attempts: this.attempts })
  }

  end(response: ResponseInfo | undefined, error?: unknown): void {
    const failed = error instanceof SupportWorkspaceError ? (error as Partial<RequestError>) : undefined
    const answer = response ?? (failed as { response?: ResponseInfo } | undefined)?.response
    emit(this.#hooks, 'onOperationEnd', {
      ...this.#event,
      duration: Date.now() - this.#startedAt,
      attempts: this.attempts.length,
      status: answer?.status,
      requestId: answer?.requestId,
      error: failed?.name ?? (error === undefined ? undefined : 'AbortError'),
      outcome: failed?.outcome,
    })
  }

  /** A write that may have taken effect once stays so, whatever a later attempt is told. A read has no effect. */
  #worse(outcome: Outcome): Outcome {
    if (this.operation.method === 'GET') return outcome
    const worst = this.#worst
    return worst === 'unknown' || outcome === 'unknown' ? 'unknown' : worst === 'refused' ? 'refused' : outcome
  }
}
