import { untilAborted } from '../shared/abort.ts'
import { longestTimer } from '../shared/check-options.ts'
import type { RateLimitedCall, RefusedRequest } from './interface.ts'
import { RateLaw, slack } from './rate-law.ts'

/** Ends the permit of a request. */
type EndPermit = (refused?: RefusedRequest) => void

/** If a pause is at least this long, `onWait` is called again, in milliseconds. The call might be unable to wait that long. */
const longPause = 10_000

/** The rate of an operation, and its calls that are held back, in the order in which they were made. */
class Lane extends RateLaw {
  /** The calls that wait for the rate, and those with `canWait: false`, which do not. */
  readonly lines: readonly [HeldCall[], HeldCall[]] = [[], []]

  override isOver(now: number): boolean {
    return this.lines.every(({ length }) => length === 0) && super.isOver(now)
  }
}

interface HeldCall extends RateLimitedCall {
  readonly lane: Lane
  readonly line: HeldCall[]
  readonly arrivedAt: number
  /** Tells the order of calls that were made in the same millisecond. */
  readonly number: number
  announcements: number
  permit?: EndPermit
  wake?: () => void
}

/** Sends the calls of one key when the laws of their operations, the ceiling and `maxConcurrency` allow it. */
export class RateQueue {
  readonly #maxConcurrency: number
  /** The calls by operation. */
  readonly #lanes = new Map<string, Lane>()
  /** The time between two calls, whatever their operations. 0 for no ceiling. */
  #interval = 0
  /** When the last call was sent that a ceiling holds back. */
  #sentAt = Number.NEGATIVE_INFINITY
  #inFlight = 0
  #arrived = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  /** The time of the last timer that has fired. It counts as reached, even under a fake clock that only has timers. */
  #provenTime = 0

  constructor(maxConcurrency: number) {
    this.#maxConcurrency = maxConcurrency
  }

  get #now(): number {
    return Math.max(performance.now(), this.#provenTime)
  }

  /** Sets the time between two calls, whatever their operations. 0 for no ceiling. */
  setCeiling(interval: number): void {
    this.#interval = interval
    this.#sendHeld()
  }

  /** Returns the time between two calls of an operation, or else of all. 0 or undefined if there is no rate. */
  intervalOf(operation?: string): number | undefined {
    return operation === undefined ? this.#interval : this.#lanes.get(operation)?.interval
  }

  /** Forgets operations that hold back no call. Returns whether the queue is then like a new one. */
  forget(): boolean {
    const now = this.#now
    for (const [operation, lane] of this.#lanes) if (lane.isOver(now)) this.#lanes.delete(operation)
    return this.#lanes.size === 0 && this.#inFlight === 0 && this.#interval === 0
  }

  /** Returns a function that ends the permit, or a promise of it if the call is held back. */
  acquire(signal: AbortSignal, call: RateLimitedCall): EndPermit | Promise<EndPermit> {
    const arrivedAt = this.#now
    // A custom limiter that delegates to this one might leave these out.
    const { canWait, operation = '', startedAt = arrivedAt } = call
    const lane = this.#laneOf(operation)
    const line = lane.lines[canWait ? 0 : 1]
    this.#arrived += 1
    const held: HeldCall = { ...call, startedAt, lane, line, arrivedAt, number: this.#arrived, announcements: 0 }
    line.splice(line.findLastIndex((other) => other.startedAt <= startedAt) + 1, 0, held)
    this.#sendHeld()
    return held.permit ?? this.#wait(held, signal)
  }

  #laneOf(operation: string): Lane {
    const known = this.#lanes.get(operation)
    if (known !== undefined && (known.interval === 0 || !known.isOver(this.#now))) return known
    const lane = new Lane()
    this.#lanes.set(operation, lane)
    return lane
  }

  /** How long the law and the ceiling hold a call back. `Infinity` if another call has to end first. */
  #waitOf({ lane, canWait }: HeldCall, now: number): number {
    const opensAt = canWait ? Math.max(lane.opensAt, this.#sentAt + this.#interval) : lane.pausedUntil
    return Math.max(0, opensAt - now)
  }

  /** Sends the calls whose time has come, and sets the timer for the next. */
  #sendHeld(): void {
    clearTimeout(this.#timer)
    while (this.#inFlight < this.#maxConcurrency) {
      const now = this.#now
      const next = this.#nextCall(now)
      if (next === undefined) return
      const wait = this.#waitOf(next, now)
      if (wait > 0) {
        if (wait < Number.POSITIVE_INFINITY) this.#sendHeldAfter(Math.min(Math.ceil(wait), longestTimer))
        return
      }
      next.line.shift()
      next.permit = this.#send(next, now)
      next.wake?.()
    }
  }

  /** Returns the call that can be sent first, or the oldest of several. */
  #nextCall(now: number): HeldCall | undefined {
    let next: HeldCall | undefined
    let shortest = Number.POSITIVE_INFINITY
    for (const { lines } of this.#lanes.values()) {
      for (const [first] of lines) {
        if (first === undefined) continue
        const wait = this.#waitOf(first, now)
        const isFirst =
          next === undefined || (wait - shortest || first.startedAt - next.startedAt || first.number - next.number) < 0
        if (!isFirst) continue
        next = first
        shortest = wait
      }
    }
    return next
  }

  #sendHeldAfter(delay: number): void {
    const time = this.#now + delay
    this.#timer = setTimeout(() => {
      this.#provenTime = time
      this.#sendHeld()
    }, delay)
  }

  #send({ lane, canWait, arrivedAt }: HeldCall, now: number): EndPermit {
    if (canWait) this.#sentAt = Math.max(this.#sentAt + this.#interval, now - slack)
    const end = lane.send(now, canWait ? arrivedAt : undefined)
    this.#inFlight += 1
    let isEnded = false
    return (refused) => {
      if (isEnded) return
      isEnded = true
      this.#inFlight -= 1
      const then = this.#now
      end(then, refused)
      if (lane.pausedUntil > then) for (const { wake } of lane.lines.flat()) wake?.()
      this.#sendHeld()
    }
  }

  async #wait(held: HeldCall, signal: AbortSignal): Promise<EndPermit> {
    try {
      while (held.permit === undefined) {
        const woken = new Promise<void>((resolve) => {
          held.wake = resolve
        })
        // Called here, so that `onWait` runs in the async context of the held call.
        this.#announce(held)
        await untilAborted(woken, signal)
      }
      return held.permit
    } catch (error) {
      const { line } = held
      if (held.permit === undefined) line.splice(line.indexOf(held), 1)
      held.permit?.()
      this.#sendHeld()
      throw error
    }
  }

  /**
   * Calls `onWait` when a rate or a pause holds a call back, and once more when a long pause has begun. A pause rejects a
   * call that cannot wait.
   */
  #announce(held: HeldCall): void {
    const now = this.#now
    const { lane, line, canWait, announcements } = held
    const pause = Math.max(0, lane.pausedUntil - now)
    const interval = canWait ? Math.max(lane.interval, this.#interval) : 0
    const own = this.#waitOf(held, now)
    // If another call has to end first, its duration is unknown, so only the pause counts.
    const wait = (own === Number.POSITIVE_INFINITY ? pause : own) + line.indexOf(held) * interval
    const isNews = announcements === 0 || (announcements === 1 && pause >= longPause) || !canWait
    if (wait === 0 || !isNews) return
    held.announcements += 1
    held.onWait(Math.ceil(wait), Math.ceil(pause))
  }
}
