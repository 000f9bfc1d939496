import type { CallClock } from './call-clock.ts'

/**
 * Holds back the calls of a client while it is rate limited. Afterwards the waiting calls are sent one at a time, each
 * after the previous response, because sending them together would exceed the limit again.
 */
export class RateGate {
  #opensAt = 0
  /** Resolves when the last queued call has finished. Undefined while the queue is empty. */
  #last: Promise<void> | undefined

  /** Time until the gate opens, in milliseconds. 0 if it is open. */
  get remaining(): number {
    return Math.max(0, Math.ceil(this.#opensAt - performance.now()))
  }

  /** Closes the gate for at least the given time, in milliseconds. */
  shut(duration: number): void {
    this.#opensAt = Math.max(this.#opensAt, performance.now() + duration)
  }

  /**
   * Waits until the call can be sent. Resolves with a function that ends its turn.
   *
   * @param onWait called with the time in milliseconds before each wait; if it throws, the call rejects
   */
  async pass(clock: CallClock, onWait: (wait: number) => void): Promise<() => void> {
    const before = this.#last
    if (before === undefined && this.remaining === 0) return () => {}
    let endTurn = (): void => {}
    const turn = new Promise<void>((resolve) => {
      endTurn = resolve
    })
    this.#last = turn
    turn.then(() => {
      if (this.#last === turn) this.#last = undefined
    })
    try {
      if (before !== undefined) {
        onWait(this.remaining)
        await clock.run(() => before)
      }
      // Another call may close the gate again in the meantime.
      for (let wait = this.remaining; wait > 0; wait = this.remaining) {
        onWait(wait)
        await clock.wait(wait)
      }
      return endTurn
    } catch (thrown) {
      // The next calls then wait for the previous one.
      if (before === undefined) endTurn()
      else before.then(endTurn)
      throw thrown
    }
  }
}
