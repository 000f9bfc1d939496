import { nap, turn } from './job-process.ts'
import { SimulatedTime, type SimulatedTimer } from './simulated-time.ts'

/** Real milliseconds after which an open connection counts as idle. */
const silence = 50

/** Real milliseconds after which nothing is expected any more. Loading a module, for example, is not seen. */
const grace = 300
/** Real milliseconds that a job can wait for real input or output. */
const longestWait = 2_000
/** Timers that can fire, which takes about a second. A simulated day of polling every 10 ms would take minutes. */
const mostTimers = 20_000
/**
 * Real milliseconds of one turn that count. It took longer if the job computed, or the process did not get its turn.
 */
const longestTurn = 10
/** Readings of the time in one turn, after which it creeps, so that a loop that waits for a time ends. */
const readingsPerTurn = 1_000

// Captured before anything is patched. Named imports and the uptime also stay real under the fake timers of a test
// runner.
const uptime = (): number => process.uptime() * 1_000

/** The time of a job. It jumps to the next timer when nothing but timers is left. */
export class Clock extends SimulatedTime {
  /** In milliseconds since the epoch. */
  override now: number
  #readings = 0

  constructor(start: number, seed: number) {
    super(start, seed, silence)
    this.now = start
  }

  override read(): number {
    this.#readings += 1
    if (this.#readings > readingsPerTurn) this.now += 1
    return this.now
  }

  /**
   * Lets time pass until `isOver` returns true. If it stops before, it returns the reason: a wait for nothing, the
   * longest time, too many timers, or endless real input or output.
   *
   * @param longest simulated time, in milliseconds
   * @param patience real time to wait when all timers and all input and output seem to have ended, in milliseconds
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
      this.realTime += elapsed
      const underWay = new Set(this.activity.underWay())
      const isBusy = underWay.size > 0
      waited = isBusy === wasBusy ? waited + elapsed : 0
      wasBusy = isBusy
      if (isBusy && waited > longestWait) {
        return `waiting for real input or output (${[...underWay].join(', ')}) for more than 2 seconds`
      }
      const next = this.next()
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
      this.fire(next)
      fired += 1
    }
    return `${mostTimers} timers had fired`
  }

  protected override fire(timer: SimulatedTimer): void {
    try {
      super.fire(timer)
    } catch (error) {
      timer.owner.uncaught.push(error)
    }
  }
}
