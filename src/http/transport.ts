// src/http sends calls: it captures and checks their input, builds requests, retries, and reads responses. It knows
// operations as data only, and must not import resources, pages, clients or logins.

import type { Method, Operation } from '../operation.ts'
import { attempt, type ParsedResponse } from './attempt.ts'
import { CallClock, TimeLimit, throwIfAborted } from './call-clock.ts'
import { CallRecord } from './call-record.ts'
import { actorSelfRequired } from './error-from-response.ts'
import { AttemptFailure, noTokenFailure, rateLimitFailure, timeoutFailure } from './failure.ts'
import type { CapturedInput } from './input.ts'
import type { CallOptions } from './options.ts'
import { RateGate } from './rate-gate.ts'
import { type PreparedRequest, prepareRequest } from './request.ts'
import { delayBefore, mayRepeat } from './retry.ts'
import { type CallSettings, type ClientSettings, readCallSettings } from './settings.ts'

/** Sends the calls of a client, with retries, under one clock per call. */
export class Transport {
  readonly settings: ClientSettings
  readonly #gate = new RateGate()

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
    // The wait after the call's own 429 was emitted as a retry.
    let isAnnounced = false
    for (let retries = 0; ; retries += 1) {
      const endTurn = await this.#passGate(limits, clock, call, isAnnounced)
      let wait: number | undefined
      try {
        const reply = await attempt(request, this.settings, clock, limits.timeout, (accessToken) =>
          call.startAttempt(accessToken),
        )
        call.endAttempt(reply.response)
        return reply
      } catch (thrown) {
        if (!(thrown instanceof AttemptFailure)) throw abandon(call, clock, thrown)
        wait = this.#waitBeforeRetry(request.operation.method, thrown, retries, limits, clock)
        call.endAttempt(thrown.response, thrown, wait)
        if (wait === undefined) throw call.toError(thrown)
        isAnnounced = thrown.status === 429
      } finally {
        endTurn()
      }
      // After a 429, the gate makes this call wait like the others.
      if (!isAnnounced) await clock.wait(wait)
    }
  }

  /** Waits for the rate limit. Resolves with a function that ends the call's turn. */
  async #passGate(limits: CallSettings, clock: CallClock, call: CallRecord, isAnnounced: boolean): Promise<() => void> {
    const { operation } = call
    // A call without retries does not wait.
    if (limits.maxRetries === 0) {
      if (this.#gate.remaining > 0) throw call.toError(rateLimitFailure(operation, this.#gate.remaining))
      return () => {}
    }
    return this.#gate.pass(clock, (wait) => {
      if (wait >= clock.remaining) throw call.toError(rateLimitFailure(operation, wait))
      if (!isAnnounced) call.wait(wait)
      isAnnounced = false
    })
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
    if (failure.status === 429 && bearable) this.#gate.shut(wait)
    const mayRetry = mayRepeat(method, failure) && retries < limits.maxRetries
    return mayRetry && bearable && wait < clock.remaining ? wait : undefined
  }
}

/** Ends an attempt that was aborted or has no token. Returns the error that the call rejects with. */
function abandon(call: CallRecord, clock: CallClock, thrown: unknown): unknown {
  call.abandonAttempt(thrown)
  // The caller aborted, or the token provider failed before anything was sent: the error is the caller's own.
  if (clock.isAborted || call.attempts.length === 0) return thrown
  return call.toError(noTokenFailure(call.operation, thrown, call.accessTokens))
}
