import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { moduleFor } from '../../test/connections/helpers/open-storage.ts'
import { describeOnStorages } from '../../test/connections/helpers/servers.ts'
import { isFull } from '../is-full.ts'
import type { Order, Report } from './kill-worker.ts'
import { type Action, type Event, isLinearizable } from './model.ts'

/** How long to run on each storage. */
const milliseconds = isFull ? 450_000 : 3_000
const operationsInRound = 8

describeOnStorages((kind, address) => {
  test.runIf(isFull || kind === 'sqlite' || kind === 'redis')(
    'three processes that are killed while they work leave what a sequence of their operations would',
    async () => {
      const counts = { rounds: 0, operations: 0, kills: 0, drops: 0, faults: 0 }
      const module = moduleFor(kind, address())
      const drop = await dropperFor(kind, address())
      onTestFinished(async () => void (await drop.close()))
      let workers = await Promise.all(Array.from({ length: 3 }, () => Worker.start(module)))
      for (const end = Date.now() + milliseconds; Date.now() < end; counts.rounds += 1) {
        const isDropping = drop.kind !== undefined && Math.random() < 0.3
        const round = new Round(`${kind}-${counts.rounds}`, counts.rounds % 2 === 0, isDropping)
        const working = workers.map((worker) => round.work(worker))
        const victim = Math.random() < 0.5 ? oneOf(workers) : undefined
        await new Promise((resolve) => setTimeout(resolve, 20 * Math.random()))
        if (isDropping) await drop.run()
        victim?.kill()
        await Promise.all(working)
        const last = workers.find((worker) => worker !== victim)
        if (last !== undefined) await round.operate(last, { do: 'get' })
        counts.operations += round.events.length
        counts.faults += round.faults
        counts.kills += Number(victim !== undefined)
        counts.drops += Number(isDropping)
        round.check()
        workers = await Promise.all(workers.map((worker) => (worker === victim ? Worker.start(module) : worker)))
      }
      for (const worker of workers) worker.kill()
      console.log(`${kind}: ${JSON.stringify(counts)}, 0 violations`)
      expect(counts.rounds).toBeGreaterThan(0)
    },
  )
})

/** The operations of three processes on one connection. */
class Round {
  readonly events: Event[] = []
  faults = 0
  readonly #organization: string
  readonly #keepRevoked: boolean
  readonly #saved: string[] = []
  readonly #repeats: Event[] = []
  readonly isDropping: boolean
  #time = 0
  #operations = 0

  /** @param isDropping whether connections are dropped, after which drivers send commands again */
  constructor(organization: string, keepRevoked: boolean, isDropping: boolean) {
    this.isDropping = isDropping
    this.#organization = organization
    this.#keepRevoked = keepRevoked
  }

  /** Makes a process operate until it ends, or has done enough. */
  async work(worker: Worker): Promise<void> {
    let failed: Event | undefined
    for (let count = 0; count < operationsInRound && worker.isRunning; count += 1) {
      const event: Event = await this.operate(worker, this.#choose(failed))
      const isSave = event.action.do === 'save' || event.action.do === 'retry'
      failed = isSave && event.result === undefined ? event : undefined
    }
  }

  async operate(worker: Worker, action: Action): Promise<Event> {
    const id = String(this.#operations++)
    const start = this.#time++
    const order = { organization: this.#organization, keepRevoked: this.#keepRevoked, action }
    const report = await worker.order(order)
    const faults = report?.faults ?? 0
    this.faults += faults
    const end = report?.result === undefined ? undefined : this.#time++
    const event = { id, action, start, end, result: report?.result }
    this.events.push(event)
    // Where a response was lost and others have changed the record since, a change is made again before it returns.
    const isRepeatable = ['save', 'retry', 'setMetadata', 'remove'].includes(action.do)
    if (isRepeatable && (faults > 0 || this.isDropping))
      this.#repeats.push({ ...event, id: `${id} again`, of: id, isOptional: true })
    return event
  }

  #choose(failed: Event | undefined): Action {
    if (failed !== undefined && (failed.action.do === 'save' || failed.action.do === 'retry')) {
      const { token, metadata } = failed.action
      const of = failed.action.do === 'retry' ? failed.action.of : failed.id
      return { do: 'retry', token, of, ...(metadata !== undefined && { metadata }) }
    }
    const token = `${this.#organization}.${this.#saved.length}`
    const metadata = `m${this.#operations}`
    const saves: readonly Action[] = [
      { do: 'save', token },
      { do: 'save', token, metadata },
    ]
    const others: readonly Action[] = [
      { do: 'refused', token: oneOf(this.#saved.slice(-2)) ?? token },
      { do: 'refused', token: this.#saved.at(-1) ?? token },
      { do: 'setMetadata', metadata },
      { do: 'setMetadata', metadata: undefined },
      { do: 'verify' },
      { do: 'get' },
      { do: 'list' },
      { do: 'remove' },
    ]
    const isSave = Math.random() < 0.3
    if (isSave) this.#saved.push(token)
    return oneOf(isSave ? saves : others) ?? { do: 'get' }
  }

  check(): void {
    const rules = { keepRevoked: this.#keepRevoked, rejected: [], nameOf: (token: string) => token, isRepeated: true }
    if (isLinearizable([...this.events, ...this.#repeats], undefined, rules)) return
    throw new Error(`No sequence explains this.\n${this.events.map((event) => JSON.stringify(event)).join('\n')}`)
  }
}

function oneOf<Item>(items: readonly Item[]): Item | undefined {
  return items[Math.floor(items.length * Math.random())]
}

/** A process with a store. */
class Worker {
  isRunning = true
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, (report: Report | undefined) => void>()
  #orders = 0

  static async start(module: string): Promise<Worker> {
    const worker = new Worker(module)
    await worker.#reply(-1)
    if (!worker.isRunning) throw new Error('A process could not start.')
    return worker
  }

  private constructor(module: string) {
    const path = fileURLToPath(new URL('./kill-worker.ts', import.meta.url))
    this.#child = fork(path, [module], { execArgv: ['--no-warnings'] })
    this.#child.on('message', (report: Report) => {
      this.#waiting.get(report.id)?.(report)
      this.#waiting.delete(report.id)
    })
    this.#child.once('exit', () => this.#end())
  }

  /** Returns the report; undefined if the process was killed before. */
  order(order: Omit<Order, 'id'>): Promise<Report | undefined> {
    if (!this.isRunning) return Promise.resolve(undefined)
    const id = this.#orders++
    this.#child.send({ id, ...order }, () => {})
    return this.#reply(id)
  }

  kill(): void {
    this.#child.kill('SIGKILL')
    this.#end()
  }

  #end(): void {
    this.isRunning = false
    for (const resolve of this.#waiting.values()) resolve(undefined)
  }

  #reply(id: number): Promise<Report | undefined> {
    return new Promise((resolve) => this.#waiting.set(id, resolve))
  }
}

/** Returns how to drop the connections of all clients of a server. */
async function dropperFor(kind: string, address: string) {
  if (kind === 'postgres') {
    const client = new pg.Client(address)
    await client.connect()
    const sql =
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()'
    return { kind, run: () => client.query(sql), close: () => client.end() }
  }
  if (kind.includes('redis')) {
    const client = new Redis({ path: address })
    return { kind, run: () => client.client('KILL', 'TYPE', 'normal', 'SKIPME', 'yes'), close: () => client.quit() }
  }
  return { kind: undefined, run: async () => undefined, close: async () => undefined }
}
