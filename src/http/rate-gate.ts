import type { RateLimitedCall } from './rate-limiter.ts'

/** A call that was sent later than it arrived was held back. */
export interface ArrivedCall extends RateLimitedCall {
  readonly arrivedAt: number
}

/** Calls that can be in flight after a 429. One would be too few for a service that also refuses calls at random. */
const firstSlots = 2

/**
 * Holds back the calls of an operation, or of a whole key, after a 429: first all of them, then all but two, and twice as
 * many are sent once as many were served. Times are those of `performance.now()`.
 */
export class RateGate {
  /** The service refuses calls until then. */
  pausedUntil = 0
  #round = { slots: Number.POSITIVE_INFINITY, inFlight: 0, served: 0 }

  /** When the next call can be sent after the pause. `Infinity` if another one has to end first. */
  get opensAt(): number {
    return this.#round.inFlight < this.#round.slots ? 0 : Number.POSITIVE_INFINITY
  }

  /** Returns when a call will be sent that has this many others before it, as far as is known. */
  expectedAt(_before: number): number {
    return 0
  }

  /**
   * Counts a call that is sent. Returns a function that counts its end.
   *
   * @param _waiting number of calls that are still held back
   */
  send(_call: ArrivedCall, _now: number, _waiting: number): () => void {
    const round = this.#round
    round.inFlight += 1
    return () => {
      round.inFlight -= 1
      round.served += 1
      if (round.served >= round.slots) Object.assign(round, { slots: 2 * round.slots, served: 0 })
      // Nobody knows whether a call of an earlier round was served.
      if (round === this.#round) this.countServed()
    }
  }

  /** Counts a 429. */
  refuse(_now: number, _until: number): void {
    this.#round = { slots: firstSlots, inFlight: 0, served: 0 }
  }

  /** Whether it can be forgotten once it holds back no call. */
  isOver(now: number): boolean {
    return now >= this.pausedUntil
  }

  protected countServed(): void {}
}
