// src/http sends calls: it captures and checks their input, builds requests, retries, and reads responses. It knows
// operations as data only, and must not import resources, pages, clients or logins.

import type { RequestError } from '../errors/index.ts'
import type { Method, Operation } from '../operation.ts'
import { attempt, type ParsedResponse } from './attempt.ts'
import { CallClock, TimeLimit, throwIfAborted } from './call-clock.ts'
import { CallRecord } from './call-record.ts'
import { actorSelfRequired } from './error-from-response.ts'
import { AttemptFailure, type CallerPart, couldNotRetry, rateLimitFailure, timeoutFailure } from './failure.ts'
import type { CapturedInput } from './input.ts'
import type { CallOptions } from './options.ts'
import { type PreparedRequest, prepareRequest } from './request.ts'
import { delayBefore, mayRepeat } from './retry.ts'
import { type CallSettings, type ClientSettings, readCallSettings } from './settings.ts'

/** Sends the calls of a client, with retries, under one clock per call. */
export class Transport {
  readonly settings: ClientSettings

  constructor(settings: ClientSettings) {
    this.settings = settings
  }

  /**
   * Rejects with a `RequestError`, an `InvalidArgumentError`, the caller's abort reason, or the token provider's error.
   */
  async send(
    operation: Operation,
    input: CapturedInput,
    options: CallOptions = {},
    page?: number,
  ): Promise<ParsedResponse> {
    const call = new CallRecord(operation, this.settings, page)
    let clock: CallClock | undefined
    try {
      const limits = readCallSettings(options, this.settings)
      const signal = options.signal as AbortSignal | undefined
      throwIfAborted(signal)
      clock = new CallClock(signal, limits.totalTimeout)
      if (operation.actor === 'self' && this.settings.actor === 'app') throw actorSelfRequired(operation)
      const prepared = prepareRequest(operation, input, this.settings.baseUrl, limits)
      const request = prepared instanceof Promise ? await clock.run(() => prepared) : prepared
      const reply = await this.#attempt(request, limits, clock, call)
      call.end()
      return reply
    } catch (thrown) {
      const error = thrown instanceof TimeLimit ? call.toError(timeoutFailure(operation, thrown, false)) : thrown
      call.end({ error, aborted: clock?.isAborted === true })
      throw error
    }
  }

  async #attempt(
    request: PreparedRequest,
    limits: CallSettings,
    clock: CallClock,
    call: CallRecord,
  ): Promise<ParsedResponse> {
    const startedAt = performance.now()
    // Set after the call's own 429, which was emitted as a retry.
    let notBefore: number | undefined
    for (let retries = 0; ; retries += 1) {
      const endTurn = await this.#acquireTurn(limits, clock, call, { startedAt, notBefore })
      let wait: number | undefined
      try {
        const reply = await attempt(request, this.settings, clock, limits.timeout, (accessToken) =>
          call.startAttempt(accessToken),
        )
        call.endAttempt(reply.response)
        return reply
      } catch (thrown) {
        if (!(thrown instanceof AttemptFailure)) throw abandon(call, clock, thrown, 'token provider')
        wait = this.#waitBeforeRetry(request.operation.method, thrown, retries, limits, clock)
        call.endAttempt(thrown.response, thrown, wait)
        if (wait === undefined) throw call.toError(thrown)
        notBefore = thrown.status === 429 ? performance.now() + wait : undefined
      } finally {
        endTurn()
      }
      // After a 429, the rate limiter makes this call wait like the others.
      if (notBefore === undefined) await clock.wait(wait)
    }
  }

  /** Waits for the rate limiter. Resolves with a function that ends the call's turn. */
  async #acquireTurn(
    limits: CallSettings,
    clock: CallClock,
    call: CallRecord,
    { startedAt, notBefore }: { readonly startedAt: number; readonly notBefore: number | undefined },
  ): Promise<() => void> {
    const canWait = limits.maxRetries > 0
    let isAnnounced = notBefore !== undefined
    let isSettled = false
    let refusal: RequestError | undefined
    const onWait = (announced: unknown) => {
      // A custom limiter may pass anything, at any time.
      const wait = typeof announced === 'number' && announced > 0 ? announced : 0
      if (isSettled) return
      if (wait >= clock.remaining || (wait > 0 && !canWait)) {
        refusal = call.toError(rateLimitFailure(call.operation, wait))
        throw refusal
      }
      if (!isAnnounced) call.wait(wait)
      isAnnounced = false
    }
    try {
      const facts = { canWait, startedAt, timeLeft: clock.remaining, onWait }
      return await this.settings.rateLimit.acquire(clock, facts, notBefore)
    } catch (thrown) {
      if (refusal !== undefined) throw refusal
      throw thrown instanceof TimeLimit ? thrown : abandon(call, clock, thrown, 'rate limiter')
    } finally {
      isSettled = true
    }
  }

  /** Returns the delay before the retry in milliseconds, or undefined if the request is not retried. */
  #waitBeforeRetry(
    method: Method,
    failure: AttemptFailure,
    retries: number,
    limits: CallSettings,
    clock: CallClock,
  ): number | undefined {
    const wait = delayBefore(retries + 1, failure)
    const bearable = (failure.retryAfter ?? 0) <= this.settings.maxRetryAfter
    if (failure.status === 429 && bearable) this.settings.rateLimit.penalize(wait)
    const mayRetry = mayRepeat(method, failure) && retries < limits.maxRetries
    return mayRetry && bearable && wait < clock.remaining ? wait : undefined
  }
}

/**
 * Ends an attempt that was aborted, or was not possible because a function of the caller failed. Returns the error that
 * the call rejects with.
 */
function abandon(call: CallRecord, clock: CallClock, thrown: unknown, part: CallerPart): unknown {
  call.abandonAttempt(thrown)
  // The caller aborted, or a function of the caller failed before anything was sent: the error is the caller's own.
  if (clock.isAborted || call.attempts.length === 0) return thrown
  return call.toError(couldNotRetry(call.operation, thrown, part, call.accessTokens))
}
