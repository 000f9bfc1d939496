// How fast the calls of one operation go, when the service says nothing but yes and 429. An example, with a limit of 5 a second:
//
// 1. Free: 16 workers send as they like. A refused call waits by itself, and nobody else does.
// 2. Measure: between two refusals, 1 s apart, the service has served 5 calls. That is what the limit lets through, whatever its kind.
// 3. Fall: more than a fifth of the last calls was refused, so calls are sent at 98 % of 5 a second from now on.
// 4. Try: after 4 calls that were held back, 4 more are sent at once. They are refused, so the limit is still there: the law falls to
//    the last measurement, and the next try comes after 8 held calls, then 16, up to 256. Had they been served, the rate would rise.
//
// Accidents are refusals that come at any rate. Their share is known from the calls at or below the measured rate, and a try may
// have as many. An outage is many refusals in a row: then calls begin one at a time.

/** Calls of a try. One would be judged by chance, and more would be refused under a limit. */
const tryCalls = 4
/** Held calls before the first try, and after one that failed, twice as many up to the most. Close to the limit, tries are refused. */
const firstPatience = 4
const mostPatience = 256
/** After a try that succeeded, the next one comes after this part of the held calls: from 4 on, that doubles the rate each 8 calls. */
const patienceAfterRise = 1 / 8
/** Weight of a call in a moving share: the last 18 calls or so count. */
const weight = 1 / 18
/** A rate is too high if more than a fifth of its calls is refused: less may be accidents, which a lower rate would not avoid. */
const tooManyRefused = 0.2
/** More refusals than this are no accidents, so that clients that flood a limit do not take them for that. */
const mostAccidents = 0.25
/** Four in a row are enough to fall: the moving share would take longer. */
const refusedInRow = 4
/** A little less than what was measured: at 100 % more calls are refused, at 95 % the limit is not used. */
const belowMeasured = 0.98
/** A measurement is at least so long, in milliseconds, because `Retry-After` has seconds, and has so many served calls. */
const shortestMeasurement = 1_000
const fewestMeasured = 8
/** A measurement that differs by more than this from the last one shows another limit, so tries begin again. */
const muchSlower = 0.8
const muchFaster = 1.5
/** An older measurement says nothing about the limit of now, in milliseconds. */
const oldMeasurement = 120_000
/** From so many refusals in a row on, it is an outage: calls begin one at a time, after a pause. */
const outage = 8
/** The first pause of an outage without `Retry-After`, which doubles, and the longest pause, in milliseconds. */
const firstPause = 100
const longestPause = 60_000

/** At least one call a minute is sent: a slower rate would not find out that the service allows more. */
const longestInterval = 60_000

/** A call that was sent, for when its answer comes. */
export interface SentCall {
  readonly at: number
  /** The number of the rate at which it was sent: answers to calls of an earlier rate say nothing about this one. */
  readonly round: number
  /** In calls a millisecond. */
  readonly rate: number
  readonly trial: Trial | undefined
}

interface Trial {
  left: number
  answered: number
  refused: number
}

/** The law of one operation. Times are in milliseconds of `performance.now()`, rates in calls a millisecond. */
export class RateLaw {
  /** The time between two calls. 0 if there is no rate. */
  interval = 0
  #nextAt = 0
  #round = 0
  #refusedShare = 0
  #inRow = 0
  /** The share of the calls that is refused at a rate which the service lets through: accidents. */
  #accidents = 0
  #measured = Number.POSITIVE_INFINITY
  #measuring: { since: number; served: number } | undefined
  #patience = firstPatience
  #held = 0
  #heldUntilTry = firstPatience
  #trial: Trial | undefined
  /** Refusals in a row, of which those of one flight count once. */
  #refusals = 0
  #waitBegan = Number.NEGATIVE_INFINITY
  #pausedUntil = Number.NEGATIVE_INFINITY
  /** The part of the pause that the service asked for. */
  #askedUntil = Number.NEGATIVE_INFINITY
  #inFlight = 0
  /** Calls in flight that an outage leaves. Each served call adds one. */
  #slots = Number.POSITIVE_INFINITY
  #usedAt = 0

  /** When the service has asked for no call before. */
  get askedUntil(): number {
    return this.#askedUntil
  }

  /** When the next call can be sent. `Infinity` if another one has to end first. */
  opensAt(now: number): number {
    if (now < this.#pausedUntil) return this.#pausedUntil
    if (this.#inFlight >= this.#slots) return Number.POSITIVE_INFINITY
    return this.#trial !== undefined && this.#trial.left > 0 ? now : this.#nextAt
  }

  /** @param isHeld whether the call had to wait */
  send(now: number, isHeld: boolean): SentCall {
    this.#usedAt = now
    this.#inFlight += 1
    const rate = this.interval === 0 ? Number.POSITIVE_INFINITY : 1 / this.interval
    const trial = this.#trial !== undefined && this.#trial.left > 0 && this.#nextAt > now ? this.#trial : undefined
    if (trial !== undefined) {
      trial.left -= 1
    } else if (this.interval > 0) {
      this.#nextAt = Math.max(this.#nextAt, now) + this.interval
      if (isHeld) this.#held += 1
      if (this.#trial === undefined && this.#held >= this.#heldUntilTry) {
        this.#held = 0
        this.#trial = { left: tryCalls, answered: 0, refused: 0 }
      }
    }
    return { at: now, round: this.#round, rate, trial }
  }

  /** Returns a call that was sent before there was a law. */
  sentEarlier(at: number): SentCall {
    this.#inFlight += 1
    return { at, round: this.#round, rate: Number.POSITIVE_INFINITY, trial: undefined }
  }

  serve(sent: SentCall, now: number): void {
    if (this.#measuring !== undefined) this.#measuring.served += 1
    this.#refusals = 0
    this.#slots += 1
    this.#answer(sent, 0, now)
  }

  /** @param asked what the service asks to wait, in milliseconds */
  refuse(sent: SentCall, now: number, asked: number | undefined): void {
    const { interval } = this
    this.#measure(now)
    this.#answer(sent, 1, now)
    const isNew = sent.at >= this.#waitBegan
    if (isNew) this.#refusals += 1
    if (this.#refusedShare > tooManyRefused || this.#inRow >= refusedInRow) this.#fall(now)
    if (!isNew) return
    const isOutage = this.#refusals >= outage
    // At first a few intervals, in which the service may recover.
    const steps = 2 ** (this.#refusals - 1) * interval
    const wait = isOutage
      ? (asked ?? Math.min(longestPause, firstPause * 2 ** (this.#refusals - outage)))
      : Math.min(steps, asked ?? longestPause)
    if (wait <= 0) return
    if (isOutage) this.#slots = 1
    this.#waitBegan = now
    this.#pausedUntil = Math.max(this.#pausedUntil, now + wait)
    if (asked !== undefined && isOutage) this.#askedUntil = this.#pausedUntil
  }

  /** Whether a new law would do the same, or what this one knows is too old. */
  isOver(now: number, memory: number): boolean {
    if (this.#inFlight > 0 || now < this.#pausedUntil) return false
    return (this.interval === 0 && this.#refusals === 0) || now - this.#usedAt > memory
  }

  #measure(now: number): void {
    this.#measuring ??= { since: now, served: 0 }
    const { since, served } = this.#measuring
    if (now - since < shortestMeasurement || served < fewestMeasured) return
    const rate = served / (now - since)
    if (rate < muchSlower * this.#measured || rate > muchFaster * this.#measured) {
      this.#patience = firstPatience
      this.#heldUntilTry = Math.min(this.#heldUntilTry, firstPatience)
    }
    this.#measured = rate
    this.#measuring = { since: now, served: 0 }
  }

  /** @param refused 1 if the call was refused, else 0 */
  #answer({ trial, rate, round }: SentCall, refused: 0 | 1, now: number): void {
    this.#inFlight -= 1
    if (trial === undefined) {
      if (rate <= this.#measured) this.#accidents += (refused - this.#accidents) * weight
      if (round !== this.#round) return
      this.#refusedShare += (refused - this.#refusedShare) * weight
      this.#inRow = refused === 1 ? this.#inRow + 1 : 0
    } else if (trial === this.#trial) {
      trial.answered += 1
      trial.refused += refused
      if (trial.answered === tryCalls) this.#judge(trial, now)
    }
  }

  #judge({ refused }: Trial, now: number): void {
    const isRefused = refused > 1 + tryCalls * Math.min(this.#accidents, mostAccidents)
    if (isRefused) {
      this.#patience = Math.min(mostPatience, 2 * this.#patience)
      this.#heldUntilTry = this.#patience
      this.#fall(now)
      return
    }
    this.#heldUntilTry = Math.max(1, this.#patience * patienceAfterRise)
    this.#setInterval(this.interval / (1 + tryCalls / this.#patience), now)
    if (this.#measuring === undefined || now - this.#measuring.since <= oldMeasurement) return
    this.#measuring = { since: now, served: 0 }
    this.#patience = firstPatience
  }

  #fall(now: number): void {
    this.#trial = undefined
    this.#held = 0
    if (this.#measured !== Number.POSITIVE_INFINITY) this.#setInterval(1 / (belowMeasured * this.#measured), now)
  }

  #setInterval(interval: number, now: number): void {
    this.interval = Math.min(longestInterval, interval)
    this.#round += 1
    this.#refusedShare = 0
    this.#inRow = 0
    this.#held = 0
    this.#trial = undefined
    // The pace goes on: the next call is at most one new interval away.
    this.#nextAt = Math.min(this.#nextAt, now + interval)
  }
}
