// src/core sends calls with ky: it captures and checks their input, builds requests, decides about retries, and reads
// responses. It knows operations as data only, and must not import resources, pages, clients or logins.

import ky, { isForceRetryError } from 'ky'
import { throwIfAborted, untilAborted } from '../shared/abort.ts'
import type { Actor } from '../shared/actor.ts'
import { longestTimer } from '../shared/check-options.ts'
import { checkAccessToken } from '../shared/credentials.ts'
import type { RequestError } from '../shared/errors/index.ts'
import { notify } from '../shared/notify.ts'
import { type Attempt, errorOf, type Reply, reportInvalidToken, sendAttempt } from './attempt.ts'
import { actorSelfRequired, type CallerPart, couldNotRetryError, heldBackError, timeoutError } from './call-errors.ts'
import { CallRecord, StepTimeout } from './call-record.ts'
import { readHeaders } from './headers.ts'
import { type CapturedCall, prepareRequest } from './input.ts'
import type { Operation } from './operation.ts'
import type { BeforeSend, EndTurn, Undo } from './options.ts'
import { delayBefore } from './retry.ts'
import { type ChangeableOptions, type ClientSettings, changeSettings } from './settings.ts'

/** Stands between a client and its transport, for every call that the client makes. */
export type Intercept = (
  call: CapturedCall,
  send: (call: CapturedCall) => Promise<Reply>,
  baseUrl: URL,
) => Promise<Reply>

/** Sends the calls of a client. */
export class Transport {
  readonly #intercept: Intercept
  #settings: ClientSettings

  constructor(settings: ClientSettings, intercept: Intercept = (call, send) => send(call)) {
    this.#settings = settings
    this.#intercept = intercept
  }

  get settings(): ClientSettings {
    return this.#settings
  }

  /** Returns a transport with other options, for the same token and rate limit. */
  with(changes: ChangeableOptions): Transport {
    return new Transport(changeSettings(this.#settings, changes), this.#intercept)
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
    const run = (each: CapturedCall) => new Exchange(new CallRecord(each, this.settings, page)).run()
    return this.#intercept(call, run, this.settings.baseUrl)
  }
}

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const

/**
 * The requests of a call. ky sends them: it retries, waits, limits each attempt, and tells network errors from bugs. Before
 * each attempt there is a token and a turn at the rate limiter, and after a failed one its error decides what ky does.
 */
class Exchange {
  readonly #record: CallRecord
  /** The one under way, or the last one. */
  #attempt: Attempt | undefined
  #reply: Reply | undefined
  /** Set once the call has failed and is not retried. */
  #error: RequestError | undefined
  #limiterKey = ''
  #endTurn: EndTurn
  /** Resolves when a call that got a 429 can be sent again, unless that was before. A limiter may let it through earlier. */
  #pause: Promise<void> | undefined

  constructor(record: CallRecord) {
    this.#record = record
  }

  async run(): Promise<Reply> {
    const { call, settings, clock, secrets } = this.#record
    try {
      throwIfAborted(call.signal)
      if (call.operation.actor === 'self' && settings.actor === 'app') throw actorSelfRequired(this.#record)
      const request = await clock.run(prepareRequest(call, settings.baseUrl))
      if (request.cursor !== undefined) secrets.push(request.cursor)
      const { timeout, maxRetries } = call.settings
      const prepare = () => this.#prepare(request)
      await ky(request.url, {
        method: call.operation.method,
        signal: clock.signal,
        timeout: timeout > longestTimer ? false : Math.ceil(timeout),
        hooks: { beforeRequest: [prepare], beforeRetry: [prepare] },
        fetch: (sent) => this.#send((sent as Request).signal),
        retry: {
          // One more than there are, so that ky asks after the last one, too.
          limit: maxRetries + 1,
          methods: [...methods],
          shouldRetry: ({ error }) => this.#mayRetry(error),
          // After a 429, the rate limiter makes this call wait like the others.
          delay: () => {
            const { head, delay = 0 } = this.#attempt as Attempt
            return head?.status === 429 ? 0 : delay
          },
        },
      })
      this.#record.end()
      return this.#reply as Reply
    } catch (thrown) {
      this.#leave()
      if (this.#attempt?.started === undefined) await this.#takeBack()
      const error = this.#error ?? (clock.signal.aborted ? clock.signal.reason : thrown)
      const isLate = clock.hasExpired && error === clock.signal.reason
      const final = isLate ? timeoutError(this.#record, { limit: 'total', isSent: false }) : error
      this.#record.end({ error: final })
      throw final
    } finally {
      clock.stop()
    }
  }

  /** Gets token, headers and then the turn of an attempt, so that a provider that makes a call does not wait for itself. */
  async #prepare(request: Attempt['request']): Promise<void> {
    const { call, settings, clock, secrets, attempts } = this.#record
    const { timeout } = call.settings
    let part: CallerPart = 'token provider'
    try {
      clock.throwIfOver()
      const accessToken = checkAccessToken(await clock.run(settings.tokenSource.getAccessToken(), timeout))
      secrets.push(accessToken)
      part = 'headers function'
      const headers: Record<string, string> = request.body === undefined ? {} : { 'content-type': 'application/json' }
      for (const source of call.settings.headers) {
        Object.assign(headers, typeof source === 'function' ? readHeaders(await clock.run(source(), timeout)) : source)
      }
      part = 'rate limiter'
      await this.#takeTurn()
      part = '`beforeSend` function'
      const undo = call.beforeSend && (await this.#announce(call.beforeSend))
      this.#attempt = { request, accessToken, headers, undo }
    } catch (thrown) {
      if (thrown instanceof StepTimeout) throw timeoutError(this.#record, { limit: 'attempt', isSent: false })
      // If nothing was sent before, the error is the caller's.
      throw attempts.length === 0 ? thrown : couldNotRetryError(this.#record, thrown, part)
    }
  }

  async #announce(beforeSend: BeforeSend): Promise<Undo | undefined> {
    const announced = Promise.resolve(beforeSend())
    try {
      return (await this.#record.clock.run(announced, this.#record.call.settings.timeout)) ?? undefined
    } catch (thrown) {
      // It may still be at work, and then takes back what nobody waits for.
      notify(() => announced.then((undo) => undo?.()))
      throw thrown
    }
  }

  /**
   * Calls what `beforeSend` returned, because the attempt was not applied. Returns whether it ended in time. Its error is
   * ignored: the failure of the call matters more.
   */
  async #takeBack(): Promise<boolean> {
    const attempt = this.#attempt
    if (attempt?.undo === undefined) return true
    const { undo } = attempt
    attempt.undo = undefined
    const undone = (async () => undo())().catch(() => {})
    const { call, clock } = this.#record
    return clock.run(undone, call.settings.timeout).then(
      () => true,
      () => false,
    )
  }

  /** Waits for the turn. Rejects with the limiter's error, or a `RateLimitError` if the call cannot wait that long. */
  async #takeTurn(): Promise<void> {
    const { call, settings, clock, start } = this.#record
    let heldBack: RequestError | undefined
    // The wait after a 429 was emitted as a retry.
    let isKnown = this.#attempt?.head?.status === 429
    let turn: EndTurn | Promise<EndTurn>
    try {
      this.#limiterKey = await clock.run(settings.findRateLimitKey())
      turn = settings.rateLimiter.acquire(this.#limiterKey, clock.signal, {
        operation: pathOf(call.operation),
        canWait: call.settings.maxRetries > 0,
        startedAt: start,
        timeLeft: clock.remaining,
        onWait: (wait, pause = 0) => {
          // A limiter that ignores the signal ends here, and does not announce what comes after the end of the call.
          clock.signal.throwIfAborted()
          heldBack = this.#announceWait(wait, pause, isKnown)
          isKnown = false
          if (heldBack !== undefined) throw heldBack
        },
      })
      const endTurn = await clock.run(turn)
      await clock.run(this.#pause)
      this.#endTurn = endTurn
    } catch (thrown) {
      // The limiter may ignore the signal, or have granted the turn at the same moment.
      Promise.resolve(turn).then(callEnd, () => {})
      this.#error = heldBack
      throw thrown
    }
  }

  /** Emits `onWait`, or returns the error if the call cannot wait that long. Times are in milliseconds. */
  #announceWait(wait: number, pause: number, isKnown: boolean): RequestError | undefined {
    const { call, settings, clock } = this.#record
    const isPatient = call.settings.maxRetries > 0 && pause <= settings.maxRetryAfter
    if (wait >= clock.remaining || (wait > 0 && !isPatient)) return heldBackError(this.#record, wait)
    if (!isKnown) this.#record.wait(wait)
    return undefined
  }

  /** Ends the turn. Does nothing if there is none. */
  #leave(): void {
    const end = this.#endTurn
    this.#endTurn = undefined
    callEnd(end)
  }

  /**
   * Tells the rate limiter about a 429, and lets the next turn of this call come no earlier than after this time in
   * milliseconds, whatever the limiter does. Called before the turn ends, so that no other call is sent in between.
   */
  #penalize(wait: number): void {
    const { call, settings, clock } = this.#record
    // Begins first, so that it is over when the limiter wakes its calls, and this one keeps its place.
    this.#pause = clock.pause(wait).then(() => {
      this.#pause = undefined
    })
    notify(() => settings.rateLimiter.penalize(this.#limiterKey, wait, pathOf(call.operation)))
  }

  /** One attempt, which ky limits in time. ky only needs to know whether it succeeded. */
  async #send(signal: AbortSignal): Promise<Response> {
    const attempt = this.#attempt as Attempt
    const { clock } = this.#record
    try {
      // Nothing but the clock keeps a call alive whose `fetch` never settles and whose attempt has no timer.
      this.#reply = await untilAborted(sendAttempt(attempt, this.#record, signal), clock.signal)
      this.#record.endAttempt()
      return new Response()
    } catch (thrown) {
      attempt.thrown = thrown
      if (attempt.refusal?.response.status === 429) this.#penalize(this.#delayAfter(attempt))
      this.#leave()
      await untilAborted(reportInvalidToken(attempt, this.#record), clock.signal)
      // A custom `fetch` that uses ky could make this ky send the request again, without asking.
      throw isForceRetryError(thrown) ? new Error('The `fetch` option asked for a retry.') : thrown
    } finally {
      this.#leave()
    }
  }

  /** Creates the error of a failed attempt. Returns whether the attempt is repeated. */
  async #mayRetry(thrown: Error): Promise<boolean> {
    const attempt = this.#attempt as Attempt
    const { call, settings, clock, attempts } = this.#record
    const { signal, hasExpired } = clock
    if (signal.aborted && !hasExpired) {
      this.#record.endAttempt({ error: signal.reason })
      return false
    }
    const error = errorOf(attempt, this.#record, thrown)
    const delay = this.#delayAfter(attempt)
    const isRepeated =
      error.remedy === 'retry' &&
      !signal.aborted &&
      attempts.length < call.settings.maxRetries &&
      (attempt.refusal?.retryAfter ?? 0) <= settings.maxRetryAfter &&
      delay < clock.remaining
    this.#record.endAttempt({ error }, isRepeated ? delay : undefined)
    if (!isRepeated) this.#error = error
    // The outcome is that of the whole call: an earlier attempt may have been applied.
    if (error.outcome === 'unknown' || (await this.#takeBack())) return isRepeated
    // What is still at work would take back the next attempt.
    this.#error = error
    return false
  }

  /** Returns the delay before an attempt can be repeated, in milliseconds. */
  #delayAfter(attempt: Attempt): number {
    const isLimited = attempt.head?.status === 429
    attempt.delay ??= delayBefore(this.#record.attempts.length + 1, attempt.refusal?.retryAfter, { isLimited })
    return attempt.delay
  }
}

/** HTTP method and path template. */
function pathOf({ method, path }: Operation): string {
  return `${method} ${path}`
}

function callEnd(end: EndTurn): void {
  notify(end ?? undefined)
}
