import { type Attempt, isSupportWorkspaceError, type Outcome, type RequestError } from '../errors/index.ts'
import { isError } from '../errors/redact.ts'
import { notify } from '../shared/notify.ts'
import { CallClock } from './call-clock.ts'
import { type EventOf, emit, type Hooks, type OperationEvent } from './hooks.ts'
import type { PreparedCall } from './input.ts'
import type { ResponseHead } from './response.ts'
import { type Failure, retryAfterOf } from './retry.ts'
import type { Sending } from './send-through.ts'
import type { ClientSettings } from './settings.ts'

/** Starts anywhere, because two copies of this package (ESM and CommonJS) can share hooks. */
let lastCallId = Math.floor(Math.random() * 2 ** 40)

/** The reason of a call that is aborted because its list is no longer read. Such a call does not count as failed. */
export const abandoned: unknown = /* @__PURE__ */ new DOMException('The loop over the list has ended.', 'AbortError')

/** The call of each error. After a timeout, a call can have two errors: the timeout, and that of a late response. */
const records = /* @__PURE__ */ new WeakMap<object, CallRecord>()

/** Of more attempts, an error lists the first one and the last ones. */
const listedAttempts = 20

/** A call under way, with what its layers share: its clock, attempts, secrets and last failure. Emits its events. */
export class CallRecord {
  readonly call: PreparedCall
  readonly settings: ClientSettings
  readonly clock: CallClock
  /** When the call was made, in milliseconds of `performance.now()`. */
  readonly start: number
  /** The failed attempts so far. Errors have this list, so it is replaced instead of changed. */
  attempts: readonly Attempt[] = []
  /** How many requests were sent. */
  sent = 0
  /** The cursor that the call of a list sends, if any. */
  readonly cursor: unknown
  /** Texts that errors must not quote: the cursor of the page, and every token that was sent. */
  readonly secrets: string[] = []
  /** The number of the request that was served last when the call sent its own last one. */
  servedBefore: number | undefined
  /** The last requests in a row that were limited while the service served no other request of their operation. */
  starved = 0
  /** What a rate limiter does when the call has ended. */
  readonly endListeners: (() => void)[] = []
  /** The failure of the last request. */
  failure: Failure | undefined
  readonly #id = ++lastCallId
  #worst: Outcome
  #head: ResponseHead | undefined

  /** @param sending what a middleware has sent of the call */
  constructor(call: PreparedCall, settings: ClientSettings, sending?: Sending) {
    this.call = call
    this.settings = settings
    this.start = call.startedAt ?? performance.now()
    // A read whose signal was replaced can finish after the call, because others might wait for its reply.
    const canFinish = call.operation.method === 'GET' && call.signal !== sending?.signal
    this.clock = new CallClock(call.signal, this.start + call.totalTimeout, sending?.ended.signal, canFinish)
    this.#worst = sending?.isUnknown ? 'unknown' : 'not-sent'
    const { after, before } = call.query
    this.cursor = call.operation.envelope === 'list' ? (after ?? before ?? undefined) : undefined
    if (this.cursor !== undefined) this.secrets.push(String(this.cursor))
  }

  /** Remembers a token that is sent. */
  addSecret(secret: string): void {
    if (!this.secrets.includes(secret)) this.secrets.push(secret)
  }

  /** Remembers an error that was made of this call. */
  addError(error: RequestError): void {
    records.set(error, this)
  }

  /** Whether an error was made of this call. Any other error comes from a function of the caller. */
  isOwnError(thrown: unknown): thrown is RequestError {
    return records.get(thrown as object) === this
  }

  /** Returns the failure of the last request, if this is its error. */
  failureOf(thrown: unknown): Failure | undefined {
    return this.failure?.error === thrown ? this.failure : undefined
  }

  /**
   * Returns the outcome of the call after an attempt with this outcome. If one attempt of a write is `unknown`, the
   * call stays `unknown`. A read changes nothing, so its last attempt counts.
   */
  outcomeAfter(outcome: Outcome): Outcome {
    if (this.#worst === 'unknown') return 'unknown'
    if (outcome === 'not-sent') return this.#worst
    return outcome === 'unknown' && this.call.operation.method === 'GET' ? 'no-effect' : outcome
  }

  /**
   * Whether the service might have applied what failed with this error. The abort reason of a caller does not tell, even
   * if it is the error of another call, so the attempts decide.
   *
   * @param before the number of attempts that do not count
   */
  mayHaveBeenApplied(error: unknown, before = 0): boolean {
    if (this.isOwnError(error)) return error.outcome === 'unknown'
    return this.call.operation.method !== 'GET' && this.sent > before
  }

  startCall(): void {
    this.#emit('onOperationStart')
  }

  /** Starts an attempt, immediately before its request leaves. */
  startAttempt(): AttemptUnderWay {
    this.sent += 1
    const attempt = { startedAt: Date.now(), time: performance.now() }
    this.#emit('onAttemptStart', () => ({ attempt: this.sent }))
    return attempt
  }

  /**
   * Ends an attempt. Returns its duration in milliseconds.
   *
   * @param failed absent if the attempt succeeded
   */
  endAttempt({ time }: AttemptUnderWay, head: ResponseHead | undefined, failed?: Thrown): number {
    const duration = Math.round(performance.now() - time)
    this.#head = head
    this.#emit('onAttemptEnd', () => ({
      attempt: this.sent,
      duration,
      status: head?.status,
      requestId: head?.requestId,
      error: failed && this.#nameOf(failed),
    }))
    return duration
  }

  /** Ends an attempt that has failed. Returns the error. */
  fail(attempt: AttemptUnderWay, error: RequestError, head: ResponseHead | undefined): RequestError {
    this.#worst = this.outcomeAfter(error.outcome)
    const duration = this.endAttempt(attempt, head, { error })
    const [first, ...later] = this.attempts
    const { startedAt } = attempt
    const failed = { startedAt, duration, ...(head && { status: head.status }), error: error.name }
    this.attempts = first === undefined ? [failed] : [first, ...later.slice(2 - listedAttempts), failed]
    // The error was made before the end of its attempt was known.
    Object.assign(error, { attempts: this.attempts })
    this.failure = { error, head, retryAfter: head && retryAfterOf(head), isLimited: head?.status === 429 }
    return error
  }

  /**
   * Ends an attempt whose request was deferred. Returns the error.
   *
   * @param retryAfter how long the service asks to wait, in milliseconds
   */
  defer(error: RequestError, retryAfter: number | undefined): RequestError {
    this.failure = { error, head: undefined, retryAfter, isLimited: true }
    return error
  }

  /** Announces that the last request is sent again after a delay in milliseconds. */
  announceRetry(wait: number): void {
    const { head, error, isLimited } = this.failure as Failure
    if (isLimited && head === undefined) {
      this.announceWait(wait)
      return
    }
    this.attempts = [...this.attempts.slice(0, -1), { ...(this.attempts.at(-1) as Attempt), wait }]
    // A body that is cut off comes with the status of a success.
    const reason = head?.isErrorResponse ? head.status : error.name
    this.#emit('onRetry', () => ({ attempt: this.sent, wait, reason }))
  }

  /** Announces a wait for the rate limit, in milliseconds. */
  announceWait(wait: number): void {
    this.#emit('onWait', () => ({ wait, reason: 'rate_limit' as const }))
  }

  /** @param failed absent if the call succeeded */
  endCall(failed?: Thrown): void {
    for (const listener of this.endListeners) notify(listener)
    this.#emit('onOperationEnd', () => ({
      duration: Math.round(performance.now() - this.start),
      attempts: this.sent,
      status: this.#head?.status,
      requestId: this.#head?.requestId,
      error: failed && this.#nameOf(failed),
      outcome: failed && this.#outcomeOf(failed),
    }))
  }

  /** A function or signal of the caller can fail with the error of another call, whose outcome says nothing here. */
  #outcomeOf({ error }: Thrown): Outcome | undefined {
    if (this.isOwnError(error)) return error.outcome
    return isSupportWorkspaceError(error) && this.sent === 0 ? 'not-sent' : undefined
  }

  #nameOf({ error }: Thrown): string | undefined {
    if (error === abandoned) return undefined
    if (isError(error)) return error.name
    return this.call.signal?.aborted ? 'AbortError' : 'Error'
  }

  #emit<Name extends keyof Hooks>(name: Name, describe?: () => Omit<EventOf<Name>, keyof OperationEvent>): void {
    const { hooks, actor, baseUrl, context } = this.settings
    if (hooks === undefined) return
    const { operation, page } = this.call
    const { id, method, path } = operation
    emit(hooks, name, () => {
      const urlTemplate = baseUrl.href.replace(/\/$/, '') + path
      const event = { callId: this.#id, operation: id, method, urlTemplate, actor, page, context }
      return { ...event, ...describe?.() } as unknown as EventOf<Name>
    })
  }
}

/** A request that has not ended. */
interface AttemptUnderWay {
  /** By the wall clock, and by the monotonic one, in milliseconds. */
  readonly startedAt: number
  readonly time: number
}

/** What an attempt or a call failed with, of any type. */
interface Thrown {
  readonly error: unknown
}
