import fs from 'node:fs'

// Captured before the program or the fault test patches these functions.
const { openSync, readSync, writeSync } = fs
const { hrtime } = process

/** Returns the time of the machine's monotonic clock, which all processes share, in milliseconds. */
export function monotonic(): number {
  return Number(hrtime.bigint()) / 1e6
}

/**
 * The numbers in the file, in this order:
 *
 * - `offset`, `seed`, `port`: Difference between simulated time and monotonic clock, seed, and port of the sandbox.
 * - `busyUntil`, `busyProcess`: Monotonic time until which a process of the program is busy, and the id of that
 *   process.
 * - `processes`, `timers`: Number of Node processes in simulated time, and number of timers that have fired.
 * - `writes`, `cuts`: Number of file writes, and number of file writes that can be killed in the middle.
 * - `killedWrite`, `killedCut`: The number of the write before which, or in whose middle, the program is killed.
 * - `stalled`: The ports of up to eight connections whose response stalls.
 */
const names = [
  'offset',
  'seed',
  'port',
  'busyUntil',
  'busyProcess',
  'processes',
  'timers',
  'writes',
  'cuts',
  'killedWrite',
  'killedCut',
  'stalled',
] as const
type Name = (typeof names)[number]

/** Numbers in a file that a fault test shares with each process of a program. The numbers survive kills. */
export class SharedNumbers {
  readonly #file: number
  readonly #number = new Float64Array(1)
  readonly #bytes = new Uint8Array(this.#number.buffer)

  /** Creates a file of zeros, and starts the simulated time. */
  static create(path: string, start: number): SharedNumbers {
    fs.writeFileSync(path, new Uint8Array(512))
    const numbers = new SharedNumbers(path)
    numbers.passTo(start)
    numbers.set('seed', start)
    return numbers
  }

  constructor(path: string) {
    this.#file = openSync(path, 'r+')
  }

  /** The simulated time, in milliseconds since the epoch. */
  get now(): number {
    return monotonic() + this.get('offset')
  }

  get(name: Name, index = 0): number {
    readSync(this.#file, this.#bytes, 0, 8, (names.indexOf(name) + index) * 8)
    return this.#number[0] ?? 0
  }

  set(name: Name, value: number, index = 0): void {
    this.#number[0] = value
    writeSync(this.#file, this.#bytes, 0, 8, (names.indexOf(name) + index) * 8)
  }

  /** Advances the simulated time to `time`. Ignores a `time` in the past. */
  passTo(time: number): void {
    this.set('offset', Math.max(this.get('offset'), time - monotonic()))
  }

  close(): void {
    fs.closeSync(this.#file)
  }
}
