import { AsyncLocalStorage } from 'node:async_hooks'
import { randomFrom } from '../shared/random.ts'
import { Activity } from './activity.ts'
import type { JobProcess } from './job-process.ts'

/** The simulated time of the running code, and the process that it belongs to. */
export interface Scope {
  readonly clock: SimulatedTime
  readonly owner: JobProcess
}

/** The current scope. Code outside a scope has real time. */
export const scopes = /* @__PURE__ */ new AsyncLocalStorage<Scope>()

/** A simulated time and its timers. The subclasses decide when the time advances. */
export abstract class SimulatedTime {
  readonly start: number
  readonly activity: Activity
  readonly random: () => number
  /** The simulated time, in milliseconds since the epoch. */
  abstract readonly now: number
  /** Real milliseconds of the turns so far. */
  protected realTime = 0
  protected readonly timers = new Set<SimulatedTimer>()

  /**
   * @param start the simulated time at the start, in milliseconds since the epoch
   * @param silence real milliseconds after which an open connection counts as idle
   */
  constructor(start: number, seed: number, silence: number) {
    this.start = start
    this.random = randomFrom(seed)
    this.activity = new Activity(() => this.realTime, silence)
  }

  /** Returns the time for the code under test. */
  read(): number {
    return this.now
  }

  /** Starts a timer, or starts it again. */
  add(timer: SimulatedTimer): SimulatedTimer {
    this.timers.delete(timer)
    timer.at = this.now + timer.delay
    this.timers.add(timer)
    return timer
  }

  remove(timer: SimulatedTimer): void {
    this.timers.delete(timer)
  }

  protected next(): SimulatedTimer | undefined {
    let next: SimulatedTimer | undefined
    for (const timer of this.timers) {
      if (timer.owner.isEnded) this.timers.delete(timer)
      else if (next === undefined || timer.at < next.at) next = timer
    }
    return next
  }

  protected fire(timer: SimulatedTimer): void {
    if (timer.repeats) this.add(timer)
    else this.remove(timer)
    timer.run()
  }
}

const longestDelay = 2 ** 31 - 1

/** The timer that `setTimeout` and `setInterval` return in simulated time. Stops when its process is killed. */
export class SimulatedTimer {
  readonly #clock: SimulatedTime
  readonly owner: JobProcess
  readonly delay: number
  readonly run: () => void
  readonly repeats: boolean
  at = 0
  #isRef = true

  constructor({ clock, owner }: Scope, delay: unknown, run: () => void, repeats = false) {
    const milliseconds = Number(delay)
    this.#clock = clock
    this.owner = owner
    this.delay = milliseconds >= 1 && milliseconds <= longestDelay ? Math.trunc(milliseconds) : 1
    this.run = run
    this.repeats = repeats
  }

  ref = (): this => {
    this.#isRef = true
    return this
  }

  unref = (): this => {
    this.#isRef = false
    return this
  }

  hasRef = (): boolean => this.#isRef
  refresh = (): SimulatedTimer => this.#clock.add(this)
  close = (): void => this.#clock.remove(this);
  [Symbol.dispose] = (): void => this.close()
}
