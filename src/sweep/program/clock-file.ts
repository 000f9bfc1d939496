import fs from 'node:fs'

// Captured before a program patches them, or the fault test does.
const { openSync, readSync, writeSync } = fs
const { hrtime } = process

/** The milliseconds of the monotonic clock, which all processes of a machine share. */
export function monotonic(): number {
  return Number(hrtime.bigint()) / 1e6
}

/**
 * The numbers of a file, in their order:
 *
 * - The offset between the monotonic clock and the simulated time, the seed, and the port of the sandbox.
 * - The time on the monotonic clock until which a process of the program works, and its id.
 * - The number of Node processes in simulated time, and the number of timers that have fired.
 * - The number of file writes, and of file writes that can be cut in the middle.
 * - The file write at which to kill the program.
 * - The ports of connections whose response stalls.
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

/** Numbers that a fault test shares with each process of a program. They survive kills. */
export class SharedNumbers {
  readonly #file: number
  readonly #number = new Float64Array(1)
  readonly #bytes = new Uint8Array(this.#number.buffer)

  /** Creates a file of zeros. */
  static create(path: string): SharedNumbers {
    fs.writeFileSync(path, new Uint8Array(512))
    return new SharedNumbers(path)
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

  /** Lets simulated time pass until then. It never runs backwards. */
  passTo(time: number): void {
    this.set('offset', Math.max(this.get('offset'), time - monotonic()))
  }

  close(): void {
    fs.closeSync(this.#file)
  }
}
