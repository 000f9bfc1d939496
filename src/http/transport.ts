// src/http sends calls with ky: it captures and checks their input, builds requests, decides about retries, and reads
// responses. It knows operations as data only, and must not import resources, pages, clients or logins.

import ky, { isForceRetryError, isNetworkError, isTimeoutError, type KyInstance } from 'ky'
import { throwIfAborted, untilAborted } from '../abort.ts'
import type { Actor } from '../actor.ts'
import { longestTimer } from '../check-options.ts'
import { checkAccessToken } from '../credentials.ts'
import type { RequestError } from '../errors/index.ts'
import { Attempt, isMistake, type Reply } from './attempt.ts'
import { StepTimeout } from './call-clock.ts'
import {
  actorSelfRequired,
  type CallerPart,
  couldNotRetryError,
  networkError,
  refusedError,
  timeoutError,
  unusableError,
} from './call-errors.ts'
import { CallRecord } from './call-record.ts'
import { classifyFetchError, unproven } from './fetch-error.ts'
import { readHeaders } from './headers.ts'
import type { CapturedCall } from './input.ts'
import { type PreparedRequest, prepareRequest } from './request.ts'
import { UnusableResponse } from './response.ts'
import { type ChangeableOptions, type ClientSettings, changeSettings } from './settings.ts'
import { Turn } from './turn.ts'

/** Sends the calls of a client. */
export class Transport {
  readonly #ky = ky.create({ redirect: 'manual', throwHttpErrors: false })
  #settings: ClientSettings

  constructor(settings: ClientSettings) {
    this.#settings = settings
  }

  get settings(): ClientSettings {
    return this.#settings
  }

  /** Returns a transport with other options, for the same token and rate limit. */
  with(changes: ChangeableOptions): Transport {
    return new Transport(changeSettings(this.#settings, changes))
  }

  /** Sets what the service says about the token. */
  identify(actor: Actor, scopes: readonly string[] | undefined): void {
    this.#settings = { ...this.#settings, actor, scopes }
  }

  /**
   * Rejects with a `RequestError`, an `InvalidArgumentError`, the caller's abort reason, or the token provider's error.
   *
   * @param page the page number, for hooks
   */
  async send(call: CapturedCall, page?: number): Promise<Reply> {
    const record = new CallRecord(call, this.settings, page)
    const { clock } = record
    try {
      throwIfAborted(call.signal)
      if (call.operation.actor === 'self' && this.settings.actor === 'app') throw actorSelfRequired(record)
      const request = await clock.run(prepareRequest(call, this.settings.baseUrl))
      const reply = await new Exchange(request, record).run(this.#ky)
      record.end()
      return reply
    } catch (thrown) {
      const isLate = clock.hasExpired && thrown === clock.signal.reason
      const error = isLate ? timeoutError(record, { limit: 'total', isSent: false }) : thrown
      record.end({ error, aborted: call.signal?.aborted === true })
      throw error
    } finally {
      clock.stop()
    }
  }
}

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const

/**
 * The requests of a call. ky sends them: it retries, waits, limits each attempt, and tells network errors from bugs. Before
 * each attempt there is a token and a turn, and after a failed one its error decides what ky does.
 */
class Exchange {
  readonly #request: PreparedRequest
  readonly #record: CallRecord
  readonly #turn: Turn
  #attempt: Attempt | undefined
  #reply: Reply | undefined
  #error: RequestError | undefined

  constructor(request: PreparedRequest, record: CallRecord) {
    this.#request = request
    this.#record = record
    this.#turn = new Turn(record)
    if (request.cursor !== undefined) record.secrets.push(request.cursor)
  }

  async run(send: KyInstance): Promise<Reply> {
    const { call, clock } = this.#record
    const { timeout, maxRetries } = call.settings
    const prepare = () => this.#prepare()
    try {
      await send(this.#request.url, {
        method: call.operation.method,
        signal: clock.signal,
        timeout: timeout > longestTimer ? false : Math.ceil(timeout),
        hooks: { beforeRequest: [prepare], beforeRetry: [prepare] },
        fetch: (request) => this.#send((request as Request).signal),
        retry: {
          // One more than there are, so that ky asks after the last one, too.
          limit: maxRetries + 1,
          methods: [...methods],
          shouldRetry: ({ error }) => this.#mayRetry(error),
          // After a 429, the rate limiter makes this call wait like the others.
          delay: () => (this.#attempt?.head?.status === 429 ? 0 : (this.#attempt?.delay ?? 0)),
        },
      })
      return this.#reply as Reply
    } catch (thrown) {
      if (this.#error !== undefined) throw this.#error
      throw clock.signal.aborted ? clock.signal.reason : thrown
    } finally {
      this.#turn.end()
    }
  }

  /** Gets token, headers and then the turn of an attempt, so that a provider that makes a call does not wait for itself. */
  async #prepare(): Promise<void> {
    this.#record.clock.throwIfOver()
    const accessToken = await this.#takeToken().catch((thrown) => this.#abandon(thrown, 'token provider'))
    if (!this.#record.secrets.includes(accessToken)) this.#record.secrets.push(accessToken)
    const headers = await this.#takeHeaders().catch((thrown) => this.#abandon(thrown, 'headers function'))
    await this.#turn.take().catch((thrown) => this.#abandon(thrown, 'rate limiter'))
    this.#attempt = new Attempt(this.#request, accessToken, headers, this.#record)
  }

  async #takeToken(): Promise<string> {
    const { call, settings, clock } = this.#record
    const given = settings.tokenSource.getAccessToken()
    if (typeof given === 'string') return checkAccessToken(given)
    return checkAccessToken(await clock.run(Promise.resolve(given), call.settings.timeout))
  }

  async #takeHeaders(): Promise<Readonly<Record<string, string>>> {
    const { call, clock } = this.#record
    const headers: Record<string, string> = {}
    for (const source of this.#request.headers) {
      if (typeof source !== 'function') Object.assign(headers, source)
      else Object.assign(headers, readHeaders(await clock.run(Promise.resolve(source()), call.settings.timeout)))
    }
    return headers
  }

  /** Rejects a call whose token provider, headers function or rate limiter failed. If nothing was sent before, the error is theirs. */
  #abandon(thrown: unknown, part: CallerPart): never {
    const { clock, attempts } = this.#record
    if (thrown instanceof StepTimeout) throw timeoutError(this.#record, { limit: 'attempt', isSent: false })
    const { refusal } = this.#turn
    const isFinal = clock.signal.aborted || attempts.length === 0 || (refusal !== undefined && thrown === refusal)
    throw isFinal ? thrown : couldNotRetryError(this.#record, thrown, part)
  }

  /** One attempt, which ky limits in time. ky only needs to know whether it succeeded. */
  async #send(signal: AbortSignal): Promise<Response> {
    const attempt = this.#attempt as Attempt
    try {
      // Nothing but the clock keeps a call alive whose `fetch` never settles and whose attempt has no timer.
      this.#reply = await untilAborted(attempt.send(signal), this.#record.clock.signal)
      this.#record.endAttempt(attempt.head)
      return new Response()
    } catch (thrown) {
      attempt.thrown = thrown
      if (attempt.refusal?.response.status === 429) this.#turn.penalize(attempt.delay)
      this.#turn.end()
      await untilAborted(attempt.reportInvalidToken(), this.#record.clock.signal)
      // A custom `fetch` that uses ky could make this ky send the request again, without asking.
      throw isForceRetryError(thrown) ? new Error('The `fetch` option asked for a retry.') : thrown
    } finally {
      this.#turn.end()
    }
  }

  /** Creates the error of a failed attempt. Returns whether the attempt is repeated. */
  #mayRetry(thrown: Error): boolean {
    const attempt = this.#attempt as Attempt
    const { call, settings, clock, attempts } = this.#record
    const { signal, hasExpired } = clock
    if (signal.aborted && !hasExpired) {
      this.#record.endAttempt(undefined, { error: signal.reason, aborted: true, outcome: 'unknown' })
      return false
    }
    const error = this.#errorOf(attempt, thrown)
    const isRepeated =
      error.remedy === 'retry' &&
      !signal.aborted &&
      attempts.length < call.settings.maxRetries &&
      (attempt.refusal?.retryAfter ?? 0) <= settings.maxRetryAfter &&
      attempt.delay < clock.remaining
    const wait = isRepeated ? attempt.delay : undefined
    this.#record.endAttempt(attempt.head, { error, aborted: false, outcome: error.outcome }, wait)
    if (!isRepeated) this.#error = error
    return isRepeated
  }

  #errorOf(attempt: Attempt, kyError: Error): RequestError {
    const { head, refusal, isSent, thrown } = attempt
    const record = this.#record
    if (refusal !== undefined) return refusedError(record, refusal, attempt.reportError)
    if (record.clock.hasExpired) return timeoutError(record, { limit: 'total', isSent })
    if (isTimeoutError(kyError) && kyError !== thrown) return timeoutError(record, { limit: 'attempt', isSent })
    if (thrown instanceof UnusableResponse && head) return unusableError(record, head, thrown)
    const isBug = !isNetworkError(kyError) && isMistake(attempt)
    const hasResponse = head !== undefined
    // An error of the body proves nothing about the request.
    const fault = hasResponse ? unproven : classifyFetchError(thrown, attempt.isPlatform)
    return networkError(record, thrown, { ...fault, ...(isBug && { remedy: 'fix' }), isBug, hasResponse })
  }
}
