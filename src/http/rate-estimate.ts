import { longestBackoff } from './retry.ts'

/** How much a rate drops at a 429. It rises as much after a calm period, and more after each further one. */
const step = 0.05
/** How many times as high it is after a rise, at most. It rises as fast to its value before the last 429, less a step. */
const largestRise = 2
/**
 * A calm period has this many held calls, or as many as are sent in this time in milliseconds if that is more, but is not
 * longer than `longestPeriod`.
 */
const periodCalls = 150
const periodTime = 10_000
const longestPeriod = 900_000
/** With a call that waited for more than half of its time, a period ends after so many times fewer calls. */
const hurry = 6
/** After a 429, a rate is at most this many times the measured one. The wait after the 429 makes that too low. */
const tolerance = 1.2
/** Fewer calls are no measurement. */
const sample = 10
/** One 429 in so many calls is no limit if calls were held back for less than this share of the time. */
const tolerable = 50
const saturated = 0.3
/**
 * A 429 that comes before the rate has risen contradicts the drop before it. After so many of them, other things than this
 * rate cause 429s, and it is set to what it was before, times `amends`. If none of them came after more than `helpful`
 * calls, 429s are ignored for a time in milliseconds.
 */
const mostDoubts = 5
const amends = 1.25
const helpful = 30
const trust = 60_000
/** One call a minute. A slower rate would keep calls from finding out that the service allows more. */
const lowestRate = 1 / 60_000
/** From this rate on, in calls a millisecond, there is nothing left to pace. */
const unlimitedRate = 1
/** This many 429s in a row, without a served call, cause no backoff. */
const harmless = 2
/** A pause between calls only counts up to this time as a result of the limit, in milliseconds. */
const longestPause = 1_000

/**
 * Estimates the rate that a service allows, which it only shows by refusing calls. Between two 429s it counts the calls
 * that are served: that is the rate. See decision 26 for the reasons and figures. Times are in milliseconds of
 * `performance.now()`.
 */
export class RateEstimate {
  /** In calls a millisecond. Undefined if it is not known or not limited. */
  #rate: number | undefined
  /** Whether there was a 429, or the rate was set. */
  #isLimited = false
  /** Calls since the last 429 or change of the rate: all of them, and those that were held back. */
  #sent = 0
  #held = 0
  /** Time since then without long pauses between calls, and the part of it in which a call was held back. */
  #busy = 0
  #forced = 0
  #startedAt = 0
  #sentAt = 0
  /** Served calls that the last 429 left in the count. */
  #kept = 0
  /** 429s since the last call that was served, as far as is known. */
  #refusals = 0
  /** Drops that a 429 contradicted, less those that it did not. */
  #doubts = 0
  /** The rate before the first of them, and the most calls that were served between them. */
  #undoubted = 0
  #mostServed = 0
  #ignoredUntil = 0
  /** Periods since the rate was set or lowered. */
  #calmPeriods = 0
  /** The rate at the last 429, less a step. */
  #ceiling = 0

  get rate(): number | undefined {
    return this.#rate
  }

  get isLimited(): boolean {
    return this.#isLimited
  }

  /** Calls since the last 429 or change of the rate. */
  get sent(): number {
    return this.#sent
  }

  setRate(rate: number | undefined, now: number): void {
    this.#isLimited = rate !== undefined
    this.#ceiling = 0
    this.#doubts = 0
    this.#changeRate(rate)
    this.#startPeriod(now)
  }

  /**
   * Counts a call that is sent.
   *
   * @param arrivedAt when it was made. Earlier than `now` if it was held back.
   * @param isPressed whether it was held back for more than half of its time
   */
  countCall(now: number, arrivedAt: number, isPressed: boolean): void {
    const heldSince = Math.max(this.#sentAt, arrivedAt)
    this.#forced += now - heldSince
    this.#busy += now - heldSince + Math.min(longestPause, heldSince - this.#sentAt)
    this.#sentAt = now
    this.#sent += 1
    if (arrivedAt < now) this.#held += 1
    const rate = this.#rate
    if (rate !== undefined && this.#isPeriodOver(rate, now, isPressed ? 1 / hurry : 1)) this.#rise(rate, now)
  }

  /**
   * Lowers the rate after a 429. Returns the shortest pause that it calls for, in milliseconds.
   *
   * @param inFlight calls in flight, which will be refused as well
   */
  countRefusal(now: number, inFlight: number): number {
    const served = Math.max(0, this.#sent - inFlight)
    const isOutage = served <= this.#kept
    if (!this.#isLimited || now < this.#ignoredUntil) {
      this.#isLimited = true
      this.#startPeriod(now)
    } else if (served < sample) {
      // The time counts, and the refused calls do not.
      this.#sent = served
      this.#kept = served
      if (!isOutage && this.#rate !== undefined) this.#changeRate((1 - step) * this.#rate)
    } else {
      if (served < tolerable || this.#forced >= saturated * this.#busy) this.#measure(served, now)
      this.#startPeriod(now)
    }
    this.#refusals = isOutage ? this.#refusals + 1 : 1
    return this.#refusals > harmless ? longestBackoff(this.#refusals - harmless) : 0
  }

  /** Changes the rate after this many served calls and a 429. */
  #measure(served: number, now: number): void {
    const measured = served / Math.max(1, this.#busy)
    const rate = this.#rate ?? 0
    if (rate > 0 && this.#calmPeriods === 0) this.#doubt(served, Math.min(rate, tolerance * measured))
    else this.#doubts = Math.max(0, this.#doubts - 1)
    if (this.#doubts === mostDoubts) {
      this.#doubts = 0
      if (this.#mostServed < helpful) this.#ignoredUntil = now + trust
      this.#changeRate(this.#mostServed < helpful ? undefined : amends * this.#undoubted)
      return
    }
    this.#ceiling = (1 - step) * rate
    this.#changeRate((1 - step) * Math.max(measured, Math.min(rate, tolerance * measured)))
    // Waits for the first 429s make the first measurement too low.
    if (rate === 0) this.#calmPeriods = 2
  }

  #doubt(served: number, rate: number): void {
    if (this.#doubts === 0) this.#undoubted = rate
    this.#mostServed = Math.max(served, this.#doubts === 0 ? 0 : this.#mostServed)
    this.#doubts += 1
  }

  #changeRate(rate: number | undefined): void {
    this.#rate = rate === undefined ? undefined : Math.max(lowestRate, rate)
    this.#calmPeriods = 0
  }

  #isPeriodOver(rate: number, now: number, part: number): boolean {
    if (this.#held >= Math.max(periodCalls, rate * periodTime) * part) return true
    return this.#held >= sample && now - this.#startedAt >= longestPeriod * part
  }

  #rise(rate: number, now: number): void {
    const next =
      rate < this.#ceiling
        ? Math.min(this.#ceiling, rate * largestRise)
        : rate * Math.min(largestRise, 1 + step * 2 ** Math.max(0, this.#calmPeriods - 1))
    this.#calmPeriods += 1
    this.#rate = next < unlimitedRate ? next : undefined
    this.#startPeriod(now)
  }

  #startPeriod(now: number): void {
    this.#sent = 0
    this.#kept = 0
    this.#held = 0
    this.#busy = 0
    this.#forced = 0
    this.#startedAt = now
    this.#sentAt = now
  }
}
