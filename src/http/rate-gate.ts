import type { CallClock } from './call-clock.ts'
import { untilAborted } from './call-clock.ts'

/**
 * Holds back the calls of one client while the service asks it to wait. When the wait is over, those that waited go one
 * after another, each when the response of the one before has come: together they would run into the limit again.
 */
export class RateGate {
  #opensAt = 0
  /** Settles when the last call in the queue has had its turn; undefined while nobody waits. */
  #last: Promise<void> | undefined

  /** How long the gate stays shut, in ms; 0 when it is open. */
  get remaining(): number {
    return Math.max(0, this.#opensAt - performance.now())
  }

  /** Shuts the gate for some ms, or leaves it shut for longer. */
  shut(duration: number): void {
    this.#opensAt = Math.max(this.#opensAt, performance.now() + duration)
  }

  /**
   * Resolves when the call may be sent, to the function that ends its turn.
   *
   * @param onWait called with the time to wait, in ms, before each wait; what it throws ends the call
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
        await untilAborted(before, clock.signal)
      }
      // Another call may shut the gate again while this one waits.
      for (let wait = this.remaining; wait > 0; wait = this.remaining) {
        onWait(wait)
        await clock.wait(wait)
      }
      return endTurn
    } catch (thrown) {
      // The calls behind wait for the one in front instead.
      if (before === undefined) endTurn()
      else before.then(endTurn)
      throw thrown
    }
  }
}
