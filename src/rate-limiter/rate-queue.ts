import { untilAborted } from '../shared/abort.ts'
import { longestTimer } from '../shared/check-options.ts'
import type { RateLimitedCall, RefusedRequest } from './interface.ts'
import { RateLaw, slack } from './rate-law.ts'

/** Ends the permit of a request. */
type EndPermit = (refused?: RefusedRequest, failure?: 'unserved') => void

/** If a pause is at least this long, `onWait` is called again, in milliseconds. The call might be unable to wait that long. */
const longPause = 10_000
/** The longest time that a background call gives way to writes, in milliseconds. */
const longestGivingWay = 30_000

/** The rate of an operation, and its calls that are held back, in the order in which they were made. */
class Lane extends RateLaw {
  /** The calls that wait for the rate, background calls, and those with `canWait: false`, which do not wait for it. */
  readonly lines: readonly [waiting: HeldCall[], background: HeldCall[], hasty: HeldCall[]] = [[], [], []]
  /** The calls that hear of the next pause. If they have heard that they wait, only of a long one. */
  readonly listeners = new Set<HeldCall>()

  override isOver(now: number): boolean {
    return this.lines.every(({ length }) => length === 0) && super.isOver(now)
  }
}

interface HeldCall extends RateLimitedCall {
  readonly lane: Lane
  readonly line: HeldCall[]
  readonly isWrite: boolean
  readonly arrivedAt: number
  /** Tells the order of calls that were made in the same millisecond. */
  readonly number: number
  hasHeard?: boolean
  permit?: EndPermit
  wake?: () => void
}

/** Compares calls by when they were made. */
const order = (one: HeldCall, other: HeldCall) => one.startedAt - other.startedAt || one.number - other.number

/** Returns the place of a call in its line. */
function placeOf(held: HeldCall): number {
  const { line } = held
  let [from, to] = [0, line.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if (order(line[middle] as HeldCall, held) < 0) from = middle + 1
    else to = middle
  }
  return from
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
  /** Number of writes that are held back, and of refusals of writes that have not ended. */
  #writes = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(maxConcurrency: number) {
    this.#maxConcurrency = maxConcurrency
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
    const now = performance.now()
    for (const [operation, lane] of this.#lanes) if (lane.isOver(now)) this.#lanes.delete(operation)
    return this.#lanes.size === 0 && this.#inFlight + this.#writes === 0 && this.#interval === 0
  }

  /** Returns a function that ends the permit, or a promise of it if the call is held back. */
  acquire(signal: AbortSignal, call: RateLimitedCall): EndPermit | Promise<EndPermit> {
    const arrivedAt = performance.now()
    // A custom limiter that delegates to this one might leave these out.
    const { canWait, background = false, operation = '', startedAt = arrivedAt } = call
    const lane = this.#laneOf(operation)
    const line = lane.lines[!canWait ? 2 : background ? 1 : 0]
    const isWrite = !background && !operation.startsWith('GET ')
    this.#arrived += 1
    const held: HeldCall = { ...call, startedAt, lane, line, isWrite, arrivedAt, number: this.#arrived }
    line.splice(placeOf(held), 0, held)
    if (isWrite) this.#writes += 1
    this.#sendHeld()
    return held.permit ?? this.#wait(held, signal)
  }

  #laneOf(operation: string): Lane {
    const known = this.#lanes.get(operation)
    if (known !== undefined && (known.interval === 0 || !known.isOver(performance.now()))) return known
    const lane = new Lane()
    this.#lanes.set(operation, lane)
    return lane
  }

  /** How long the law and the ceiling hold a call back. `Infinity` if another call has to end first. */
  #waitOf({ lane, canWait, background, arrivedAt }: HeldCall, now: number): number {
    if (!canWait) return Math.max(0, lane.pausedUntil - now)
    const givesWayUntil = background && this.#writes > 0 ? arrivedAt + longestGivingWay : now
    return Math.max(lane.opensAt, this.#sentAt + this.#interval, givesWayUntil) - now
  }

  /** Sends the calls whose time has come, and sets the timer for the next. */
  #sendHeld(): void {
    clearTimeout(this.#timer)
    while (this.#inFlight < this.#maxConcurrency) {
      const now = performance.now()
      const next = this.#nextCall(now)
      if (next === undefined) return
      const wait = this.#waitOf(next, now)
      if (wait > 0) {
        const delay = Math.min(Math.ceil(wait), longestTimer)
        if (wait < Number.POSITIVE_INFINITY) this.#timer = setTimeout(() => this.#sendHeld(), delay)
        return
      }
      this.#remove(next)
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
        const isFirst = next === undefined || (wait - shortest || order(first, next)) < 0
        if (!isFirst) continue
        next = first
        shortest = wait
      }
    }
    return next
  }

  #remove(held: HeldCall): void {
    const { lane, line, isWrite } = held
    line.splice(placeOf(held), 1)
    lane.listeners.delete(held)
    if (isWrite) this.#writes -= 1
  }

  #send({ lane, canWait, arrivedAt, isWrite, whenOver }: HeldCall, now: number): EndPermit {
    if (canWait) this.#sentAt = Math.max(this.#sentAt + this.#interval, now - slack)
    const end = lane.send(now, canWait ? arrivedAt : undefined)
    this.#inFlight += 1
    let isEnded = false
    return (refused, failure) => {
      if (isEnded) return
      isEnded = true
      this.#inFlight -= 1
      const then = performance.now()
      const { pausedUntil } = lane
      end(then, refused, failure)
      if (isWrite && refused !== undefined) this.#countUntil(whenOver)
      if (lane.pausedUntil > Math.max(then, pausedUntil)) {
        const isLong = lane.pausedUntil - then >= longPause
        for (const { hasHeard, wake } of lane.listeners) if (isLong || !hasHeard) wake?.()
      }
      this.#sendHeld()
    }
  }

  /** Lets background calls give way to a refused write until its call is over. */
  #countUntil(whenOver: RateLimitedCall['whenOver']): void {
    if (whenOver === undefined) return
    this.#writes += 1
    whenOver(() => {
      this.#writes -= 1
      this.#sendHeld()
    })
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
      held.permit?.(undefined, 'unserved')
      this.#sendHeld()
      throw error
    }
  }

  /**
   * Calls `onWait` when a rate or a pause holds a call back, and once more when a long pause has begun. A pause rejects a
   * call that cannot wait.
   */
  #announce(held: HeldCall): void {
    const now = performance.now()
    const { lane, canWait } = held
    const pause = Math.max(0, lane.pausedUntil - now)
    const interval = canWait ? Math.max(lane.interval, this.#interval) : 0
    const own = this.#waitOf(held, now)
    // If another call has to end first, its duration is unknown, so only the pause counts.
    const wait = (own === Number.POSITIVE_INFINITY ? pause : own) + placeOf(held) * interval
    if (held.hasHeard) lane.listeners.delete(held)
    else lane.listeners.add(held)
    if (wait === 0) return
    held.hasHeard = canWait
    held.onWait(Math.ceil(wait), Math.ceil(pause))
  }
}
