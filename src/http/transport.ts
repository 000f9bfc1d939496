// src/http sends calls with ky: it captures and checks their input, builds requests, decides about retries, and reads
// responses. It knows operations as data only, and must not import resources, pages, clients or logins.

import ky, { isNetworkError, isTimeoutError, type KyInstance } from 'ky'
import { throwIfAborted, untilAborted } from '../abort.ts'
import type { Actor } from '../actor.ts'
import { longestTimer } from '../check-options.ts'
import { checkAccessToken } from '../credentials.ts'
import type { RequestError } from '../errors/index.ts'
import { notify } from '../notify.ts'
import { Attempt, isMistake, type Reply } from './attempt.ts'
import { CallClock, StepTimeout } from './call-clock.ts'
import {
  actorSelfRequired,
  couldNotRetryError,
  heldBackError,
  networkError,
  refusedError,
  timeoutError,
  unusableError,
} from './call-errors.ts'
import { CallRecord } from './call-record.ts'
import { classifyFetchError } from './connect-error.ts'
import type { CapturedCall } from './input.ts'
import type { EndTurn } from './rate-limiter.ts'
import { type PreparedRequest, prepareRequest } from './request.ts'
import { UnusableResponse } from './response.ts'
import { delayBefore } from './retry.ts'
import type { ClientSettings } from './settings.ts'

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
    let clock: CallClock | undefined
    try {
      throwIfAborted(call.signal)
      clock = new CallClock(call.signal, call.settings.totalTimeout)
      if (call.operation.actor === 'self' && this.settings.actor === 'app') throw actorSelfRequired(record)
      const prepared = prepareRequest(call, this.settings.baseUrl)
      const request = prepared instanceof Promise ? await clock.run(prepared) : prepared
      const reply = await new Exchange(call, request, this.settings, clock, record).run(this.#ky)
      record.end()
      return reply
    } catch (thrown) {
      const isLate = clock?.hasExpired === true && thrown === clock.signal.reason
      const limit = { limit: 'total', timeout: call.settings.totalTimeout, isSent: false } as const
      const error = isLate ? timeoutError(record, limit) : thrown
      record.end({ error, aborted: call.signal?.aborted === true })
      throw error
    } finally {
      clock?.stop()
    }
  }
}

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const

/**
 * The requests of a call. ky sends them: it retries, waits, limits each attempt, and tells network errors from bugs. Before
 * each attempt there is a token and a turn, and after a failed one its error decides what ky does.
 */
class Exchange {
  readonly #call: CapturedCall
  readonly #request: PreparedRequest
  readonly #settings: ClientSettings
  readonly #clock: CallClock
  readonly #record: CallRecord
  #attempt: Attempt | undefined
  /** What the attempt threw. ky wraps it. */
  #thrown: unknown
  #turn: EndTurn
  #reply: Reply | undefined
  #error: RequestError | undefined
  /** Delay before the retry, in milliseconds. */
  #wait: number | undefined
  /** Resolves when a call that got a 429 can be sent again. A rate limiter may let it through earlier. */
  #pause: Promise<void> | undefined

  constructor(
    call: CapturedCall,
    request: PreparedRequest,
    settings: ClientSettings,
    clock: CallClock,
    record: CallRecord,
  ) {
    this.#call = call
    this.#request = request
    this.#settings = settings
    this.#clock = clock
    this.#record = record
    if (request.cursor !== undefined) record.secrets.push(request.cursor)
  }

  async run(send: KyInstance): Promise<Reply> {
    const { timeout, maxRetries } = this.#call.settings
    const prepare = () => this.#prepare()
    try {
      await send(this.#request.url, {
        method: this.#call.operation.method,
        signal: this.#clock.signal,
        timeout: timeout > longestTimer ? false : Math.ceil(timeout),
        hooks: { beforeRequest: [prepare], beforeRetry: [prepare] },
        fetch: (request) => this.#send((request as Request).signal),
        retry: {
          // One more than there are, so that ky asks after the last one, too.
          limit: maxRetries + 1,
          methods: [...methods],
          shouldRetry: ({ error }) => this.#mayRetry(error),
          // After a 429, the rate limiter makes this call wait like the others.
          delay: () => (this.#pause === undefined ? (this.#wait ?? 0) : 0),
        },
      })
      return this.#reply as Reply
    } catch (thrown) {
      if (this.#error !== undefined) throw this.#error
      throw this.#clock.signal.aborted ? this.#clock.signal.reason : thrown
    } finally {
      this.#endTurn()
    }
  }

  /** Gets the token and then the turn of an attempt, so that a provider that makes a call does not wait for itself. */
  async #prepare(): Promise<void> {
    this.#clock.throwIfOver()
    const accessToken = await this.#takeToken().catch((thrown) => this.#abandon(thrown, 'token provider'))
    this.#record.secrets.push(accessToken)
    this.#turn = await this.#takeTurn().catch((thrown) => this.#abandon(thrown, 'rate limiter'))
    this.#attempt = new Attempt(this.#call, this.#request, this.#settings, accessToken, this.#record.secrets)
    this.#thrown = undefined
    this.#wait = undefined
  }

  async #takeToken(): Promise<string> {
    const given = this.#settings.tokenSource.getAccessToken()
    if (typeof given === 'string') return checkAccessToken(given)
    return checkAccessToken(await this.#clock.run(Promise.resolve(given), this.#call.settings.timeout))
  }

  async #takeTurn(): Promise<EndTurn> {
    const { rateLimiter, findRateLimitKey } = this.#settings
    const { method, path } = this.#call.operation
    let isSettled = false
    const facts = {
      operation: `${method} ${path}`,
      canWait: this.#call.settings.maxRetries > 0,
      startedAt: this.#record.start,
      timeLeft: this.#clock.remaining,
      onWait: (wait: unknown, pause: unknown) => {
        if (!isSettled) this.#announceWait(toDelay(wait), toDelay(pause))
      },
    }
    let turn: EndTurn | Promise<EndTurn>
    try {
      const key = findRateLimitKey()
      turn = rateLimiter.acquire(typeof key === 'string' ? key : await key, this.#clock.signal, facts)
      const end = turn instanceof Object && 'then' in turn ? await this.#clock.run(turn) : turn
      if (this.#pause !== undefined) await this.#clock.run(this.#pause)
      return end
    } catch (thrown) {
      // The limiter may ignore the signal, or have granted the turn at the same moment.
      Promise.resolve(turn).then(callEndTurn, () => {})
      throw thrown
    } finally {
      isSettled = true
      this.#pause = undefined
    }
  }

  /** Emits `onWait`. Throws if the call cannot wait that long. Times are in milliseconds. */
  #announceWait(wait: number, pause: number): void {
    const isPatient = this.#call.settings.maxRetries > 0 && pause <= this.#settings.maxRetryAfter
    if (wait >= this.#clock.remaining || (wait > 0 && !isPatient)) {
      this.#error = heldBackError(this.#record, wait)
      throw this.#error
    }
    // The wait after a 429 of this call was emitted as a retry.
    if (this.#pause === undefined) this.#record.wait(wait)
  }

  /** Rejects a call whose token provider or rate limiter failed. If nothing was sent before, the error is theirs. */
  #abandon(thrown: unknown, part: 'token provider' | 'rate limiter'): never {
    const { timeout } = this.#call.settings
    if (thrown instanceof StepTimeout) {
      this.#error = timeoutError(this.#record, { limit: 'attempt', timeout, isSent: false })
    } else if (this.#error === undefined && !this.#clock.signal.aborted && this.#record.attempts.length > 0) {
      this.#error = couldNotRetryError(this.#record, thrown, part)
    }
    throw thrown
  }

  /** One attempt, which ky limits in time. ky only needs to know whether it succeeded. */
  async #send(signal: AbortSignal): Promise<Response> {
    const attempt = this.#attempt as Attempt
    try {
      this.#reply = await attempt.send(signal, () => this.#record.startAttempt())
      this.#record.endAttempt(attempt.head)
      return new Response()
    } catch (thrown) {
      this.#thrown = thrown
      this.#penalize(attempt)
      this.#endTurn()
      await untilAborted(attempt.reportInvalidToken(), signal)
      throw thrown
    } finally {
      this.#endTurn()
    }
  }

  /** Tells the rate limiter about a 429, before the turn ends, so that no other call is sent in between. */
  #penalize({ refusal }: Attempt): void {
    if (refusal?.response.status !== 429) return
    const { rateLimiter, findRateLimitKey } = this.#settings
    const { method, path } = this.#call.operation
    const key = findRateLimitKey()
    const wait = this.#delayAfter(refusal.retryAfter)
    if (typeof key === 'string') notify(() => rateLimiter.penalize(key, wait, `${method} ${path}`))
  }

  /** Creates the error of a failed attempt. Returns whether the attempt is repeated. */
  #mayRetry(thrown: Error): boolean {
    const attempt = this.#attempt as Attempt
    const { signal, hasExpired } = this.#clock
    if (signal.aborted && !hasExpired) {
      this.#record.endAttempt(undefined, { error: signal.reason, aborted: true, outcome: 'unknown' })
      return false
    }
    const error = this.#errorOf(attempt, thrown)
    const retryAfter = attempt.refusal?.retryAfter ?? 0
    const wait = this.#delayAfter(retryAfter)
    const isRepeated =
      error.remedy === 'retry' &&
      !signal.aborted &&
      this.#record.attempts.length < this.#call.settings.maxRetries &&
      retryAfter <= this.#settings.maxRetryAfter &&
      wait < this.#clock.remaining
    const { outcome } = error
    this.#record.endAttempt(attempt.head, { error, aborted: false, outcome }, isRepeated ? wait : undefined)
    if (!isRepeated) this.#error = error
    else if (attempt.head?.status === 429) this.#pause = this.#clock.pause(wait)
    return isRepeated
  }

  #errorOf(attempt: Attempt, thrown: Error): RequestError {
    const { head, refusal, isSent, isPlatform, reportError } = attempt
    const { timeout, totalTimeout } = this.#call.settings
    const record = this.#record
    if (refusal !== undefined) return refusedError(record, refusal, reportError)
    if (this.#clock.hasExpired) return timeoutError(record, { limit: 'total', timeout: totalTimeout, isSent })
    if (isTimeoutError(thrown) && thrown !== this.#thrown) {
      return timeoutError(record, { limit: 'attempt', timeout, isSent })
    }
    if (this.#thrown instanceof UnusableResponse && head) return unusableError(record, head, this.#thrown)
    const isBug = !isNetworkError(thrown) && isMistake(this.#thrown, attempt)
    const hasResponse = head !== undefined
    // An error of the body proves nothing about the request.
    const fault = classifyFetchError(this.#thrown, this.#request.url, isPlatform && !hasResponse)
    return networkError(record, this.#thrown, { ...fault, ...(isBug && { remedy: 'fix' }), isBug, hasResponse })
  }

  /** Returns the delay after this attempt in milliseconds, the same each time. */
  #delayAfter(retryAfter: number | undefined): number {
    this.#wait ??= delayBefore(this.#record.attempts.length + 1, retryAfter)
    return this.#wait
  }

  #endTurn(): void {
    const turn = this.#turn
    this.#turn = undefined
    callEndTurn(turn)
  }
}

function callEndTurn(end: EndTurn): void {
  if (typeof end === 'function') notify(end)
}

/** A custom limiter may announce anything. */
function toDelay(announced: unknown): number {
  return typeof announced === 'number' && announced > 0 ? announced : 0
}
