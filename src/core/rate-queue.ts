import { untilAborted } from '../shared/abort.ts'
import { longestTimer } from '../shared/check-options.ts'
import type { WebAbortSignal } from '../shared/web-types.ts'
import type { RateLimitedCall } from './rate-limiter.ts'

/** A call at the limiter. One that is sent later than it arrived was held back. */
export interface HeldCall extends RateLimitedCall {
  readonly gate: RateGate
  readonly arrivedAt: number
  /** How often `onWait` was called, and when it said that the call would be sent. */
  announcements: number
  expectedAt: number
  endTurn?: () => void
  wake: () => void
}

/** Calls that can be in flight after a 429. One would be too few for a service that also refuses calls at random. */
const firstSlots = 2
/** A call hears of a longer wait if it is this much longer, in milliseconds. */
const noticeable = 100

/**
 * Holds back the calls of an operation, or of a whole key, after a 429: first all of them, then all but two, and twice as
 * many are sent once as many were served. Times are those of `performance.now()`.
 */
export class RateGate {
  /** The calls that wait, in the order in which they are sent. */
  readonly line: HeldCall[] = []
  /** The service refuses calls until then. 0 before the first 429. */
  pausedUntil = 0
  /** With a rate, when the next call can be sent, and the time between two calls. A default gate has no rate. */
  nextAt = 0
  interval = 0
  /** The calls that were sent after the last 429. Of earlier ones, nobody knows whether they were served. */
  protected round = { inFlight: 0, served: 0 }

  /** When the next call can be sent after the pause. `Infinity` if another one has to end first. */
  get opensAt(): number {
    const slots = firstSlots * 2 ** Math.floor(Math.log2(1 + this.round.served / firstSlots))
    return this.pausedUntil === 0 || this.round.inFlight < slots ? this.nextAt : Number.POSITIVE_INFINITY
  }

  /** Counts a call that is sent, while so many others wait or are in flight. Returns a function that counts its end. */
  send(_call: HeldCall, _now: number, _others: number): () => void {
    const { round } = this
    round.inFlight += 1
    return () => {
      round.inFlight -= 1
      round.served += 1
    }
  }

  /** Counts a 429. */
  refuse(_now: number, until: number): void {
    this.pausedUntil = Math.max(this.pausedUntil, until)
    this.round = { inFlight: 0, served: 0 }
  }

  /** Whether it can be forgotten once no call waits. */
  isOver(now: number): boolean {
    return now >= this.pausedUntil
  }
}

/** Sends the calls of one key in the order in which they were made, as soon as the gates allow it. */
export class RateQueue {
  readonly #maxConcurrency: number
  readonly #createGate: () => RateGate
  /** By operation. */
  readonly #gates = new Map<string, RateGate>()
  /** Paces all operations instead of their own gates, whose pauses still hold. */
  #shared: RateGate | undefined
  readonly #inFlight = new Set<HeldCall>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #wakesAt = Number.POSITIVE_INFINITY
  /** A timer that has fired proves that this time has come, also under a fake clock that only has timers. */
  #provenTime = 0

  constructor(maxConcurrency: number, createGate: () => RateGate) {
    this.#maxConcurrency = maxConcurrency
    this.#createGate = createGate
  }

  get now(): number {
    return Math.max(performance.now(), this.#provenTime)
  }

  /** Returns the gate that paces an operation, or all of them. */
  findGate(operation?: string): RateGate | undefined {
    return this.#shared ?? this.#gates.get(operation ?? '')
  }

  /** Returns the gate of an operation, or of all. Creates it if there is none. */
  openGate(operation?: string): RateGate {
    const gate = (operation === undefined ? this.#shared : this.#gates.get(operation)) ?? this.#createGate()
    if (operation === undefined) this.#shared = gate
    else this.#gates.set(operation, gate)
    return gate
  }

  /** Forgets what holds back no call. Returns whether a new queue would do the same. */
  forget(): boolean {
    const { now } = this
    for (const [operation, gate] of this.#gates) {
      if (gate.line.length === 0 && gate.isOver(now)) this.#gates.delete(operation)
    }
    if (this.#gates.size === 0 && this.#shared?.isOver(now)) this.#shared = undefined
    return this.#inFlight.size === 0 && this.#gates.size === 0 && this.#shared === undefined
  }

  /** Returns a function that ends the call's turn, at once if nothing holds it back. */
  acquire(signal: WebAbortSignal, call: RateLimitedCall): (() => void) | Promise<() => void> {
    this.forget()
    // A limiter that delegates may leave it out.
    const gate = this.openGate(call.operation ?? '')
    // Calls that cannot wait are sent first, because only a pause holds them back.
    const startedAt = call.canWait ? call.startedAt : Number.NEGATIVE_INFINITY
    const untold = { announcements: 0, expectedAt: Number.NEGATIVE_INFINITY }
    const held: HeldCall = { ...call, ...untold, startedAt, gate, arrivedAt: this.now, wake() {} }
    gate.line.splice(gate.line.findLastIndex((other) => other.startedAt <= startedAt) + 1, 0, held)
    this.sendHeld()
    return held.endTurn ?? this.#wait(held, signal as AbortSignal)
  }

  /** Sends no call of an operation, or of all, for a duration in milliseconds, and lets them go gradually afterwards. */
  penalize(duration: number, operation?: string): void {
    const { now } = this
    const until = now + duration
    const gate = this.openGate(operation)
    gate.refuse(now, until)
    // Operations that are paused at the same time share a limit, as far as is known.
    const [, overlap = 0] = [...this.#gates.values()].map((each) => each.pausedUntil).sort((one, other) => other - one)
    const shared = overlap > now ? this.openGate() : this.#shared
    if (shared !== gate) shared?.refuse(now, overlap)
    for (const { line } of this.#gates.values()) {
      for (const held of line) if (until >= held.expectedAt + noticeable) held.wake()
    }
    this.sendHeld()
  }

  /** Sends the calls whose time has come, and sets the timer for the next. */
  sendHeld(): void {
    for (;;) {
      const { now } = this
      let next: HeldCall | undefined
      let wakesAt = Number.POSITIVE_INFINITY
      const gates = this.#inFlight.size < this.#maxConcurrency ? [...this.#gates.values()] : []
      for (const first of gates.flatMap(({ line }) => line.slice(0, 1))) {
        const opensAt = this.#opensAt(first)
        if (opensAt > now) wakesAt = Math.min(wakesAt, opensAt)
        else if (next === undefined || first.startedAt < next.startedAt) next = first
      }
      this.#wakeAt(wakesAt, now)
      if (next === undefined) return
      next.gate.line.shift()
      next.endTurn = this.#send(next, now)
      next.wake()
    }
  }

  #send(held: HeldCall, now: number): () => void {
    const countEnd = (this.#shared ?? held.gate).send(held, now, held.gate.line.length + this.#inFlight.size)
    this.#inFlight.add(held)
    return () => {
      if (!this.#inFlight.delete(held)) return
      countEnd()
      this.sendHeld()
    }
  }

  async #wait(held: HeldCall, signal: AbortSignal): Promise<() => void> {
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
      if (held.endTurn === undefined) held.gate.line.splice(held.gate.line.indexOf(held), 1)
      else held.endTurn()
      this.sendHeld()
      throw error
    }
  }

  /** Calls `onWait` when a call is first held back, and once more when it waits for noticeably longer. */
  #announce(held: HeldCall): void {
    const { now } = this
    if (this.#opensAt(held) <= now) return
    const pausedUntil = Math.max(now, this.#pausedUntil(held))
    const expectedAt = held.canWait ? this.#expectedAt(held, pausedUntil) : pausedUntil
    // A call that runs out of time is told in any case, so that it rejects at once.
    const isNews = held.announcements < 2 || expectedAt >= held.arrivedAt + held.timeLeft
    if (!isNews || expectedAt < held.expectedAt + noticeable) return
    held.announcements += 1
    held.expectedAt = expectedAt
    held.onWait(Math.ceil(expectedAt - now), Math.ceil(pausedUntil - now))
  }

  #pausedUntil({ gate }: HeldCall): number {
    return Math.max(gate.pausedUntil, this.#shared?.pausedUntil ?? 0)
  }

  #opensAt(held: HeldCall): number {
    const { opensAt } = this.#shared ?? held.gate
    return Math.max(this.#pausedUntil(held), held.canWait ? opensAt : 0)
  }

  #expectedAt(held: HeldCall, pausedUntil: number): number {
    const { nextAt, interval } = this.#shared ?? held.gate
    if (interval === 0) return pausedUntil
    const isReached = (other: HeldCall) => other === held || other.startedAt < held.startedAt
    const gates = this.#shared ? [...this.#gates.values()] : [held.gate]
    const place = gates.reduce((sum, { line }) => sum + 1 + line.findLastIndex(isReached), 0)
    return Math.max(pausedUntil, nextAt) + (place - 1) * interval
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
      this.sendHeld()
    }, delay)
  }
}
