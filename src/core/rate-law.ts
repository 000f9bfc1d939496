// Learns from its 429s how fast one operation can be requested. Times are in milliseconds of `performance.now()`.
//
// Example: the service allows 10 requests a second, and 16 workers want to send more.
//
// 1. At first nothing is held back. A refused call waits alone, as long as its `Retry-After` says.
// 2. Soon more than a fifth of the last requests were refused. Between two 429s the service served 10 a second. A busy
//    client is served what the limit allows, so that is the rate.
// 3. After 4 calls that had to wait for the rate, 4 more are sent at once. This is a probe. The service refuses it, so
//    the rate stays, and the next probe comes after 8 calls, then after 16, and later after 256.
// 4. The limit rises to 100 a second. Now the service serves a probe, so the rate rises and probes come sooner.
// 5. Another day, the service refuses 30 % of all requests by accident. It refuses as much of the requests at the
//    measured rate as of a probe, so a lower rate would not help. The rate rises until calls are sent at once.
// 6. Then it refuses everything. After the eighth 429 in a row, all calls wait as long as it asks. After that, one is
//    sent, and each served request allows one more in flight.
//
// `npm run limiter-rows` measures the results.

/** A larger refused share is too much. Smaller ones are often accidents, which a lower rate would not avoid. */
const toleratedShare = 0.2
/** Accidents explain this share at most. Otherwise clients that flood a slow limit together take it for accidents. */
const largestTolerance = 0.5
/**
 * The weight of one request in the share that is refused at the present rate, so that two 429s in a row are too much.
 */
const shareWeight = 1 / 8
/**
 * Its weight in the share that is refused at the measured rate, which changes with the service only, so more slowly.
 */
const baselineWeight = 1 / 16
/** A shorter measurement measures `Retry-After`, which has whole seconds. */
const shortestMeasurement = 1_000
/** With fewer served requests, one more would change the measured rate by more than an eighth. */
const fewestServed = 8
/**
 * A rate that is measured below this part of the last one shows that the service has changed, so probes start again.
 */
const changedRate = 0.8
/** A measurement from before says little about the present limit, if a faster rate succeeds. */
const oldMeasurement = 120_000
/** Fewer requests say little while accidents are frequent. More cost more 429s. */
const probeSize = 4
/** The most calls between probes: at a constant limit, 4 in 256 requests are refused. */
const mostCalls = 256
/** So many 429s in a row are an outage. If 30 % are refused by accident, they begin with one request of 15,000. */
const outage = 8
/** The longest wait for a service that refuses everything and sends no `Retry-After`. */
const longestBackoff = 30_000
/** A timer that is late by up to this time is made up for. */
export const slack = 20
/** The limiter forgets its measurements after this time without a refused or held back call. */
const memory = 600_000

/** A request that was sent: when, at which interval, and for which probe. */
export interface SentRequest {
  readonly at: number
  readonly interval: number
  readonly probe: Probe | undefined
}

interface Probe {
  unsent: number
  answered: number
  refused: number
}

/** The rate of one operation. */
export class RateLaw {
  /** The time between two requests. 0 if there is no rate. */
  interval = 0
  /** The service asks to send nothing until then. 0 before the first outage. */
  pausedUntil = 0
  /** When the rate allows the next request. */
  #nextAt = 0

  /** The average time for each request that was served between two 429s. 0 before the first measurement. */
  #measured = 0
  #measuredAt = Number.NEGATIVE_INFINITY
  #served = 0

  /** The share of requests that is refused at the present rate, and at the measured one. */
  #share = 0
  #baseline = 0

  #probe: Probe | undefined
  /** How many calls are held back between probes, and before the next one. */
  #probeCalls = probeSize
  #callsLeft = probeSize

  /** The number of 429s in a row. Several 429s of requests that were sent before the last wait count once. */
  #refusals = 0
  #waitBeganAt = 0
  #inFlight = 0
  #mostInFlight = Number.POSITIVE_INFINITY
  #neededAt = Number.NEGATIVE_INFINITY

  /** When the next call can be sent. `Infinity` if another one has to end first. */
  get opensAt(): number {
    if (this.#inFlight >= this.#mostInFlight) return Number.POSITIVE_INFINITY
    return Math.max(this.pausedUntil, this.#probe?.unsent ? 0 : this.#nextAt)
  }

  /** Whether nothing is worth keeping. */
  isOver(now: number): boolean {
    return this.#inFlight === 0 && now >= this.pausedUntil && now - this.#neededAt > memory
  }

  /**
   * Counts a request that is sent.
   *
   * @param arrivedAt when its call began to wait for the rate, or `undefined` if the rate does not hold it back
   */
  send(now: number, arrivedAt: number | undefined): SentRequest {
    const { interval } = this
    let probe: Probe | undefined
    if (arrivedAt !== undefined && interval > 0) {
      if (this.#probe?.unsent && now < this.#nextAt) {
        probe = this.#probe
        probe.unsent -= 1
      } else {
        if (arrivedAt < this.#nextAt) this.#countHeldCall(now)
        this.#nextAt = Math.max(this.#nextAt, now - slack) + interval
      }
    }
    this.#inFlight += 1
    return { at: now, interval, probe }
  }

  /** Counts the end of a request that was not refused. */
  serve(sent: SentRequest, now: number): void {
    this.#served += 1
    this.#refusals = 0
    this.#mostInFlight += 1
    this.#end(sent, 0, now)
  }

  /** Counts a 429. `retryAfter` is how long the service asks to wait, if it says so. */
  refuse(sent: SentRequest, now: number, retryAfter: number | undefined): void {
    const { interval } = this
    this.#neededAt = now
    this.#measure(now)
    this.#end(sent, 1, now)
    if (this.#isTooMuch(this.#share)) this.#fall(now)
    if (sent.at < this.#waitBeganAt) return
    this.#waitBeganAt = now
    this.#refusals += 1
    const isOutage = this.#refusals >= outage
    // Before there is a rate, a few 429s do not hold back other calls.
    if (interval === 0 && !isOutage) return
    const backoff = 2 ** (this.#refusals - 1) * Math.max(1, interval)
    this.#nextAt = Math.max(this.#nextAt, now + Math.min(backoff, retryAfter ?? longestBackoff))
    if (!isOutage) return
    this.#mostInFlight = 1
    this.pausedUntil = Math.max(this.pausedUntil, now + (retryAfter ?? 0))
  }

  #end({ interval, probe }: SentRequest, refused: 0 | 1, now: number): void {
    this.#inFlight -= 1
    if (probe === undefined) {
      if (interval >= this.#measured) this.#baseline += (refused - this.#baseline) * baselineWeight
      // A request at an earlier rate says nothing about this one.
      if (interval === this.interval) this.#share += (refused - this.#share) * shareWeight
    } else if (probe === this.#probe) {
      probe.answered += 1
      probe.refused += refused
      if (probe.answered === probeSize) this.#judge(probe, now)
    }
  }

  /**
   * Whether a rate is the reason for a share of 429s. Both shares vary by chance, so twice the baseline is still
   * accidents.
   */
  #isTooMuch(share: number): boolean {
    return share > Math.min(toleratedShare + 2 * this.#baseline, largestTolerance)
  }

  /** Ends a measurement if it is long enough, and starts the next one. */
  #measure(now: number): void {
    const duration = now - this.#measuredAt
    // In a longer time the client was not always busy.
    if (duration < memory) {
      if (duration < shortestMeasurement || this.#served < fewestServed) return
      const before = this.#measured
      this.#measured = duration / this.#served
      if (before < changedRate * this.#measured) {
        this.#probeCalls = probeSize
        this.#callsLeft = Math.min(this.#callsLeft, probeSize)
      }
    }
    this.#startMeasurement(now)
  }

  #startMeasurement(now: number): void {
    this.#measuredAt = now
    this.#served = 0
  }

  #countHeldCall(now: number): void {
    this.#neededAt = now
    this.#callsLeft -= 1
    if (this.#callsLeft <= 0) this.#probe ??= { unsent: probeSize, answered: 0, refused: 0 }
  }

  #judge({ refused }: Probe, now: number): void {
    const calls = this.#probeCalls
    if (this.#isTooMuch(refused / probeSize)) {
      this.#probeCalls = Math.min(2 * calls, mostCalls)
      this.#fall(now)
      return
    }
    // From 4 calls on, the rate doubles. From 256 on, it rises by 1.6 %.
    this.#setInterval(this.interval / (1 + probeSize / calls), now)
    this.#callsLeft = calls / probeSize
    if (now - this.#measuredAt < oldMeasurement) return
    this.#startMeasurement(now)
    this.#probeCalls = probeSize
  }

  #fall(now: number): void {
    if (this.#measured === 0) return
    this.#setInterval(this.#measured, now)
    this.#callsLeft = this.#probeCalls
  }

  #setInterval(interval: number, now: number): void {
    this.interval = interval
    this.#share = 0
    this.#probe = undefined
    // The next call is at most one new interval away.
    this.#nextAt = Math.min(this.#nextAt, now + interval)
  }
}
