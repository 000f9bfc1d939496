import { type ArrivedCall, RateGate } from '../http/rate-gate.ts'

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
/** After so many small rises the limit must have changed, and large ones find it sooner. */
const maxProbes = 3
/** Calls that cannot be sent in time cost more than a 429, so more of them make the periods shorter. */
const pressedWait = 0.2
const pressedCalls = 10
const pressedFactor = 0.05
const usualCalls = 200
/** Calls that a late timer has delayed can catch up by this time, in milliseconds. */
const slack = 100
/** One call a minute. A slower rate would keep calls from finding out that the service allows more. */
const lowestRate = 1 / 60_000
/** The limit may have changed when it was not needed for this time, in milliseconds. */
const memory = 600_000

/**
 * Lets calls go at the rate that the service allows, which it only shows by refusing calls. See decision 26 for the reasons
 * and figures.
 */
export class PacedGate extends RateGate {
  #rate: number | undefined
  #nextAt = 0
  #neededAt = Number.NEGATIVE_INFINITY
  /** 429s of calls that were sent before this time count once. */
  #quietUntil = 0

  /** Calls that were served since the first 429 or the last drop, and when that was. */
  #served = 0
  #measuredAt: number | undefined

  /** When the last call was sent, and for how much of the recent time calls were held back. */
  #sentAt = 0
  #recent = 0
  #held = 0

  /** The rate that was refused last, and the last one that was not. */
  #ceiling: number | undefined
  #proven = 0
  #probes = 0
  #hasRisen = false

  #periodAt = 0
  #periodCalls = 0
  #usualWaiting = 0
  #isPressed = false

  /** @param rate in calls a millisecond. By default it is not limited until it is measured. */
  constructor(rate?: number, now = 0) {
    super()
    if (rate === undefined) return
    this.#neededAt = now
    this.#measure(now)
    this.#change(rate, now)
  }

  /** In calls a millisecond. Undefined if it is not known. */
  get rate(): number | undefined {
    return this.#rate
  }

  override get opensAt(): number {
    return Math.max(super.opensAt, this.#nextAt)
  }

  override expectedAt(before: number): number {
    return this.#rate === undefined ? 0 : Math.max(this.pausedUntil, this.#nextAt) + before / this.#rate
  }

  override isOver(now: number): boolean {
    return super.isOver(now) && now - this.#neededAt > memory
  }

  override send(call: ArrivedCall, now: number, waiting: number): () => void {
    this.#countHeldTime(call, now)
    this.#usualWaiting += (waiting - this.#usualWaiting) / usualCalls
    const isLate = now - call.arrivedAt > pressedWait * call.timeLeft
    this.#isPressed = isLate && waiting > this.#usualWaiting + pressedCalls
    if (this.#rate !== undefined) {
      if (call.canWait) this.#nextAt = Math.max(this.#nextAt, now - slack) + 1 / this.#rate
      if (this.#isPeriodOver(this.#rate, now)) this.#rise(this.#rate, now)
    }
    return super.send(call, now, waiting)
  }

  override refuse(now: number, until: number): void {
    super.refuse(now, until)
    const isCounted = now < this.#quietUntil
    this.#quietUntil = Math.max(this.#quietUntil, until)
    this.#neededAt = this.#quietUntil
    if (!isCounted) this.#countRefusal(now)
  }

  protected override countServed(): void {
    this.#served += 1
  }

  #countRefusal(now: number): void {
    const isAccident = !this.#hasRisen && this.#held < minHeldShare * this.#recent
    if (this.#measuredAt === undefined) this.#measure(now)
    // Without a served call, it is an outage, which says nothing about the rate.
    else if (isAccident || this.#served === 0) return
    else if (this.#rate !== undefined) {
      this.#ceiling = Math.min(this.#rate, 2 * this.#proven)
      this.#change((1 - step) * this.#proven, now)
    } else if (this.#served >= minServedCalls) {
      this.#change(((1 - step) * this.#served) / Math.max(1, now - this.#measuredAt), now)
    }
  }

  #measure(now: number): void {
    this.#measuredAt = now
    this.#sentAt = now
  }

  #change(rate: number, now: number): void {
    this.#rate = Math.max(lowestRate, rate)
    this.#proven = this.#rate
    this.#served = 0
    this.#probes = 0
    this.#hasRisen = false
    this.#startPeriod(now)
  }

  #countHeldTime({ arrivedAt }: ArrivedCall, now: number): void {
    this.#held += now - Math.max(this.#sentAt, arrivedAt)
    this.#recent += now - this.#sentAt
    this.#sentAt = now
    const share = Math.min(1, recentTime / this.#recent)
    this.#held *= share
    this.#recent *= share
    if (arrivedAt === now) return
    this.#neededAt = now
    this.#periodCalls += 1
  }

  #isPeriodOver(rate: number, now: number): boolean {
    const isSearch = this.#isSearching || rate < nearCeiling * (this.#ceiling ?? 0)
    const { calls, time } = isSearch ? searchPeriod : probePeriod
    const part = this.#isPressed ? pressedFactor : 1
    return this.#periodCalls >= calls * part && now - this.#periodAt >= time * part
  }

  /** Whether nothing is known about higher rates. */
  get #isSearching(): boolean {
    return this.#ceiling === undefined || this.#probes >= maxProbes
  }

  #rise(rate: number, now: number): void {
    const ceiling = this.#ceiling ?? 0
    this.#proven = rate
    this.#hasRisen = true
    this.#startPeriod(now)
    if (this.#isSearching) {
      this.#rate = 2 * rate
    } else {
      this.#rate = rate < nearCeiling * ceiling ? Math.sqrt(rate * ceiling) : (1 + step) * rate
      if (this.#rate > ceiling) this.#probes += 1
    }
  }

  #startPeriod(now: number): void {
    this.#periodAt = now
    this.#periodCalls = 0
  }
}
