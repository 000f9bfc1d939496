import { type HeldCall, RateGate } from './rate-queue.ts'

/** How much a rate drops at a 429, and rises near the refused one. With larger drops, clients starve each other. */
const step = 0.05
/** Fewer served calls do not make a rate. */
const minServedCalls = 10
/** A 429 while calls were held back for less of the time is an accident, because a backlog is always held back. */
const minHeldShare = 0.6
/** What was earlier says nothing about the present load, in milliseconds. */
const recentTime = 60_000
/** Far from the refused rate, a rate is most likely too low, so a short test is enough. */
const searchPeriod = { calls: 20, time: 1_000 }
/** Close to it, most rises end with a 429, so they should be rare. */
const probePeriod = { calls: 100, time: 10_000 }
/** From this share of the last refused rate on, rises are small. */
const nearCeiling = 0.9
/** Above this share of it, after three small rises, the limit must have changed, and large ones find it sooner. */
const aboveCeiling = 1.1
/** A load that grows by so many calls is more than the rate allows, so shorter periods cost less than the waits. */
const pressingCalls = 10
const pressedPart = 0.05
/** How many calls make a load the usual one. A backlog with a constant number of workers always is. */
const usualCalls = 200
/** Calls that a late timer has delayed can catch up by this time, in milliseconds. */
const slack = 100
/** One call a minute. A slower rate would keep calls from finding out that the service allows more. */
const lowestRate = 1 / 60_000
/** The limit may have changed when it was not needed for this time, in milliseconds. */
const memory = 600_000

/**
 * Lets calls go at the rate that the service allows, which it only shows by refusing calls. Rates are in calls a
 * millisecond. See decision 26 for the reasons and figures.
 */
export class PacedGate extends RateGate {
  #neededAt = Number.NEGATIVE_INFINITY

  /** Calls that were served since the rate was changed or a 429 did not count, and when that was. */
  #served = 0
  #measuredAt = performance.now()

  /** When the last call was sent, and for how much of the recent time calls were held back. */
  #sentAt = performance.now()
  #recent = 0
  #held = 0

  /** The rate that was refused last, unless it is no longer known, and the last one that was not. */
  #ceiling = Number.POSITIVE_INFINITY
  #proven = Number.POSITIVE_INFINITY

  #periodAt = 0
  #periodCalls = 0
  #usualLoad = 0

  /** Starts again with a rate, which can be `Infinity`. */
  setRate(rate: number, now: number): void {
    this.#neededAt = now
    this.#ceiling = Number.POSITIVE_INFINITY
    this.nextAt = 0
    this.#change(rate, now)
  }

  override isOver(now: number): boolean {
    return super.isOver(now) && now - this.#neededAt > memory
  }

  override send(call: HeldCall, now: number, others: number): () => void {
    this.#countHeldTime(call, now)
    if (this.interval === 0) {
      this.#usualLoad = others
    } else {
      this.#usualLoad += (others - this.#usualLoad) / usualCalls
      if (call.canWait) this.nextAt = Math.max(this.nextAt, now - slack) + this.interval
      this.#riseAfterPeriod(now, others > this.#usualLoad + pressingCalls)
    }
    return super.send(call, now, others)
  }

  override refuse(now: number, until: number): void {
    this.#served += this.round.served
    super.refuse(now, until)
    this.#neededAt = this.pausedUntil
    const rate = 1 / this.interval
    const isBacklog = rate > this.#proven || this.#held > minHeldShare * this.#recent
    if (!isBacklog) {
      this.#measure(now)
    } else if (this.interval > 0 && this.#served > 0) {
      this.#ceiling = rate
      this.#change((1 - step) * this.#proven, now)
    } else if (this.#served >= minServedCalls) {
      this.#change(((1 - step) * this.#served) / Math.max(1, now - this.#measuredAt), now)
    }
  }

  #countHeldTime({ arrivedAt }: HeldCall, now: number): void {
    this.#held += now - Math.max(this.#sentAt, arrivedAt)
    this.#recent += now - this.#sentAt
    this.#sentAt = now
    const share = Math.min(1, recentTime / this.#recent)
    this.#held *= share
    this.#recent *= share
    if (this.interval === 0 || arrivedAt === now) return
    this.#neededAt = now
    this.#periodCalls += 1
  }

  #riseAfterPeriod(now: number, isPressed: boolean): void {
    const rate = 1 / this.interval
    const isFar = rate < nearCeiling * this.#ceiling
    const { calls, time } = isFar ? searchPeriod : probePeriod
    const part = isPressed ? pressedPart : 1
    if (this.#periodCalls < calls * part || now - this.#periodAt < time * part) return
    const higher = isFar ? Math.min(2 * rate, Math.sqrt(rate * this.#ceiling)) : (1 + step) * rate
    if (higher > aboveCeiling * this.#ceiling) this.#ceiling = Number.POSITIVE_INFINITY
    this.#proven = rate
    this.#startPeriod(higher, now)
  }

  #change(rate: number, now: number): void {
    this.#proven = Math.max(lowestRate, rate)
    this.#startPeriod(this.#proven, now)
    this.#measure(now)
  }

  #startPeriod(rate: number, now: number): void {
    this.interval = 1 / rate
    this.#periodAt = now
    this.#periodCalls = 0
  }

  #measure(now: number): void {
    this.#served = 0
    this.#measuredAt = now
  }
}
