import type { RequestError } from '../errors/index.ts'
import { notify } from '../notify.ts'
import { heldBackError } from './call-errors.ts'
import type { CallRecord } from './call-record.ts'
import type { EndTurn } from './rate-limiter.ts'

/** The turns that a call takes at the rate limiter, one before each attempt. */
export class Turn {
  readonly #record: CallRecord
  /** The error of a call that cannot wait that long. */
  refusal: RequestError | undefined
  #key: string | undefined
  #end: EndTurn
  /** Resolves when a call that got a 429 can be sent again, unless that was before. A limiter may let it through earlier. */
  #pause: Promise<void> | undefined
  /** Whether the next wait was emitted as a retry. */
  #isAnnounced = false

  constructor(record: CallRecord) {
    this.#record = record
  }

  /** Waits for the turn. Rejects with the limiter's error, or a `RateLimitError` if the call cannot wait that long. */
  async take(): Promise<void> {
    const { call, settings, clock, start } = this.#record
    let isSettled = false
    this.refusal = undefined
    let turn: EndTurn | Promise<EndTurn>
    const onWait = (wait: unknown, pause: unknown) => {
      if (isSettled) return
      this.refusal = this.#announce(toDelay(wait), toDelay(pause))
      if (this.refusal !== undefined) throw this.refusal
    }
    try {
      const key = settings.findRateLimitKey()
      this.#key = typeof key === 'string' ? key : await clock.run(key)
      turn = settings.rateLimiter.acquire(this.#key, clock.signal, {
        operation: this.#operation,
        canWait: call.settings.maxRetries > 0,
        startedAt: start,
        timeLeft: clock.remaining,
        onWait,
      })
      const end = isThenable(turn) ? await clock.run(turn) : turn
      if (this.#pause !== undefined) await clock.run(this.#pause)
      this.#end = end
    } catch (thrown) {
      // The limiter may ignore the signal, or have granted the turn at the same moment.
      Promise.resolve(turn).then(callEnd, () => {})
      throw this.refusal ?? thrown
    } finally {
      isSettled = true
      this.#isAnnounced = false
    }
  }

  /** Ends the turn. Does nothing if there is none. */
  end(): void {
    const end = this.#end
    this.#end = undefined
    callEnd(end)
  }

  /**
   * Tells the rate limiter about a 429, and lets the next turn of this call come no earlier than after this time in
   * milliseconds, whatever the limiter does. Called before the turn ends, so that no other call is sent in between.
   */
  penalize(wait: number): void {
    const key = this.#key
    this.#isAnnounced = true
    // Begins first, so that it is over when the limiter wakes its calls, and this one keeps its place.
    this.#pause = this.#record.clock.pause(wait).then(() => {
      this.#pause = undefined
    })
    if (key !== undefined) notify(() => this.#record.settings.rateLimiter.penalize(key, wait, this.#operation))
  }

  /** HTTP method and path template. */
  get #operation(): string {
    const { method, path } = this.#record.call.operation
    return `${method} ${path}`
  }

  /** Emits `onWait`, or returns the error if the call cannot wait that long. Times are in milliseconds. */
  #announce(wait: number, pause: number): RequestError | undefined {
    const { call, settings, clock } = this.#record
    const isPatient = call.settings.maxRetries > 0 && pause <= settings.maxRetryAfter
    if (wait >= clock.remaining || (wait > 0 && !isPatient)) return heldBackError(this.#record, wait)
    if (!this.#isAnnounced) this.#record.wait(wait)
    this.#isAnnounced = false
    return undefined
  }
}

/** Whether a value is a promise, possibly of another realm. */
function isThenable(turn: EndTurn | Promise<EndTurn>): turn is Promise<EndTurn> {
  return typeof (turn as { then?: unknown } | undefined)?.then === 'function'
}

function callEnd(end: EndTurn): void {
  if (typeof end === 'function') notify(end)
}

/** A custom limiter may announce anything. */
function toDelay(announced: unknown): number {
  return typeof announced === 'number' && announced > 0 ? announced : 0
}
