import type { CallOptions } from '../client-options.ts'
import type { ResponseInfo } from '../errors/index.ts'
import type { Operation, OperationInput } from '../operation.ts'
import { untilAborted } from './abort.ts'
import { attempt, type PreparedRequest } from './attempt.ts'
import { CallClock, TimeLimit } from './call-clock.ts'
import { CallRecord } from './call-record.ts'
import type { PageCursors } from './envelope.ts'
import { actorSelfRequired } from './error-from-response.ts'
import { type Failure, rateLimitFailure, timeoutFailure } from './failure.ts'
import { RateGate } from './rate-gate.ts'
import { delayBefore, mayRepeat } from './retry-policy.ts'
import { type CallSettings, readCallSettings, type Settings } from './settings.ts'
import { checkInput, type TakenInput, takeInput } from './take-input.ts'
import { buildUrl } from './url.ts'

/** What a call came to: the data, the cursors of a list, and the facts of the answer. */
export interface Reply {
  readonly data: unknown
  readonly cursors: PageCursors
  readonly response: ResponseInfo
}

/** What a call takes beside the options of the public interface. */
export interface SendOptions extends CallOptions {
  /** The number of the page, for the hooks. */
  readonly page?: number | undefined
}

/** Carries out operations: one loop of attempts, under one clock, for every call of a client. */
export class Transport {
  readonly settings: Settings
  readonly #gate = new RateGate()

  constructor(settings: Settings) {
    this.settings = settings
  }

  /** Rejects with a `RequestError`, an `InvalidArgumentError`, the caller's abort reason, or what the token provider threw. */
  async send(operation: Operation, input: OperationInput, options: SendOptions = {}): Promise<Reply> {
    const call = new CallRecord(operation, this.settings, options.page)
    let clock: CallClock | undefined
    try {
      const taken = takeInput(operation, input, options)
      const limits = readCallSettings(options, this.settings)
      clock = new CallClock(options.signal as AbortSignal | undefined, limits.totalTimeout)
      clock.signal.throwIfAborted()
      if (operation.actor === 'self' && this.settings.actor === 'app') throw actorSelfRequired(operation)
      const request = await untilAborted(this.#prepare(operation, taken, limits), clock.signal)
      const reply = await this.#attempt(request, limits, clock, call)
      call.end()
      return reply
    } catch (thrown) {
      const error = thrown instanceof TimeLimit ? call.toError(timeoutFailure(operation, thrown, false)) : thrown
      call.end(error)
      throw error
    } finally {
      clock?.stop()
    }
  }

  async #prepare(operation: Operation, taken: TakenInput, limits: CallSettings): Promise<PreparedRequest> {
    const { path, query, body } = await checkInput(operation, taken)
    return {
      operation,
      url: buildUrl(this.settings.baseUrl, operation, { path, query }),
      headers: {
        ...limits.headers,
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body,
    }
  }

  async #attempt(request: PreparedRequest, limits: CallSettings, clock: CallClock, call: CallRecord): Promise<Reply> {
    for (;;) {
      await this.#passGate(clock, call)
      call.startAttempt()
      const result = await attempt(request, this.settings, clock, limits.timeout).catch((thrown: unknown) => {
        call.abandonAttempt(thrown)
        throw thrown
      })
      if ('success' in result) {
        call.endAttempt(result.success.response)
        return result.success
      }
      const { failure } = result
      const wait = this.#waitBeforeRepeat(failure, limits, clock, call)
      call.endAttempt(failure.response, failure, wait)
      if (wait === undefined) throw call.toError(failure)
      // After a 429 the gate is shut for as long, for this call as for the others.
      if (failure.status !== 429) await clock.wait(wait)
    }
  }

  async #passGate(clock: CallClock, call: CallRecord): Promise<void> {
    // Another call may shut the gate anew while this one waits.
    for (let wait = this.#gate.remaining; wait > 0; wait = this.#gate.remaining) {
      if (wait >= clock.remaining) throw call.toError(rateLimitFailure(call.operation, wait))
      await clock.wait(wait)
    }
  }

  /** How long to wait before the request is sent again, in ms; undefined when it will not be. */
  #waitBeforeRepeat(failure: Failure, limits: CallSettings, clock: CallClock, call: CallRecord): number | undefined {
    const wait = delayBefore(call.attempts.length + 1, failure)
    const bearable = (failure.retryAfter ?? 0) <= this.settings.maxRetryAfter
    if (failure.status === 429 && bearable) this.#gate.shut(wait)
    const repeats = mayRepeat(call.operation.method, failure) && call.attempts.length < limits.maxRetries
    return repeats && bearable && wait < clock.remaining ? wait : undefined
  }
}
