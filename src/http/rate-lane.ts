import { throwIfAborted } from '../abort.ts'
import { longestTimer } from '../check-options.ts'
import { RateEstimate } from './rate-estimate.ts'
import type { RateLimitedCall } from './rate-limiter.ts'

/** A call that is held back. */
interface HeldCall extends RateLimitedCall {
  readonly arrivedAt: number
  readonly send: () => void
  readonly reject: (error: unknown) => void
}

/**
 * While no rate is known, one call is in flight at a time after a 429, and one more after this many calls and after this
 * time in milliseconds.
 */
const callsPerSlot = 10
const timePerSlot = 1_000
/** Calls that a late timer has delayed can catch up by this time, in milliseconds. */
const slack = 100
/** The calls that are held back hear of a longer wait if it is this much longer, in milliseconds. */
const noticeable = 100
/** An unused lane forgets its rate after this time, in milliseconds. */
const memory = 600_000

/** Decides when the calls of one key are sent. Nothing holds them back until the first 429. */
export class RateLane {
  readonly #maxConcurrency: number
  readonly #estimate = new RateEstimate()
  /** Sorted by the start of the call. */
  readonly #held: HeldCall[] = []
  #inFlight = 0
  /** No call is sent before this time, because of a 429. */
  #opensAt = 0
  /** No call is sent before this time, because of the rate. */
  #nextAt = 0
  /** Whether only a few calls are sent at a time, until no call is held back. */
  #isCautious = false
  /** When a call was last held back or refused. */
  #neededAt = 0
  /** A timer that has fired proves that this time has come, also under a fake clock that only has timers. */
  #provenTime = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(maxConcurrency: number) {
    this.#maxConcurrency = maxConcurrency
  }

  /** Whether a new lane would do the same. */
  get isUnneeded(): boolean {
    const now = this.#now()
    const isForgotten = !this.#estimate.isLimited || now - Math.max(this.#neededAt, this.#opensAt) > memory
    return isForgotten && now >= this.#opensAt && this.#inFlight === 0 && this.#held.length === 0
  }

  /** In calls a millisecond. Undefined if it is not known or not limited. */
  get rate(): number | undefined {
    return this.#estimate.rate
  }

  set rate(rate: number | undefined) {
    const now = this.#now()
    this.#estimate.setRate(rate, now)
    this.#nextAt = Math.min(this.#nextAt, now + this.#interval)
    this.#isCautious = false
    this.#neededAt = now
    this.#sendHeld()
  }

  /** Returns when the call can be sent, or resolves then, with a function that ends its turn. */
  acquire(signal: AbortSignal, call: RateLimitedCall): (() => void) | Promise<() => void> {
    throwIfAborted(signal)
    const now = this.#now()
    const isOpen = call.canWait ? this.#held.length === 0 && this.#waitAt(now) === 0 : now >= this.#opensAt
    if (isOpen && this.#hasSlot(now, call.canWait)) return this.#send(now, { ...call, arrivedAt: now })
    return this.#hold(signal, { ...call, arrivedAt: now })
  }

  /** Sends no call for a duration in milliseconds, and then at most at the rate that the service has allowed so far. */
  penalize(duration: number): void {
    const now = this.#now()
    const before = this.#opensAt
    let pause = duration
    // Calls that were sent together are refused together, and the first 429 has already slowed them down.
    if (now >= before) {
      pause = Math.max(duration, this.#estimate.countRefusal(now, this.#inFlight))
      this.#isCautious = this.rate === undefined
    }
    this.#opensAt = Math.max(before, now + pause)
    this.#nextAt = this.#opensAt
    this.#neededAt = now
    if (this.#opensAt - before >= noticeable) this.#announce(now)
    this.#sendHeld()
  }

  async #hold(signal: AbortSignal, call: RateLimitedCall & { readonly arrivedAt: number }): Promise<() => void> {
    const { arrivedAt, canWait, startedAt, onWait } = call
    const index = this.#held.findLastIndex((held) => held.startedAt <= startedAt) + 1
    if (this.#estimate.isLimited && (canWait || arrivedAt < this.#opensAt)) {
      onWait(this.#expectedWait(index, arrivedAt))
    }
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
          resolve(this.#send(this.#now(), call))
        },
        reject: (error) => leave(() => reject(error)),
      }
      signal.addEventListener('abort', abort)
      this.#held.splice(index, 0, held)
      this.#sendHeld()
    })
  }

  /** Tells the calls that are held back that they wait longer than expected. They may reject. */
  #announce(now: number): void {
    let index = 0
    for (const held of [...this.#held]) {
      try {
        held.onWait(this.#expectedWait(index, now))
        index += 1
      } catch (error) {
        held.reject(error)
      }
    }
  }

  #now(): number {
    return Math.max(performance.now(), this.#provenTime)
  }

  /** Time between two calls, in milliseconds. */
  get #interval(): number {
    return this.rate === undefined ? 0 : 1 / this.rate
  }

  /** Time until the call at this place is sent, in milliseconds, as far as it is known. */
  #expectedWait(index: number, now: number): number {
    return Math.ceil(this.#waitAt(now) + index * this.#interval)
  }

  /** Time until the next call can be sent, in milliseconds, if it has a slot. */
  #waitAt(now: number): number {
    return Math.max(0, this.#opensAt - now, this.#nextAt - now)
  }

  #hasSlot(now: number, canWait: boolean): boolean {
    if (this.#inFlight >= this.#maxConcurrency) return false
    if (!this.#isCautious || !canWait) return true
    const earned = Math.floor(this.#estimate.sent / callsPerSlot) + Math.floor((now - this.#opensAt) / timePerSlot)
    return this.#inFlight < 1 + earned
  }

  /** Sends the calls whose time has come, and sets the timer for the next. */
  #sendHeld(): void {
    clearTimeout(this.#timer)
    for (;;) {
      const [next] = this.#held
      const now = this.#now()
      const wait = this.#waitAt(now)
      if (next === undefined) return
      if (wait > 0) this.#wakeIn(wait, now)
      else if (this.#hasSlot(now, next.canWait)) {
        this.#held.shift()
        next.send()
        continue
      } else if (this.#isCautious) this.#wakeIn(timePerSlot, now)
      return
    }
  }

  #wakeIn(wait: number, now: number): void {
    const delay = Math.min(Math.ceil(wait), longestTimer)
    this.#timer = setTimeout(() => {
      this.#provenTime = now + Math.min(wait, delay)
      this.#sendHeld()
    }, delay)
  }

  /** Counts a call that is sent. Returns a function that ends its turn. */
  #send(now: number, { arrivedAt, canWait, timeLeft }: RateLimitedCall & { readonly arrivedAt: number }): () => void {
    this.#inFlight += 1
    if (arrivedAt < now) this.#neededAt = now
    this.#estimate.countCall(now, arrivedAt, now - arrivedAt > timeLeft / 2)
    if (canWait) this.#nextAt = Math.max(this.#nextAt, now - slack) + this.#interval
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
