import { throwIfAborted } from '../abort.ts'
import { longestTimer } from '../check-options.ts'
import type { WebAbortSignal } from '../web-types.ts'
import type { ArrivedCall, RateGate } from './rate-gate.ts'
import type { RateLimitedCall } from './rate-limiter.ts'

interface HeldCall extends ArrivedCall {
  /** How often `onWait` was called, and when it said that the call would be sent. */
  announcements: number
  expectedAt: number
  endTurn?: () => void
  wake: () => void
}

/** Stands for all operations of a key. */
export const anyOperation = ''
/** A call hears of a longer wait if it is this much longer, in milliseconds. */
const noticeable = 100

/** Sends the calls of one key in the order in which they were made, as soon as the gates allow it. */
export class RateQueue {
  readonly #maxConcurrency: number
  readonly #createGate: () => RateGate
  /** By operation. That of any operation replaces the others, except for their pauses. */
  readonly #gates = new Map<string, RateGate>()
  /** By operation. Each is sorted by the start of the call. */
  readonly #held = new Map<string, HeldCall[]>()
  #inFlight = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #wakesAt = Number.POSITIVE_INFINITY
  /** A timer that has fired proves that this time has come, also under a fake clock that only has timers. */
  #provenTime = 0

  constructor(maxConcurrency: number, createGate: () => RateGate) {
    this.#maxConcurrency = maxConcurrency
    this.#createGate = createGate
  }

  /** Forgets what holds back no call. Returns whether a new queue would do the same. */
  forget(): boolean {
    for (const [operation, gate] of this.#gates) {
      const isUsed = operation === anyOperation ? this.#held.size > 0 : this.#held.has(operation)
      if (!isUsed && gate.isOver(this.now)) this.#gates.delete(operation)
    }
    return this.#inFlight === 0 && this.#held.size === 0 && this.#gates.size === 0
  }

  get now(): number {
    return Math.max(performance.now(), this.#provenTime)
  }

  /** Returns a function that ends the call's turn, at once if nothing holds it back. */
  acquire(signal: WebAbortSignal, call: RateLimitedCall): (() => void) | Promise<() => void> {
    const held: HeldCall = { ...call, arrivedAt: this.now, announcements: 0, expectedAt: 0, wake() {} }
    const line = this.#held.get(call.operation) ?? []
    this.#held.set(call.operation, line)
    line.splice(line.findLastIndex((other) => isBefore(other, held)) + 1, 0, held)
    this.#sendHeld()
    return held.endTurn === undefined || signal.aborted ? this.#wait(held, signal as AbortSignal) : held.endTurn
  }

  /** Sends no call of an operation for a duration in milliseconds, and lets them go gradually afterwards. */
  penalize(duration: number, operation: string): void {
    const { now } = this
    const until = now + duration
    const gate = this.#openGate(operation)
    const others = [...this.#gates.values()].filter((other) => other !== gate && other.pausedUntil > now)
    gate.pausedUntil = Math.max(gate.pausedUntil, until)
    gate.refuse(now, until)
    // Operations that are refused at the same time share a limit, as far as is known.
    if (operation !== anyOperation && others.length > 0) {
      const shared = this.#openGate(anyOperation)
      const pausedUntil = Math.min(until, Math.max(...others.map((other) => other.pausedUntil)))
      shared.pausedUntil = Math.max(shared.pausedUntil, pausedUntil)
    }
    const pacing = this.gateOf(operation)
    if (pacing !== gate) pacing?.refuse(now, until)
    for (const held of [...this.#held.values()].flat()) if (until >= held.expectedAt + noticeable) held.wake()
    this.#sendHeld()
  }

  /** Returns the gate that paces an operation. */
  gateOf(operation: string): RateGate | undefined {
    return this.#gates.get(anyOperation) ?? this.#gates.get(operation)
  }

  /** Replaces the gate of the whole key, except for its pause. */
  replaceGate(gate: RateGate): void {
    gate.pausedUntil = this.#gates.get(anyOperation)?.pausedUntil ?? 0
    this.#gates.set(anyOperation, gate)
    this.#sendHeld()
  }

  /** Returns the gate of exactly this operation. Creates it if there is none. */
  #openGate(operation: string): RateGate {
    const gate = this.#gates.get(operation) ?? this.#createGate()
    this.#gates.set(operation, gate)
    return gate
  }

  /** Sends the calls whose time has come, and sets the timer for the next. */
  #sendHeld(): void {
    for (;;) {
      const { now } = this
      let next: HeldCall | undefined
      let wakesAt = Number.POSITIVE_INFINITY
      for (const [first] of this.#inFlight < this.#maxConcurrency ? this.#held.values() : []) {
        if (first === undefined) continue
        const opensAt = this.#opensAt(first)
        if (opensAt > now) wakesAt = Math.min(wakesAt, opensAt)
        else if (next === undefined || !isBefore(next, first)) next = first
      }
      this.#wakeAt(wakesAt, now)
      if (next === undefined) return
      this.#remove(next)
      next.endTurn = this.#send(next, now)
      next.wake()
    }
  }

  async #wait(held: HeldCall, signal: AbortSignal): Promise<() => void> {
    const wake = () => held.wake()
    signal.addEventListener('abort', wake)
    try {
      for (;;) {
        throwIfAborted(signal)
        if (held.endTurn !== undefined) return held.endTurn
        // Called here, so that `onWait` runs in the async context of its own call.
        if (this.#announce(held)) continue
        await new Promise<void>((resolve) => {
          held.wake = resolve
        })
      }
    } catch (error) {
      this.#remove(held)
      if (held.endTurn === undefined) this.#sendHeld()
      else held.endTurn()
      throw error
    } finally {
      signal.removeEventListener('abort', wake)
    }
  }

  /** Calls `onWait` when a call is first held back, and once more when it waits for noticeably longer. */
  #announce(held: HeldCall): boolean {
    const { now } = this
    if (this.#opensAt(held) <= now) return false
    const pausedUntil = Math.max(now, this.#pausedUntil(held.operation))
    const expectedAt = Math.max(pausedUntil, held.canWait ? this.#expectedAt(held) : 0)
    if (held.announcements > 0 && expectedAt < held.expectedAt + noticeable) return false
    // A call that runs out of time is told in any case, so that it rejects at once.
    if (held.announcements > 1 && expectedAt < held.arrivedAt + held.timeLeft) return false
    held.announcements += 1
    held.expectedAt = expectedAt
    held.onWait(Math.ceil(expectedAt - now), Math.ceil(pausedUntil - now))
    return true
  }

  #expectedAt(held: HeldCall): number {
    const gate = this.gateOf(held.operation)
    if (gate === undefined) return 0
    let before = 0
    for (const [operation, line] of this.#held) {
      if (operation === held.operation) before += line.lastIndexOf(held)
      else if (this.gateOf(operation) === gate) before += line.findLastIndex((other) => isBefore(other, held)) + 1
    }
    return gate.expectedAt(before)
  }

  #opensAt({ operation, canWait }: HeldCall): number {
    const pausedUntil = this.#pausedUntil(operation)
    return canWait ? Math.max(pausedUntil, this.gateOf(operation)?.opensAt ?? 0) : pausedUntil
  }

  #pausedUntil(operation: string): number {
    return Math.max(this.#gates.get(anyOperation)?.pausedUntil ?? 0, this.#gates.get(operation)?.pausedUntil ?? 0)
  }

  #send(call: ArrivedCall, now: number): () => void {
    const countEnd = this.gateOf(call.operation)?.send(call, now, this.#held.get(call.operation)?.length ?? 0)
    this.#inFlight += 1
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#inFlight -= 1
      countEnd?.()
      this.#sendHeld()
    }
  }

  #remove(held: HeldCall): void {
    const line = this.#held.get(held.operation) ?? []
    const place = line.indexOf(held)
    if (place >= 0) line.splice(place, 1)
    if (line.length === 0) this.#held.delete(held.operation)
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
      this.#sendHeld()
    }, delay)
  }
}

/** Calls that cannot wait are sent first, because only a pause holds them back. */
function isBefore(one: HeldCall, other: HeldCall): boolean {
  return one.canWait === other.canWait ? one.startedAt <= other.startedAt : other.canWait
}
