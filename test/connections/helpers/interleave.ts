import { setImmediate } from 'node:timers/promises'
import type { ConnectionStorage } from '../../../src/oauth.ts'
import { settled } from '../../helpers/settled.ts'
import { type Method, mapStorage } from './storages.ts'

/** A storage whose operations take effect one by one, in the order of a schedule. */
export interface SteppedStorage {
  readonly items: Map<string, string>
  /** Whether operations wait for the schedule. Off before the actors start and after they end. */
  stepping: boolean
  /** Returns the storage for one of the actors. */
  readonly as: (actor: string) => ConnectionStorage
}

export interface Scenario {
  /** The concurrent actors. Each has its own stores, as processes do. */
  readonly actors: Readonly<Record<string, () => Promise<unknown>>>
  /** Checks the outcome. */
  readonly check: () => Promise<void> | void
}

/**
 * Runs a scenario in every possible order of the storage operations of its actors, and checks each outcome. Nothing but
 * the storage may take time.
 *
 * @returns the number of orders
 */
export async function everyInterleaving(prepare: (storage: SteppedStorage) => Promise<Scenario>): Promise<number> {
  let schedules = 0
  const open: number[][] = [[]]
  for (let schedule = open.pop(); schedule !== undefined; schedule = open.pop()) {
    const { width, taken, trace } = await run(prepare, schedule)
    for (let depth = taken.length - 1; depth >= schedule.length; depth -= 1) {
      for (let choice = 1; choice < (width[depth] ?? 0); choice += 1) open.push([...taken.slice(0, depth), choice])
    }
    schedules += 1
    if (schedules > 100_000) throw new Error(`There are too many orders to try, for example:\n${trace.join('\n')}`)
  }
  return schedules
}

/**
 * Runs a scenario in random orders, if there are too many to run all.
 *
 * @param count the number of orders to run
 */
export async function someInterleavings(
  count: number,
  prepare: (storage: SteppedStorage) => Promise<Scenario>,
): Promise<void> {
  // A fixed seed, so that failures are reproducible.
  let seed = 1
  const random = () => {
    seed = (Math.imul(seed, 48271) >>> 0) % 2147483647
    return seed
  }
  for (let round = 0; round < count; round += 1) {
    await run(
      prepare,
      Array.from({ length: 60 }, () => random()),
    )
  }
}

interface Waiting {
  readonly name: string
  readonly proceed: () => void
}

/** Runs one order. After the end of the schedule, the first waiting operation continues. */
async function run(prepare: (storage: SteppedStorage) => Promise<Scenario>, schedule: readonly number[]) {
  const waiting: Waiting[] = []
  const width: number[] = []
  const taken: number[] = []
  const trace: string[] = []
  const storage = steppedStorage(waiting)
  const { actors, check } = await prepare(storage)
  storage.stepping = true
  const outcomes = Promise.allSettled(Object.values(actors).map((actor) => actor()))
  // After an immediate every promise that can settle has settled, so the actors wait for the storage or are done.
  for (await setImmediate(); waiting.length > 0; await setImmediate()) {
    const choice = (schedule[taken.length] ?? 0) % waiting.length
    width.push(waiting.length)
    taken.push(choice)
    const [next] = waiting.splice(choice, 1)
    if (next === undefined) throw new Error('The scenario does not run the same way twice.')
    trace.push(next.name)
    next.proceed()
  }
  try {
    storage.stepping = false
    for (const outcome of await settled(outcomes)) if (outcome.status === 'rejected') throw outcome.reason
    await check()
  } catch (error) {
    throw new Error(`It went wrong in this order:\n${trace.join('\n')}`, { cause: error })
  }
  return { width, taken, trace }
}

function steppedStorage(waiting: Waiting[]): SteppedStorage {
  const storage = mapStorage()
  const stepped: SteppedStorage = {
    items: storage.items,
    stepping: false,
    as: (actor) => {
      const step = <Value>(method: Method, key: string, operate: () => Value): Value | Promise<Value> =>
        stepped.stepping
          ? new Promise((resolve) => {
              const name = `${actor}: ${method} ${key.replace(/^.*:/, '')}`
              waiting.push({ name, proceed: () => resolve(operate()) })
            })
          : operate()
      return {
        getItem: (key) => step('getItem', key, () => storage.getItem(key)),
        setItem: (key, value) => step('setItem', key, () => storage.setItem(key, value)),
        removeItem: (key) => step('removeItem', key, () => storage.removeItem(key)),
        getKeys: (base) => step('getKeys', base ?? '', () => storage.getKeys()),
      }
    },
  }
  return stepped
}
