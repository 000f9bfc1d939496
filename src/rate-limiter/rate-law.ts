// Learns from its 429s how fast one operation can be requested. Times are in milliseconds of `performance.now()`.
//
// Example: the service allows 10 requests a second, and 16 workers want to send more.
//
// 1. At first, every call is sent at once. Soon more than a fifth of the last requests were refused. Between two 429s
//    the service served 10 a second. A busy client is served what the limit allows, so that is the rate.
// 2. After 4 calls that had to wait for the rate, 4 more are sent at once. This is a probe. If the service refuses it,
//    the rate stays, and the next probe comes after 8 calls, then after 16, and later after 256. If the service serves
//    it, the limit has risen, so the rate rises and probes come sooner.
// 3. Another day, the service refuses 30 % of all requests by accident. The refused share of a probe is the same as the
//    share at the measured rate, so the rate rises until all calls are sent at once.
// 4. Then the service refuses everything. After the eighth 429 in a row, all calls wait as long as the service asks.
//    After the wait, one call is sent, and each served request allows one more in flight.
//
// `npm run limiter-rows` measures the results.

import type { RefusedRequest } from './interface.ts'

/** The tolerated share of 429s. Smaller shares are often accidents, which a lower rate would not avoid. */
const toleratedShare = 0.2
/** The largest share that counts as accidents. With more, clients that flood a slow limit together would go on. */
const largestTolerance = 0.5
/** Weight of one request in the share at the present rate. With this weight, two 429s in a row are too much. */
const shareWeight = 1 / 8
/** Weight of one request in the share at the measured rate, which only changes with the service. */
const baselineWeight = 1 / 16
/** Fewest served requests in a measurement. With fewer, one more would change the rate by more than an eighth. */
const fewestServed = 8
/** If a new rate is below this fraction of the last one, the service has changed, so probes start again. */
const changedRate = 0.8
/** Age after which a measurement is old, in milliseconds. If a faster rate then succeeds, the service has changed. */
const oldMeasurement = 120_000
/** Number of requests in a probe. Fewer would say little while accidents are frequent, and more would cost more 429s. */
const probeSize = 4
/** The most calls between probes. At a constant limit, 4 in 256 requests are then refused. */
const mostCalls = 256
/** Consecutive 429s that are an outage. If 30 % are refused by accident, one request of 15,000 begins such a series. */
const outage = 8
/** The longest wait for a service that refuses everything and sends no `Retry-After`. */
const longestBackoff = 30_000
/** If a timer is late, up to this time is made up for, in milliseconds. */
export const slack = 20
/** The learned rate is forgotten when the operation was not requested for this time, in milliseconds. */
const memory = 600_000

type EndOfRequest = (then: number, refused?: RefusedRequest, failure?: 'unserved') => void

interface Probe {
  unsent: number
  answered: number
  refused: number
}

/** The rate of one operation. */
export class RateLaw {
  /** The time between two requests. 0 if there is no rate. */
  interval = 0
  /** When the pause of an outage ends, which is the `Retry-After` of its last 429s. */
  pausedUntil = Number.NEGATIVE_INFINITY
  /** When the rate allows the next request. */
  #nextAt = Number.NEGATIVE_INFINITY

  /** The measured time for each served request between two 429s. 0 before the first measurement. */
  #measured = 0
  #measuredAt = Number.NEGATIVE_INFINITY
  #served = 0

  /** The share of requests that is refused at the present rate, and at the measured one. */
  #share = 0
  #baseline = 0

  #probe: Probe | undefined
  /** Number of held-back calls between two probes, and before the next probe. */
  #probeCalls = probeSize
  #callsLeft = probeSize

  /** Number of consecutive 429s. A request that was sent before the last 429 does not count. */
  #refusals = 0
  #refusedAt = Number.NEGATIVE_INFINITY
  #inFlight = 0
  #mostInFlight = Number.POSITIVE_INFINITY

  /** When the next call can be sent. `Infinity` if another one has to end first. */
  get opensAt(): number {
    if (this.#inFlight >= this.#mostInFlight) return Number.POSITIVE_INFINITY
    return this.#probe?.unsent ? this.pausedUntil : Math.max(this.pausedUntil, this.#nextAt)
  }

  /** Whether this law can be forgotten. */
  isOver(now: number): boolean {
    return now > Math.max(this.#nextAt, this.pausedUntil) + memory
  }

  /**
   * Counts a request that is sent. Returns a function that counts its end.
   *
   * @param arrivedAt when its call began to wait for the rate, or `undefined` if the rate does not hold it back
   */
  send(now: number, arrivedAt: number | undefined): EndOfRequest {
    const { interval } = this
    let probe: Probe | undefined
    if (arrivedAt !== undefined && interval > 0) {
      if (this.#probe?.unsent && now < this.#nextAt) {
        probe = this.#probe
        probe.unsent -= 1
      } else {
        if (arrivedAt < this.#nextAt) this.#callsLeft -= 1
        if (this.#callsLeft <= 0) this.#probe ??= { unsent: probeSize, answered: 0, refused: 0 }
        this.#nextAt = Math.max(this.#nextAt, now - slack) + interval
      }
    }
    this.#inFlight += 1
    return (then, refused, failure) => {
      this.#inFlight -= 1
      if (failure !== undefined) {
        // It says nothing about the rate, so neither does its probe. The next probe comes later.
        if (probe !== undefined && probe === this.#probe) this.#setInterval(this.interval, this.#probeCalls)
        return
      }
      if (refused !== undefined) this.#measure(then)
      this.#count(interval, probe, refused === undefined ? 0 : 1, then)
      if (refused !== undefined && now >= this.#refusedAt) this.#holdBack(then, refused.retryAfter)
    }
  }

  /** Counts the end of a request. */
  #count(interval: number, probe: Probe | undefined, refused: 0 | 1, now: number): void {
    if (refused === 0) {
      this.#served += 1
      this.#refusals = 0
      this.#mostInFlight += 1
    }
    if (probe === undefined) {
      if (interval >= this.#measured) this.#baseline += (refused - this.#baseline) * baselineWeight
      // Requests at an earlier rate do not count for the present rate.
      if (interval === this.interval) this.#share += (refused - this.#share) * shareWeight
      if (this.#measured > 0 && this.#isTooMuch(this.#share)) this.#setInterval(this.#measured, this.#probeCalls)
    } else if (probe === this.#probe) {
      probe.answered += 1
      probe.refused += refused
      if (probe.answered === probeSize) this.#judge(probe, now)
    }
  }

  /**
   * Whether the rate is too fast, judged by its share of 429s. Both shares vary by chance, so up to twice the baseline
   * counts as accidents.
   */
  #isTooMuch(share: number): boolean {
    return share > Math.min(toleratedShare + 2 * this.#baseline, largestTolerance)
  }

  /** Ends a measurement if it is long enough, and starts the next one. */
  #measure(now: number): void {
    const duration = now - this.#measuredAt
    // In a longer time the client was not always busy.
    if (duration < memory) {
      if (this.#served < fewestServed) return
      const before = this.#measured
      this.#measured = duration / this.#served
      if (before < changedRate * this.#measured) this.#probeCalls = probeSize
    }
    this.#measuredAt = now
    this.#served = 0
  }

  /** Raises the rate if the service serves the probe like other requests, and otherwise goes back to the measured one. */
  #judge({ refused }: Probe, now: number): void {
    const calls = this.#probeCalls
    if (this.#isTooMuch(refused / probeSize)) {
      this.#probeCalls = Math.min(2 * calls, mostCalls)
      this.#setInterval(this.#measured, this.#probeCalls)
      return
    }
    // From 4 calls on, the rate doubles. From 256 on, it rises by 1.6 %.
    this.#setInterval(this.interval / (1 + probeSize / calls), calls / probeSize)
    if (now - this.#measuredAt >= oldMeasurement) this.#probeCalls = probeSize
  }

  /** @param callsLeft number of held-back calls before the next probe */
  #setInterval(interval: number, callsLeft: number): void {
    this.interval = interval
    this.#callsLeft = callsLeft
    this.#share = 0
    this.#probe = undefined
  }

  /** Holds calls back for longer and longer while 429s follow each other. Without a rate, only an outage does. */
  #holdBack(now: number, retryAfter: number | undefined): void {
    this.#refusedAt = now
    this.#refusals += 1
    const isOutage = this.#refusals >= outage
    if (isOutage) {
      this.#mostInFlight = 1
      this.pausedUntil = Math.max(this.pausedUntil, now + (retryAfter ?? 0))
    }
    // Before there is a rate, only an outage holds other calls back.
    const first = isOutage ? Math.max(1, this.interval) : this.interval
    const wait = Math.min(2 ** (this.#refusals - 1) * first, retryAfter ?? longestBackoff)
    this.#nextAt = Math.max(this.#nextAt, now + wait)
  }
}
