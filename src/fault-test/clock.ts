import { nap, turn } from './job-process.ts'
import { SimulatedTime, type SimulatedTimer } from './simulated-time.ts'

/** Real milliseconds after which an open connection counts as idle. */
const silence = 50

/**
 * Real milliseconds without activity after which the job counts as stuck. The hooks miss, for example, the loading of a
 * module.
 */
const grace = 300
/** Maximum real milliseconds that a job can wait for real input or output. */
const longestWait = 2_000
/**
 * Maximum number of timers, which take about a second to fire. A simulated day of polling every 10 ms would take
 * minutes.
 */
const mostTimers = 20_000
/** Maximum real milliseconds that count for one turn. Turns are longer if the job computes, or the machine is busy. */
const longestTurn = 10
/**
 * Number of readings in one turn after which each reading advances the time, so that a loop that waits for a time ends.
 */
const readingsPerTurn = 1_000

// Captured before the globals are patched. A test runner's fake timers leave the uptime as it is.
const uptime = (): number => process.uptime() * 1_000

/** The simulated time of a job. Jumps to the next timer when only timers are pending. */
export class Clock extends SimulatedTime {
  /** The simulated time, in milliseconds since the epoch. */
  override now: number
  #readings = 0

  constructor(start: number) {
    super(start, start, silence)
    this.now = start
  }

  override read(): number {
    this.#readings += 1
    if (this.#readings > readingsPerTurn) this.now += 1
    return this.now
  }

  /**
   * Advances the time until `isOver` returns true, and then returns undefined. Returns the reason if it stops earlier:
   * the code waits but has no timer, `longest` is over, too many timers fired, or real input or output takes too long.
   *
   * @param longest maximum simulated time, in milliseconds
   * @param patience how long to wait for hidden activity when no timer is left, in real milliseconds
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
