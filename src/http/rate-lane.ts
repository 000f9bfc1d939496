import { throwIfAborted } from './call-clock.ts'
import type { RateLimitedCall } from './rate-limiter.ts'

/** A call that is held back. */
interface HeldCall extends RateLimitedCall {
  readonly arrivedAt: number
  readonly send: () => void
  readonly reject: (error: unknown) => void
}

/** After a 429 without a known rate, one call is in flight at a time, and one more after each of this many calls. */
const callsPerSlot = 25
/** How much a rate drops at a 429. It rises as much after a calm period, and more after each further one. */
const step = 0.05
const largestRise = 2
/** A calm period has this many held calls, or as many as are sent in this time in milliseconds if that is more. */
const periodCalls = 150
const periodTime = 10_000
/** After a 429, a rate is at most this many times the measured one. The wait after the 429 makes that too low. */
const tolerance = 1.2
/** Fewer calls are no measurement. */
const sample = 10
/** Below this share of the rate at the last 429, a rate rises halfway to it, but not by more than `quickRise`. */
const near = 0.9
const quickRise = 1.25
/** Calls that a late timer has delayed can catch up by this time, in milliseconds. */
const slack = 100
/** A pause between calls only counts up to this time as a result of the limit, in milliseconds. */
const longestPause = 1_000
/** From this rate on, in calls a millisecond, there is nothing left to pace. */
const unlimitedRate = 1
/** An unused lane forgets its rate after this time, in milliseconds. */
const memory = 600_000

/**
 * The calls of one key. Nothing holds them back until the first 429. From then on the lane counts the calls that are
 * served until the next 429: that is the rate that the service allows. It sends calls at almost this rate, which rises
 * until the 429 after that, and so on. See decision 26 for the figures.
 */
export class RateLane {
  readonly #maxConcurrency: number
  /** Sorted by the start of the call. */
  readonly #held: HeldCall[] = []
  #inFlight = 0
  /** No call is sent before this time, because of a 429. */
  #opensAt = 0
  /** No call is sent before this time, because of the rate. */
  #nextAt = 0
  /** In calls a millisecond. Undefined if it is not known or not limited. */
  #rate: number | undefined
  /** Whether there was a 429, or the rate was set. */
  #isLimited = false
  /** Whether calls are sent one after the other, until no call is held back. */
  #isCautious = false
  /** Calls since the last 429 or change of the rate: all of them, and those that were held back. */
  #sent = 0
  #paced = 0
  /** Time since then without long pauses between calls, in milliseconds. */
  #busy = 0
  #sentAt = performance.now()
  /** Periods since the last 429. */
  #calmPeriods = 0
  /** The rate at the last 429. */
  #ceiling = 0
  /** When a call was last held back or refused. */
  #neededAt = performance.now()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(maxConcurrency: number) {
    this.#maxConcurrency = maxConcurrency
  }

  /** Whether a new lane would do the same. */
  get isUnneeded(): boolean {
    const neededAt = Math.max(this.#neededAt, this.#opensAt)
    const isForgotten = !this.#isLimited || performance.now() - neededAt > memory
    return isForgotten && this.#inFlight === 0 && this.#held.length === 0
  }

  /** In calls a millisecond. Undefined if it is not known or not limited. */
  get rate(): number | undefined {
    return this.#rate
  }

  set rate(rate: number | undefined) {
    this.#rate = rate
    this.#isLimited = rate !== undefined
    this.#isCautious = false
    this.#startPeriod(performance.now())
    this.#sendHeld()
  }

  /** Returns when the call can be sent, or resolves then, with a function that ends its turn. */
  acquire(signal: AbortSignal, call: RateLimitedCall): (() => void) | Promise<() => void> {
    throwIfAborted(signal)
    const now = performance.now()
    const isOpen = call.canWait ? this.#held.length === 0 && this.#waitAt(now) === 0 : now >= this.#opensAt
    if (isOpen && this.#hasSlot(call.canWait)) return this.#send(now)
    return this.#hold(signal, { ...call, arrivedAt: now })
  }

  /** Sends no call for a duration in milliseconds, and then at most at the rate that the service has allowed so far. */
  penalize(duration: number): void {
    const now = performance.now()
    const opensAt = Math.max(this.#opensAt, now + duration)
    const isProlonged = opensAt > this.#opensAt
    // Calls that were sent together are refused together, and the first 429 has already slowed them down.
    if (now >= this.#opensAt) this.#slowDown(now)
    this.#opensAt = opensAt
    this.#nextAt = opensAt
    if (isProlonged) this.#announce(now)
    this.#sendHeld()
  }

  #slowDown(now: number): void {
    // Those in flight will be refused as well.
    const served = this.#sent - this.#inFlight
    const rate = this.#rate
    if (!this.#isLimited) {
      this.#isLimited = true
      this.#isCautious = true
      this.#startPeriod(now)
    } else if (served < (rate === undefined ? 1 : sample)) {
      this.#sent = Math.max(0, served)
      if (rate !== undefined) this.#rate = rate * (1 - step)
    } else {
      const measured = served / Math.max(1, this.#busy)
      // Without a calm period before it, the last drop was too small.
      const drop = this.#calmPeriods > 0 ? step : 2 * step
      this.#rate = Math.max((1 - step) * measured, (1 - drop) * Math.min(rate ?? 0, tolerance * measured))
      this.#ceiling = rate ?? 0
      this.#calmPeriods = rate === undefined ? 2 : 0
      this.#isCautious = false
      this.#startPeriod(now)
    }
  }

  #speedUp(rate: number, now: number): void {
    const next =
      rate < near * this.#ceiling
        ? Math.min((rate + this.#ceiling) / 2, rate * quickRise)
        : rate * Math.min(largestRise, 1 + step * 2 ** Math.max(0, this.#calmPeriods - 1))
    this.#calmPeriods += 1
    this.#rate = next < unlimitedRate ? next : undefined
    this.#startPeriod(now)
  }

  #startPeriod(now: number): void {
    this.#sent = 0
    this.#paced = 0
    this.#busy = 0
    this.#sentAt = now
    this.#neededAt = now
  }

  async #hold(signal: AbortSignal, call: RateLimitedCall & { readonly arrivedAt: number }): Promise<() => void> {
    const index = this.#held.findLastIndex(({ startedAt }) => startedAt <= call.startedAt) + 1
    if (this.#isLimited) call.onWait(this.#expectedWait(index, call.arrivedAt))
    throwIfAborted(signal)
    return new Promise((resolve, reject) => {
      const abort = () => leave(() => reject(signal.reason))
      const leave = (settle: () => void) => {
        signal.removeEventListener('abort', abort)
        const place = this.#held.indexOf(held)
        if (place >= 0) this.#held.splice(place, 1)
        settle()
        this.#sendHeld()
      }
      const held: HeldCall = {
        ...call,
        send: () => {
          signal.removeEventListener('abort', abort)
          resolve(this.#send(performance.now(), call.arrivedAt))
        },
        reject: (error) => leave(() => reject(error)),
      }
      this.#held.splice(index, 0, held)
      signal.addEventListener('abort', abort)
      this.#sendHeld()
    })
  }

  /** Tells the calls that are held back that they wait longer than expected. They may reject. */
  #announce(now: number): void {
    for (const [index, held] of [...this.#held].entries()) {
      try {
        held.onWait(this.#expectedWait(index, now))
      } catch (error) {
        held.reject(error)
      }
    }
  }

  /** Time until the call at this place is sent, in milliseconds, as far as it is known. */
  #expectedWait(index: number, now: number): number {
    const rate = this.#rate
    return Math.ceil(this.#waitAt(now) + (rate === undefined ? 0 : index / rate))
  }

  /** Time until the next call can be sent, in milliseconds, if it has a slot. */
  #waitAt(now: number): number {
    return Math.max(0, this.#opensAt - now, (this.#rate === undefined ? 0 : this.#nextAt) - now)
  }

  #hasSlot(canWait: boolean): boolean {
    const isCautious = this.#isCautious && canWait
    const slots = isCautious ? 1 + Math.floor(this.#sent / callsPerSlot) : Number.POSITIVE_INFINITY
    return this.#inFlight < Math.min(slots, this.#maxConcurrency)
  }

  /** Sends the calls whose time has come, and sets the timer for the next. */
  #sendHeld(): void {
    clearTimeout(this.#timer)
    for (;;) {
      const [next] = this.#held
      if (next === undefined || !this.#hasSlot(true)) return
      const wait = this.#waitAt(performance.now())
      if (wait > 0) {
        this.#timer = setTimeout(() => this.#sendHeld(), Math.ceil(wait))
        return
      }
      this.#held.shift()
      next.send()
    }
  }

  /** Counts a call that is sent. Returns a function that ends its turn. */
  #send(now: number, arrivedAt: number = now): () => void {
    const heldSince = Math.max(this.#sentAt, arrivedAt)
    this.#busy += now - heldSince + Math.min(longestPause, heldSince - this.#sentAt)
    this.#sentAt = now
    this.#sent += 1
    this.#inFlight += 1
    if (arrivedAt < now) {
      this.#paced += 1
      this.#neededAt = now
    }
    const rate = this.#rate
    if (rate !== undefined) {
      this.#nextAt = Math.max(this.#nextAt, now - slack) + 1 / rate
      if (this.#paced >= Math.max(periodCalls, rate * periodTime)) this.#speedUp(rate, now)
    }
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#inFlight -= 1
      if (this.#inFlight === 0 && this.#held.length === 0) this.#isCautious = false
      this.#sendHeld()
    }
  }
}
