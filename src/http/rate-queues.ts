import { checkOptions } from '../check-options.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import type { WebAbortSignal } from '../web-types.ts'
import type { RateGate } from './rate-gate.ts'
import type { RateLimitedCall } from './rate-limiter.ts'
import { anyOperation, RateQueue } from './rate-queue.ts'

const optionNames = { maxConcurrency: true } as const

const sendAtOnce = () => {}

/** The queues of a rate limiter, by key. */
export class RateQueues<Gate extends RateGate> {
  readonly #maxConcurrency: number
  readonly #createGate: () => Gate
  readonly #queues = new Map<string, RateQueue<Gate>>()
  /** Unneeded queues are removed when there are this many. */
  #most = 100

  constructor(options: { readonly maxConcurrency?: number | undefined }, createGate: () => Gate) {
    checkOptions('options', options, optionNames, 'a rate limiter')
    const { maxConcurrency = Number.POSITIVE_INFINITY } = options
    const isCount = Number.isInteger(maxConcurrency) || maxConcurrency === Number.POSITIVE_INFINITY
    checkArgument('maxConcurrency', isCount && maxConcurrency >= 1, 'an integer of at least 1', 'for example 8')
    this.#maxConcurrency = maxConcurrency
    this.#createGate = createGate
  }

  acquire(key: string, signal: WebAbortSignal, call: RateLimitedCall): (() => void) | Promise<() => void> {
    const isLimited = this.#maxConcurrency < Number.POSITIVE_INFINITY
    const queue = isLimited ? this.of(key) : this.find(key)
    return queue?.acquire(signal as AbortSignal, call) ?? sendAtOnce
  }

  penalize(key: string, duration: number, operation: string = anyOperation): void {
    const isDuration = typeof duration === 'number' && duration >= 0
    checkArgument('duration', isDuration, 'a number of milliseconds', 'for example 1_000')
    this.of(key).penalize(duration, operation)
  }

  /** Returns the queue of a key. Undefined if nothing holds it back. */
  find(key: string): RateQueue<Gate> | undefined {
    const queue = this.#queues.get(key)
    if (!queue?.forget()) return queue
    this.#queues.delete(key)
    return undefined
  }

  /** Returns the queue of a key. Creates it if there is none. */
  of(key: string): RateQueue<Gate> {
    const known = this.find(key)
    if (known !== undefined) return known
    if (this.#queues.size >= this.#most) {
      for (const other of this.#queues.keys()) this.find(other)
      this.#most = Math.max(100, 2 * this.#queues.size)
    }
    const queue = new RateQueue(this.#maxConcurrency, this.#createGate)
    this.#queues.set(key, queue)
    return queue
  }
}

export function checkArgument(name: string, isValid: boolean, what: string, example: string): void {
  if (isValid) return
  throw new InvalidArgumentError(name, `\`${name}\` must be ${what}.`, `Pass ${example}.`)
}
