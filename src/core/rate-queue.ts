import { untilAborted } from '../shared/abort.ts'
import { longestTimer } from '../shared/check-options.ts'
import { RateLaw, slack } from './rate-law.ts'
import type { RateLimitedCall, RefusedRequest } from './rate-limiter.ts'

/** Ends the permit of a request. */
type EndPermit = (refused?: RefusedRequest) => void

/**
 * If a pause is at least this long, `onWait` of a held call is called again, in milliseconds. The call might be unable
 * to wait that long.
 */
const longPause = 10_000

/** The calls of an operation that are held back, in the order in which they are sent. */
interface Lane {
  readonly law: RateLaw
  readonly line: HeldCall[]
}

interface HeldCall extends RateLimitedCall {
  readonly lane: Lane
  readonly arrivedAt: number
  announcements: number
  permit?: EndPermit
  wake: () => void
}

/** Sends the calls of one key when the laws of their operations, the ceiling and `maxConcurrency` allow it. */
export class RateQueue {
  readonly #maxConcurrency: number
  /** The calls by operation. */
  readonly #lanes = new Map<string, Lane>()
  #held = 0
  #inFlight = 0
  /** The ceiling as the time between two calls (0 for no ceiling), and when it allows the next call. */
  #interval = 0
  #nextAt = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #wakesAt = Number.POSITIVE_INFINITY
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
    this.#nextAt = 0
    this.#sendHeld()
  }

  /**
   * Returns the time between two calls of an operation, or the time of the ceiling. 0 or undefined if there is no rate.
   */
  intervalOf(operation?: string): number | undefined {
    return operation === undefined ? this.#interval : this.#lanes.get(operation)?.law.interval
  }

  /** Forgets operations that hold back no call. Returns whether the queue is then like a new one. */
  forget(): boolean {
    const now = this.#now
    for (const [operation, lane] of this.#lanes) if (isOver(lane, now)) this.#lanes.delete(operation)
    return this.#lanes.size === 0 && this.#inFlight === 0 && this.#interval === 0
  }

  /** Returns a function that ends the permit, or a promise of it if the call is held back. */
  acquire(signal: AbortSignal, call: RateLimitedCall): EndPermit | Promise<EndPermit> {
    const now = this.#now
    // A custom limiter that delegates to this one might leave the operation out.
    const lane = this.#laneOf(call.operation ?? '', now)
    const isFree = this.#held === 0 && this.#inFlight < this.#maxConcurrency
    if (isFree && this.#opensAt(lane, call.canWait) <= now) return this.#send(lane, call.canWait, now, now)
    // Calls with `canWait: false` are sent first, because the rate does not hold them back.
    const startedAt = call.canWait ? call.startedAt : Number.NEGATIVE_INFINITY
    const held: HeldCall = { ...call, startedAt, lane, arrivedAt: now, announcements: 0, wake() {} }
    lane.line.splice(lane.line.findLastIndex((other) => other.startedAt <= startedAt) + 1, 0, held)
    this.#held += 1
    this.#sendHeld()
    return held.permit ?? this.#wait(held, signal)
  }

  #laneOf(operation: string, now: number): Lane {
    const known = this.#lanes.get(operation)
    if (known !== undefined && (known.law.interval === 0 || !isOver(known, now))) return known
    const lane = { law: new RateLaw(), line: [] }
    this.#lanes.set(operation, lane)
    return lane
  }

  /** When the law and the ceiling allow a call. */
  #opensAt({ law }: Lane, canWait: boolean): number {
    return canWait ? Math.max(law.opensAt, this.#nextAt) : law.pausedUntil
  }

  #send({ law, line }: Lane, canWait: boolean, now: number, arrivedAt: number): EndPermit {
    if (canWait && this.#interval > 0) this.#nextAt = Math.max(this.#nextAt, now - slack) + this.#interval
    const end = law.send(now, canWait ? arrivedAt : undefined)
    this.#inFlight += 1
    let isEnded = false
    return (refused) => {
      if (isEnded) return
      isEnded = true
      this.#inFlight -= 1
      const then = this.#now
      end(then, refused)
      if (law.pausedUntil >= then + longPause) for (const { wake } of line) wake()
      this.#sendHeld()
    }
  }

  /** Sends the calls whose time has come, and sets the timer for the next. */
  #sendHeld(): void {
    for (;;) {
      const now = this.#now
      let next: HeldCall | undefined
      let wakesAt = Number.POSITIVE_INFINITY
      const lanes = this.#held > 0 && this.#inFlight < this.#maxConcurrency ? this.#lanes.values() : []
      for (const { line } of lanes) {
        const [first] = line
        if (first === undefined) continue
        const opensAt = this.#opensAt(first.lane, first.canWait)
        if (opensAt > now) wakesAt = Math.min(wakesAt, opensAt)
        else if (next === undefined || first.startedAt < next.startedAt) next = first
      }
      this.#wakeAt(wakesAt, now)
      if (next === undefined) return
      this.#remove(next)
      next.permit = this.#send(next.lane, next.canWait, now, next.arrivedAt)
      next.wake()
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
      if (held.permit === undefined) this.#remove(held)
      held.permit?.()
      this.#sendHeld()
      throw error
    }
  }

  #remove(held: HeldCall): void {
    held.lane.line.splice(held.lane.line.indexOf(held), 1)
    this.#held -= 1
  }

  /** Calls `onWait` when a rate or a pause holds a call back, and once more when a long pause has begun. */
  #announce(held: HeldCall): void {
    const now = this.#now
    const { law, line } = held.lane
    const opensAt = this.#opensAt(held.lane, held.canWait)
    const pause = Math.max(0, law.pausedUntil - now)
    const isNews = held.announcements === 0 ? opensAt > now : held.announcements === 1 && pause >= longPause
    if (!isNews) return
    held.announcements += 1
    const interval = held.canWait ? Math.max(law.interval, this.#interval) : 0
    const wait = opensAt - now + line.indexOf(held) * interval
    held.onWait(Math.max(1, Math.ceil(wait)), Math.ceil(pause))
  }

  #wakeAt(time: number, now: number): void {
    if (time === this.#wakesAt) return
    clearTimeout(this.#timer)
    this.#wakesAt = time
    if (time === Number.POSITIVE_INFINITY) return
    const delay = Math.min(Math.ceil(time - now), longestTimer)
    this.#timer = setTimeout(() => {
      this.#provenTime = Math.min(time, now + delay)
      this.#wakesAt = Number.POSITIVE_INFINITY
      this.#sendHeld()
    }, delay)
  }
}

function isOver({ law, line }: Lane, now: number): boolean {
  return line.length === 0 && law.isOver(now)
}
