import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers'
import { activeSockets, isOtherProcess } from '../node-internals.ts'
import { SimulatedTime, type SimulatedTimer } from '../simulated-time.ts'
import { monotonic, type SharedNumbers } from './clock-file.ts'

// Captured before anything is patched.
const realTimeout = setTimeout

/** Real milliseconds after which an open connection counts as idle. */
const silence = 100
/** Maximum real milliseconds that count for one turn. */
const longestTurn = 10
/** Real milliseconds for which a busy process keeps other processes of the program from advancing the time. */
const longestWork = 20
/** Real milliseconds of silence after which a program without timers counts as stuck. */
const grace = 2_000
const day = 86_400_000

/**
 * The simulated time in one process of a program. Runs like real time, and jumps to the next timer when only timers are
 * left.
 */
export class ProgramClock extends SimulatedTime {
  readonly #numbers: SharedNumbers
  readonly #connections = new WeakMap<Socket, { readonly bytes: number; readonly at: number }>()
  #tick: NodeJS.Timeout
  #lastTurn = monotonic()
  #idleTurns = 0
  #quiet = 0

  constructor(numbers: SharedNumbers) {
    const processes = numbers.get('processes')
    // A program that is started again draws other numbers, as it would in reality.
    super(numbers.now, numbers.get('seed') + processes, 0)
    this.#numbers = numbers
    numbers.set('processes', processes + 1)
    this.#tick = this.#schedule()
  }

  override get now(): number {
    return this.#numbers.now
  }

  override add(timer: SimulatedTimer): SimulatedTimer {
    this.#tick.ref()
    this.#idleTurns = 0
    return super.add(timer)
  }

  /**
   * Schedules the next turn of the clock. Only a timer of the program keeps the process alive, so the clock alone does
   * not.
   */
  #schedule(): NodeJS.Timeout {
    const timer = realTimeout(() => this.#turn(), 1)
    return [...this.timers].some((each) => each.hasRef()) ? timer : timer.unref()
  }

  #turn(): void {
    const elapsed = Math.min(monotonic() - this.#lastTurn, longestTurn)
    this.#lastTurn = monotonic()
    this.realTime += elapsed
    // Schedule the next turn before the timers fire, because a timer that throws ends this turn.
    this.#tick = this.#schedule()
    const isIdle = !this.#fireDue() && !this.#isBusy()
    this.#idleTurns = isIdle ? this.#idleTurns + 1 : 0
    if (this.#idleTurns < 2) {
      this.#quiet = 0
      this.#numbers.set('busyUntil', monotonic() + longestWork)
      this.#numbers.set('busyProcess', process.pid)
      return
    }
    this.#quiet += elapsed
    // Another process or thread advances the time while this one waits for it.
    const waitsForOthers = this.activity.underWay().some(isOtherProcess)
    const isOtherBusy = this.#numbers.get('busyUntil') > monotonic() && this.#numbers.get('busyProcess') !== process.pid
    if (waitsForOthers || isOtherBusy) return
    const next = this.next()
    if (next !== undefined) this.#numbers.passTo(next.at)
    else if (this.#quiet > grace) this.#numbers.passTo(this.now + day)
    this.#fireDue()
  }

  #fireDue(): boolean {
    const due = this.next()
    if (due === undefined || due.at > this.now) return false
    this.#numbers.set('timers', this.#numbers.get('timers') + 1)
    this.fire(due)
    return true
  }

  #isBusy(): boolean {
    return this.activity.underWay().some((type) => !isOtherProcess(type)) || this.#isConnected()
  }

  /** Whether a connection to the sandbox is in use, or another connection has just sent or received bytes. */
  #isConnected(): boolean {
    return activeSockets().some((socket) => {
      if (socket.remotePort === this.#numbers.get('port')) return !this.#isStalled(socket.localPort ?? 0)
      const bytes = socket.bytesRead + socket.bytesWritten
      const seen = this.#connections.get(socket)
      if (seen?.bytes !== bytes) this.#connections.set(socket, { bytes, at: this.realTime })
      return seen?.bytes !== bytes || this.realTime - seen.at < silence
    })
  }

  #isStalled(port: number): boolean {
    return Array.from({ length: 8 }, (_, index) => this.#numbers.get('stalled', index)).includes(port)
  }
}
