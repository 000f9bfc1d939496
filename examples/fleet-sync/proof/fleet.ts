import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Measurement } from './measured-rate-limiter.ts'
import type { WorkerReport } from './worker.ts'

const file = fileURLToPath(new URL('worker.ts', import.meta.url))

/** A number of worker processes. One that ends is replaced. */
export class Fleet {
  readonly #env: NodeJS.ProcessEnv
  readonly #workers = new Set<ChildProcess>()
  #isClosing = false
  #measurements: Measurement[] = []
  #cpu = 0
  readonly #failure = Promise.withResolvers<never>()
  /** Rejects if a worker ends for another reason than a kill. */
  readonly failed = this.#failure.promise
  kills = 0

  private constructor(env: NodeJS.ProcessEnv) {
    this.#env = env
  }

  /** Starts the workers, and waits until they take jobs. */
  static async start(count: number, env: NodeJS.ProcessEnv): Promise<Fleet> {
    const fleet = new Fleet(env)
    const started = Array.from({ length: count }, () => fleet.#add())
    await Promise.race([Promise.all(started), fleet.failed])
    return fleet
  }

  /** Returns the requests, and the CPU time in seconds, since the last call. */
  takeMeasurements(): { requests: readonly Measurement[]; cpu: number } {
    const taken = { requests: this.#measurements, cpu: this.#cpu }
    this.#measurements = []
    this.#cpu = 0
    return taken
  }

  /** Kills a random worker at regular times, without a chance to clean up. */
  async killFor(seconds: number, secondsBetween: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed += secondsBetween) {
      await setTimeout(secondsBetween * 1_000)
      const workers = [...this.#workers]
      workers[Math.floor(Math.random() * workers.length)]?.kill('SIGKILL')
      this.kills += 1
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true
    await Promise.all(
      [...this.#workers].map(async (worker) => {
        const ended = once(worker, 'exit')
        worker.kill('SIGTERM')
        await ended
      }),
    )
  }

  /** Resolves when the worker takes jobs. */
  #add(): Promise<void> {
    const worker = fork(file, { env: { ...process.env, ...this.#env } })
    this.#workers.add(worker)
    worker.once('exit', (code, signal) => {
      this.#workers.delete(worker)
      if (this.#isClosing) return
      if (signal === 'SIGKILL') void this.#add()
      else this.#failure.reject(new Error(`A worker ended with the code ${code}.`))
    })
    return new Promise((resolve) => {
      worker.on('message', (message: 'ready' | WorkerReport) => {
        if (message === 'ready') return resolve()
        this.#measurements.push(...message.requests)
        this.#cpu += message.cpu
      })
    })
  }
}
