import { setImmediate } from 'node:timers/promises'
import { RecordFormat } from '../../src/connections/connection-record.ts'
import {
  type Connection,
  type ConnectionNotSavedError,
  ConnectionStore,
  type ConnectionStoreError,
  type KeyValueStorage,
} from '../../src/oauth/index.ts'
import { mapStorage } from '../../test/connections/helpers/storages.ts'
import { type Action, type Event, isLinearizable, type Rules, type State } from './model.ts'
import { nameIn, operate } from './operate.ts'

const baseUrl = 'https://service.example'
const key = 'app.a.o'
const secrets = ['the newest secret of this app, 32 characters', 'an older secret of this app, 32 characters']

/** What is in the storage before the operations start. */
export type Start = 'nothing' | 'a connection' | 'a revoked connection' | 'the mark of a removal'

/** An operation, and what has happened before it. */
export type Operation =
  | Exclude<Action, { do: 'retry' }>
  | { readonly do: 'retry after'; readonly failed: 'me' | 'before' | 'after' }

export interface Scenario {
  readonly start: Start
  readonly keepRevoked: boolean
  readonly operations: readonly Operation[]
  /** Whether the operations run in one process, or each in another. */
  readonly inOneProcess?: boolean
  /** What goes wrong with the first write of each operation: it is sent twice, or its response is lost. */
  readonly fault?: 'sent twice' | 'response lost'
  /** Replaces a part of the storage or of the operations, to check the check. */
  readonly sabotage?: 'ignores expected' | 'ignores token'
}

/**
 * Runs a scenario in every order of the storage calls of its operations.
 *
 * @returns the number of orders
 * @throws Error with the first order whose results no sequence of the operations explains
 */
export async function everyOrder(scenario: Scenario): Promise<number> {
  const open: number[][] = [[]]
  let orders = 0
  for (let schedule = open.pop(); schedule !== undefined; schedule = open.pop()) {
    const { width, taken } = await run(scenario, schedule)
    for (let depth = taken.length - 1; depth >= schedule.length; depth -= 1) {
      for (let choice = 1; choice < (width[depth] ?? 0); choice += 1) open.push([...taken.slice(0, depth), choice])
    }
    orders += 1
  }
  return orders
}

interface Waiting {
  readonly name: string
  readonly isRead: boolean
  /** The number of its process. */
  readonly process: number
  readonly proceed: () => void
}

async function run(scenario: Scenario, schedule: readonly number[]) {
  const { keepRevoked, inOneProcess = false, fault } = scenario
  const world = new World(scenario)
  const before = await world.begin()
  const shared = world.process('all')
  const operations: { id: string; action: Action; run: () => Promise<string> }[] = []
  for (const [index, operation] of scenario.operations.entries()) {
    const id = `${index}: ${operation.do}`
    const process = inOneProcess ? shared : world.process(id)
    operations.push({ id, ...(await process.prepare(operation, before)) })
  }
  const initial = await world.afterFailures(before)
  world.isStepping = true
  let time = 0
  let running = operations.length
  const events: Event[] = []
  for (const { id, action, run } of operations) {
    void run()
      .then(
        (result) => events.push({ id, action, start: 0, end: time, result }),
        // Whether a write took effect is not known if its response was lost.
        (error: unknown) =>
          events.push({ id, action, start: 0, end: fault === 'response lost' ? undefined : time, result: `${error}` }),
      )
      .finally(() => {
        running -= 1
      })
  }
  const width: number[] = []
  const taken: number[] = []
  const trace: string[] = []
  let last: (Waiting & { readonly others: readonly Waiting[] }) | undefined
  while (running > 0) {
    // In one process an operation may wait for another one. Then nothing changes for a while.
    for (let turns = 0; turns < 20 && world.waiting.length < running; turns += inOneProcess ? 1 : 0)
      await setImmediate()
    // Two reads in a row have the same results in either order, so only one order is tried.
    const isSameOrder = (one: Waiting) =>
      last?.isRead && one.isRead && one.process < last.process && last.others.includes(one)
    const different = world.waiting.filter((one) => !isSameOrder(one))
    const candidates = different.length === 0 ? world.waiting.slice(0, 1) : different
    const choice = (schedule[taken.length] ?? 0) % candidates.length
    const next = candidates[choice]
    if (next === undefined) continue
    world.waiting.splice(world.waiting.indexOf(next), 1)
    last = { ...next, others: [...world.waiting] }
    width.push(candidates.length)
    taken.push(choice)
    trace.push(next.name)
    time += 1
    next.proceed()
    await setImmediate()
  }
  world.isStepping = false
  const afterwards = world.process('afterwards')
  const result = await afterwards.result(() => operate(afterwards.store, 'o', { do: 'get' }))
  events.push({ id: 'end', action: { do: 'get' }, start: time + 1, end: time + 2, result })
  const rules: Rules = { keepRevoked, rejected: world.rejected, nameOf, isRepeated: fault !== undefined }
  if (isLinearizable(events, initial, rules)) return { width, taken }
  const results = events.map(({ id, result }) => `${id} returned ${result}`)
  throw new Error(`No sequence explains this.\n${[JSON.stringify(scenario), ...trace, ...results].join('\n')}`)
}

/** `/me` names an organization by the token, so that a connection shows whose token it has. */
const nameOf = (token: string) => `${token}-2`

/** A storage of a process, whose calls can fail: before a write, or from the response of a write on. */
type ProcessStorage = KeyValueStorage & { down?: 'before' | 'after' | undefined }

/** A storage, a service, and the processes that use both. */
class World {
  readonly scenario: Scenario
  readonly items = new Map<string, string>()
  readonly waiting: Waiting[] = []
  /** The tokens that the service rejects. */
  readonly rejected: readonly string[]
  readonly #secret: readonly string[] | undefined
  /** Whether the calls of the storage wait for the schedule. */
  isStepping = false
  #processes = 0

  constructor(scenario: Scenario) {
    this.scenario = scenario
    this.rejected = scenario.operations.some((operation) => operation.do === 'refused') ? ['old'] : []
    // Encryption takes real time, during which only separate processes can be told from those that wait for each other.
    const isResealing = scenario.operations.some((operation) => operation.do === 'reseal')
    this.#secret = isResealing && !scenario.inOneProcess ? secrets : undefined
  }

  /** Puts into the storage what is there at the start, and returns what a store sees of it. */
  async begin(): Promise<State | undefined> {
    const { start, keepRevoked } = this.scenario
    if (start === 'nothing') return undefined
    const isRevoked = start !== 'a connection'
    const origin = { prefix: 'connections', service: 'https.service.example' }
    const format = new RecordFormat(origin, this.#secret?.[1], keepRevoked)
    const connection: Connection = {
      ...{ key, actor: 'app', application: { id: 'a' }, organization: { id: 'o', name: 'old-1' } },
      ...{ connectedAt: 1, metadata: { m: 'M' }, ...(isRevoked && { revokedAt: 2 }) },
    }
    const accessToken = isRevoked ? undefined : 'old'
    const text = await format.write({ connection, accessToken, login: 'old', ...(isRevoked && { revocation: '0' }) })
    this.items.set(`connections:https.service.example:${key}`, text)
    if (isRevoked && !keepRevoked) return undefined
    return { token: 'old', name: 'old-1', metadata: 'M', login: 'old', isRevoked }
  }

  /** Returns the state after the failed saves, which may have been written. */
  async afterFailures(before: State | undefined): Promise<State | undefined> {
    const isWritten = (await this.process('failures').store.get(key))?.organization.name === nameOf('retried')
    if (!isWritten) return before
    return { token: 'retried', name: nameOf('retried'), metadata: before?.metadata, login: 'retried', isRevoked: false }
  }

  process(name: string): Process {
    return new Process(this, this.#storageOf(name), this.#secret)
  }

  #storageOf(name: string): ProcessStorage {
    const { items, waiting } = this
    const number = this.#processes++
    const { fault, sabotage } = this.scenario
    const faults = [fault]
    const map = mapStorage(items)
    const step = async <Value>(what: string, take: () => Value): Promise<Value> => {
      if (this.isStepping) {
        const isRead = what === 'get' || what === 'list'
        await new Promise<void>((proceed) =>
          waiting.push({ name: `${name}: ${what}`, isRead, process: number, proceed }),
        )
      }
      return take()
    }
    const storage: ProcessStorage = {
      get: async (key) => {
        if (storage.down === 'after' && items.size > 0) throw new Error('down')
        return step('get', () => map.get(key))
      },
      compareAndSet: async (key, expected, value) => {
        if (storage.down === 'before') throw new Error('down')
        const write = () =>
          map.compareAndSet(key, sabotage === 'ignores expected' ? (items.get(key) ?? null) : expected, value)
        const faultNow = this.isStepping ? faults.shift() : undefined
        const result = await step('compareAndSet', write)
        if (storage.down === 'after' || faultNow === 'response lost') throw new Error('lost')
        return faultNow === 'sent twice' ? step('compareAndSet again', write) : result
      },
      list: async function* () {
        yield await step('list', () => [...items])
      },
    }
    return storage
  }
}

/** A process with its own store. */
class Process {
  readonly store: ConnectionStore
  readonly #world: World
  readonly #storage: ProcessStorage
  readonly #told: Connection[] = []
  #isServiceDown = false
  #held: Promise<void> | undefined

  constructor(world: World, storage: ProcessStorage, secret: readonly string[] | undefined) {
    this.#world = world
    this.#storage = storage
    this.store = new ConnectionStore({
      baseUrl,
      storage,
      secret,
      keepRevoked: world.scenario.keepRevoked,
      onRevoked: (connection) => void this.#told.push(connection),
      client: { maxRetries: 0, validation: 'off', fetch: (url, init) => this.#fetch(url, init as RequestInit) },
    })
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    if (this.#isServiceDown) return new Response(null, { status: 503 })
    const token = new Headers(init.headers).get('authorization')?.replace('Bearer ', '') ?? ''
    if (!url.endsWith('/me')) await this.#held
    if (this.#world.rejected.includes(token)) return Response.json({ error: 'invalid_token' }, { status: 401 })
    const organization = { id: 'o', name: nameOf(token) }
    return Response.json({ application: { id: 'a' }, organization, actor: 'app' })
  }

  /** Does what happens before an operation, and returns how to run it. */
  async prepare(
    operation: Operation,
    before: State | undefined,
  ): Promise<{ action: Action; run: () => Promise<string> }> {
    if (operation.do === 'retry after') return this.#prepareRetry(operation.failed, before)
    if (operation.do === 'refused') return this.#prepareRefused(operation)
    return { action: operation, run: () => this.result(() => operate(this.store, 'o', operation)) }
  }

  async #prepareRetry(failed: 'me' | 'before' | 'after', before: State | undefined) {
    this.#isServiceDown = failed === 'me'
    this.#storage.down = failed === 'me' ? undefined : failed
    const error = (await this.store.save('retried').catch((thrown: unknown) => thrown)) as ConnectionNotSavedError
    this.#isServiceDown = false
    this.#storage.down = undefined
    const action = { do: 'retry', token: 'retried', of: 'retried', replaces: before?.login ?? 'none' } as const
    return { action, run: () => this.result(async () => nameIn(await error.retry())) }
  }

  /** The call has been sent with its token before the operations start. */
  async #prepareRefused(action: Action) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#held = promise
    const call = (await this.store.workspace(key)).conversations.list()
    call.catch(() => {})
    await setImmediate()
    const refuse = async () => {
      resolve()
      if (this.#world.scenario.sabotage !== 'ignores token') return this.result(() => call)
      await this.store.remove(key)
      return '401 told'
    }
    return { action, run: refuse }
  }

  /** Returns the result of an operation, also if it rejects, as the model writes it. */
  async result(run: () => PromiseLike<unknown>): Promise<string> {
    try {
      return String(await run())
    } catch (thrown) {
      const { name, reason, cause } = thrown as ConnectionStoreError
      const told = this.#told.splice(0).map(() => 'told')
      // With a cause and without `onRevoked`, the storage failed before the connection was removed.
      if (name === 'AuthenticationError' && (cause === undefined || told.length > 0)) return ['401', ...told].join(' ')
      if (reason === 'not_connected') return reason
      throw thrown
    }
  }
}
