import { AsyncLocalStorage } from 'node:async_hooks'
import { randomFrom } from '../shared/random.ts'
import { Activity } from './activity.ts'
import { type JobProcess, nap, turn } from './job-process.ts'

/** The simulated time and the owner of the code that runs. */
export interface Scope {
  readonly clock: Clock
  readonly owner: JobProcess
}

/** Only code within a scope lives in simulated time. */
export const scopes = /* @__PURE__ */ new AsyncLocalStorage<Scope>()

/** Real milliseconds after which nothing is expected any more. Loading a module, for example, is not seen. */
const grace = 300
/** Real milliseconds that a job may wait for real input or output. */
const longestWait = 2_000
/** Timers that may fire, which takes about a second. A simulated day of polling every 10 ms would take minutes. */
const mostTimers = 20_000
/** Real milliseconds of one turn that count. It took longer if the job computed, or the process did not get its turn. */
const longestTurn = 10
/** Readings of the time in one turn, after which it creeps, so that a loop that waits for a time ends. */
const readingsPerTurn = 1_000

// Captured before anything is patched. Fake timers of a test runner change neither named imports nor the uptime.
const uptime = (): number => process.uptime() * 1_000

/** Simulated time. It jumps to the next timer when nothing but timers is left. */
export class Clock {
  readonly start: number
  readonly activity = new Activity(() => this.#realTime)
  readonly random: () => number
  /** In milliseconds since the epoch. */
  now: number
  #readings = 0
  /** Real milliseconds of the turns so far. */
  #realTime = 0
  readonly #timers = new Set<SimulatedTimer>()

  /** @param start in milliseconds since the epoch */
  constructor(start: number, seed: number) {
    this.start = start
    this.now = start
    this.random = randomFrom(seed)
  }

  /** Returns the time for the job. */
  read(): number {
    this.#readings += 1
    if (this.#readings > readingsPerTurn) this.now += 1
    return this.now
  }

  /** Starts a timer, or starts it again. */
  add(timer: SimulatedTimer): SimulatedTimer {
    this.#timers.delete(timer)
    timer.at = this.now + timer.delay
    this.#timers.add(timer)
    return timer
  }

  remove(timer: SimulatedTimer): void {
    this.#timers.delete(timer)
  }

  /**
   * Lets time pass until `isOver` returns true. Otherwise returns what it stopped after: a wait for nothing, the longest time, too
   * many timers, or real input or output that does not end.
   *
   * @param longest simulated time, in milliseconds
   * @param patience real time to wait when nothing seems to be left, in milliseconds
   */
  async drive(isOver: () => boolean, longest: number, patience = grace): Promise<string | undefined> {
    const until = this.now + longest
    let [waited, lastTurn, wasBusy] = [0, uptime(), false]
    for (let fired = 0; fired < mostTimers; ) {
      if (wasBusy) await nap()
      await turn()
      await turn()
      this.#readings = 0
      if (isOver()) return undefined
      const now = uptime()
      const elapsed = Math.min(now - lastTurn, longestTurn)
      lastTurn = now
      this.#realTime += elapsed
      const underWay = new Set(this.activity.underWay())
      const isBusy = underWay.size > 0
      waited = isBusy === wasBusy ? waited + elapsed : 0
      wasBusy = isBusy
      if (isBusy && waited > longestWait) {
        return `waiting for real input or output (${[...underWay].join(', ')}) for more than 2 seconds`
      }
      const next = this.#next()
      if (isBusy) {
        this.now += elapsed
      } else if (next !== undefined) {
        waited = 0
        if (next.at > until) return `${longest / 3_600_000} simulated hours`
        this.now = Math.max(this.now, next.at)
      } else if (waited >= (this.activity.hasHandles && patience > 0 ? longestWait : patience)) {
        return 'waiting for nothing'
      }
      if (next === undefined || next.at > this.now) continue
      this.#fire(next)
      fired += 1
    }
    return `${mostTimers} timers had fired`
  }

  #next(): SimulatedTimer | undefined {
    let next: SimulatedTimer | undefined
    for (const timer of this.#timers) {
      if (timer.owner.isEnded) this.#timers.delete(timer)
      else if (next === undefined || timer.at < next.at) next = timer
    }
    return next
  }

  #fire(timer: SimulatedTimer): void {
    if (timer.repeats) this.add(timer)
    else this.remove(timer)
    try {
      timer.run()
    } catch (error) {
      timer.owner.uncaught.push(error)
    }
  }
}

const longestDelay = 2 ** 31 - 1

/** What `setTimeout` and `setInterval` return in simulated time. It never fires once its owner has ended. */
export class SimulatedTimer {
  readonly #clock: Clock
  readonly owner: JobProcess
  readonly delay: number
  readonly run: () => void
  readonly repeats: boolean
  at = 0

  constructor({ clock, owner }: Scope, delay: unknown, run: () => void, repeats = false) {
    const milliseconds = Number(delay)
    this.#clock = clock
    this.owner = owner
    this.delay = milliseconds >= 1 && milliseconds <= longestDelay ? Math.trunc(milliseconds) : 1
    this.run = run
    this.repeats = repeats
  }

  ref = (): this => this
  unref = (): this => this
  hasRef = (): boolean => true
  refresh = (): SimulatedTimer => this.#clock.add(this)
  close = (): void => this.#clock.remove(this);
  [Symbol.dispose] = (): void => this.close()
}
