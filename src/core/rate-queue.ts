import { untilAborted } from '../shared/abort.ts'
import { longestTimer } from '../shared/check-options.ts'
import { RateLaw } from './rate-law.ts'
import type { EndTurn, RateLimitedCall, RefusedRequest } from './rate-limiter.ts'

/** The limit may have changed when an operation was not called for this time, in milliseconds. */
const memory = 600_000
/** A call hears of a longer wait if it is this much longer, in milliseconds. */
const noticeable = 100

/** The calls of an operation that wait, in the order in which they were made, and their law once one was refused. */
interface Lane {
  readonly line: HeldCall[]
  law: RateLaw | undefined
}

interface HeldCall extends RateLimitedCall {
  readonly lane: Lane
  readonly arrivedAt: number
  announcements: number
  /** When the last announcement said that the call would be sent. */
  expectedAt: number
  endTurn?: EndTurn
  wake: () => void
}

/** Sends the calls of one key as soon as the laws of their operations, the ceiling and the concurrency allow it. */
export class RateQueue {
  readonly #maxConcurrency: number
  readonly #lanes = new Map<string, Lane>()
  #inFlight = 0
  /** The time between two calls of any operation, and when the next one can be sent. */
  #interval = 0
  #nextAt = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #wakesAt = Number.POSITIVE_INFINITY
  /** A timer that has fired proves that this time has come, also under a fake clock that only has timers. */
  #provenTime = 0

  constructor(maxConcurrency: number) {
    this.#maxConcurrency = maxConcurrency
  }

  get #now(): number {
    return Math.max(performance.now(), this.#provenTime)
  }

  /** @param rate in calls a millisecond, can be `Infinity` */
  setCeiling(rate: number): void {
    this.#interval = 1 / rate
    this.#nextAt = 0
    this.#sendHeld()
  }

  /** Returns the rate of an operation, or the ceiling, in calls a millisecond. */
  rateOf(operation?: string): number | undefined {
    const interval = operation === undefined ? this.#interval : this.#lanes.get(operation)?.law?.interval
    return interval ? 1 / interval : undefined
  }

  /** Returns a function that ends the call's permit, at once if nothing holds it back. */
  acquire(signal: AbortSignal, call: RateLimitedCall): EndTurn | Promise<EndTurn> {
    // A limiter that delegates may leave it out.
    const { operation = '', canWait } = call
    const lane = this.#lanes.get(operation) ?? { line: [], law: undefined }
    this.#lanes.set(operation, lane)
    const now = this.#now
    if (lane.line.length === 0 && this.#opensAt(lane, canWait, now) <= now) return this.#send(lane, call, now)
    // Calls that cannot wait are sent first, because only what the service asks for holds them back.
    const startedAt = canWait ? call.startedAt : Number.NEGATIVE_INFINITY
    const untold = { announcements: 0, expectedAt: Number.NEGATIVE_INFINITY }
    const held: HeldCall = { ...call, ...untold, startedAt, lane, arrivedAt: now, wake() {} }
    lane.line.splice(lane.line.findLastIndex((other) => other.startedAt <= startedAt) + 1, 0, held)
    this.#sendHeld()
    return held.endTurn ?? this.#wait(held, signal)
  }

  /** Forgets what holds back no call. Returns whether a new queue would do the same. */
  forget(): boolean {
    const now = this.#now
    for (const [operation, { line, law }] of this.#lanes) {
      if (line.length === 0 && (law?.isOver(now, memory) ?? true)) this.#lanes.delete(operation)
    }
    return this.#lanes.size === 0 && this.#inFlight === 0 && this.#interval === 0
  }

  #opensAt({ law }: Lane, canWait: boolean, now: number): number {
    if (this.#inFlight >= this.#maxConcurrency) return Number.POSITIVE_INFINITY
    if (!canWait) return law?.askedUntil ?? now
    return Math.max(law?.opensAt(now) ?? now, this.#interval > 0 ? this.#nextAt : now)
  }

  /** Returns a function that ends the permit. */
  #send(lane: Lane, { canWait, attempt }: RateLimitedCall, now: number, isHeld = false): Exclude<EndTurn, void> {
    if (this.#interval > 0 && canWait) this.#nextAt = Math.max(this.#nextAt, now) + this.#interval
    this.#inFlight += 1
    // A call that was refused before has waited, too.
    const sent = lane.law?.send(now, isHeld || attempt > 1)
    let isOver = false
    return (refused?: RefusedRequest) => {
      if (isOver) return
      isOver = true
      this.#inFlight -= 1
      const then = this.#now
      if (refused === undefined) {
        if (sent !== undefined) lane.law?.serve(sent, then)
      } else {
        lane.law ??= new RateLaw()
        lane.law.refuse(sent ?? lane.law.sentEarlier(now), then, refused.retryAfter)
      }
      this.#sendHeld()
    }
  }

  /** Sends the calls whose time has come, and sets the timer for the next. */
  #sendHeld(): void {
    for (;;) {
      const now = this.#now
      let next: HeldCall | undefined
      let wakesAt = Number.POSITIVE_INFINITY
      for (const { line } of this.#lanes.values()) {
        const first = line[0]
        if (first === undefined) continue
        const opensAt = this.#opensAt(first.lane, first.canWait, now)
        if (opensAt > now) wakesAt = Math.min(wakesAt, opensAt)
        else if (next === undefined || first.startedAt < next.startedAt) next = first
      }
      if (next === undefined) {
        this.#wakeAt(wakesAt, now)
        return
      }
      next.lane.line.shift()
      next.endTurn = this.#send(next.lane, next, now, now > next.arrivedAt)
      next.wake()
    }
  }

  async #wait(held: HeldCall, signal: AbortSignal): Promise<EndTurn> {
    try {
      while (held.endTurn === undefined) {
        const woken = new Promise<void>((resolve) => {
          held.wake = resolve
        })
        // Called here, so that `onWait` runs in the async context of its own call.
        this.#announce(held)
        await untilAborted(woken, signal)
      }
      return held.endTurn
    } catch (error) {
      const place = held.lane.line.indexOf(held)
      if (place !== -1) held.lane.line.splice(place, 1)
      held.endTurn?.()
      this.#sendHeld()
      throw error
    }
  }

  /** Calls `onWait` when a call is first held back, and once more when it waits for noticeably longer. */
  #announce(held: HeldCall): void {
    const now = this.#now
    const { lane, canWait } = held
    const interval = Math.max(lane.law?.interval ?? 0, this.#interval)
    const opensAt = this.#opensAt(lane, canWait, now)
    const place = canWait ? lane.line.indexOf(held) : 0
    const expectedAt = (Number.isFinite(opensAt) ? Math.max(now, opensAt) : now) + place * interval
    if (held.announcements === 2 || expectedAt < held.expectedAt + noticeable) return
    held.announcements += 1
    held.expectedAt = expectedAt
    const pause = Math.max(0, (lane.law?.askedUntil ?? now) - now)
    held.onWait(Math.ceil(expectedAt - now), Math.ceil(pause))
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
