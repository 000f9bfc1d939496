import { SupportWorkspace, SupportWorkspaceError } from 'support-workspace-sdk'
import { type Change, ChangeFeed, type ChangeFeedOptions, type FeedProblem } from 'support-workspace-sdk/changes'
import { type KeyValueStorage, memoryStorage } from 'support-workspace-sdk/storage'
import { expect } from 'vitest'
import { SimulatedService, type Traits, textOf } from './simulated-service.ts'

/** What ends a process of the simulation. */
export class Crash extends SupportWorkspaceError {
  constructor() {
    super('The process crashed.', { hint: 'Start it again.', remedy: 'fix' })
  }
}

type ProcessOptions = Partial<ChangeFeedOptions> & { readonly accessToken?: () => string }

/** A process that runs a feed, and can crash at any call of the storage and any request. */
export class Process {
  isDead = false
  readonly feed: ChangeFeed
  readonly problems: FeedProblem[] = []
  /** Keys of the storage that were written. */
  readonly writes: string[] = []
  /** States that the feed has read and then gone on: `resource id text`. */
  readonly seen: string[] = []
  readonly #reading = new Map<string, string>()
  readonly #sightings: (readonly [item: string, text: string])[] = []
  /** Conversations that the pass has read. It leaves out what comes twice, because it has moved. */
  readonly #inPass = new Set<string>()

  constructor(
    service: SimulatedService,
    storage: KeyValueStorage,
    options: ProcessOptions = {},
    crashes: () => boolean = () => false,
  ) {
    const step = async <Value>(run: () => Value | Promise<Value>): Promise<Value> => {
      const die = () => {
        if (this.isDead || crashes()) {
          this.isDead = true
          throw new Crash()
        }
      }
      die()
      const value = await run()
      die()
      return value
    }
    const { accessToken = 'swot_feed', ...rest } = options
    const workspace = new SupportWorkspace({
      ...{ baseUrl: 'https://service.example', accessToken, maxRetries: 0, fetch: service.fetch },
      ...{ timeout: Number.POSITIVE_INFINITY, totalTimeout: Number.POSITIVE_INFINITY },
      middleware: async (call, next) => {
        const { operation, parameters, query } = call
        this.#keepSightings()
        const reply = await step(() => next(call))
        const resource = operation.id.replace('.list', '')
        // A reading that has failed after its first page counts for nothing.
        if (resource !== 'messages' || !query.after) this.#reading.clear()
        const items = Array.isArray(reply.data) ? (reply.data as { id: string }[]) : []
        for (const item of items.filter((each) => each?.id)) this.#reading.set(`${resource} ${item.id}`, textOf(item))
        const isWhole = resource === 'conversations' || (reply.cursors.after === null && query.limit !== 1)
        if (isWhole && parameters !== undefined) this.#sightings.push(...this.#reading)
        if (isWhole) this.#reading.clear()
        return reply
      },
    })
    this.feed = new ChangeFeed({
      ...{ workspace, since: 'beginning', auditEvery: 1, interval: 1000, limit: 4 },
      onProblem: (problem) => void this.problems.push(problem),
      ...rest,
      storage: {
        get: (key) => step(() => storage.get(key)),
        compareAndSet: (key, expected, value) =>
          step(() => {
            const isEnd = key.endsWith(':progress') && expected !== null
            if (isEnd) this.#keepSightings()
            if (isEnd) this.#inPass.clear()
            this.writes.push(key)
            return storage.compareAndSet(key, expected, value)
          }),
        list: (prefix) => storage.list(prefix),
      },
    })
  }

  /** The feed has made its next step, so it has stored what it read before. */
  #keepSightings(): void {
    for (const [item, text] of this.#sightings.splice(0)) {
      if (item.startsWith('conversations') && this.#inPass.has(item)) continue
      this.#inPass.add(item)
      this.seen.push(`${item} ${text}`)
    }
  }

  /** Returns what the feed reports, as `resource kind id`. */
  async read(): Promise<string[]> {
    const changes: string[] = []
    for await (const { resource, kind, id } of this.feed) changes.push(`${resource} ${kind} ${id}`)
    return changes
  }
}

/** What a program has got. */
export class Log {
  /** States that were reported, as `resource id text`. */
  readonly reported = new Set<string>()
  readonly yielded = new Map<string, string>()
  readonly acknowledged = new Set<string>()
  readonly replica = new Map<string, string>()
  repeated = 0

  take(change: Change): void {
    const { resource, id, kind, key } = change
    const text = change.kind === 'deleted' ? kind : textOf(change.value)
    if (this.yielded.has(key)) {
      expect(this.yielded.get(key)).toBe(`${kind} ${text}`)
      this.repeated += 1
      return
    }
    this.yielded.set(key, `${kind} ${text}`)
    const item = `${resource} ${id}`
    this.reported.add(`${item} ${text}`)
    expect(this.replica.has(item), `${kind} ${item}`).toBe(kind !== 'created')
    if (change.kind === 'deleted') this.replica.delete(item)
    else this.replica.set(item, text)
  }
}

/** Expects that a copy that was kept by the changes equals the service. */
export function expectReplica(log: Log, service: SimulatedService): void {
  const now = new Map<string, string>()
  for (const [id, { entry, messages }] of service.conversations) {
    now.set(`conversations ${id}`, textOf(entry))
    for (const message of messages.values()) now.set(`messages ${message.id}`, textOf(message))
  }
  expect(new Map([...log.replica].sort())).toEqual(new Map([...now].sort()))
}

/** Passes that follow each other so slowly that a second reading of messages comes in the next one. */
export const slow = { interval: 4000, auditEvery: Number.POSITIVE_INFINITY } as const

/** Returns a service, a storage that first passes have filled, and processes that go on with one slow pass by default. */
export async function filled(traits: Partial<Traits> = {}, options: Partial<ChangeFeedOptions> = {}) {
  const service = new SimulatedService(traits)
  const ids = [...service.conversations.keys()]
  const storage = memoryStorage()
  const start = (options: ProcessOptions = {}) => new Process(service, storage, { ...slow, passes: 1, ...options })
  await start({ passes: 3, auditEvery: 1, ...options }).read()
  return {
    service,
    storage,
    ids,
    first: ids[0] as string,
    start,
    read: async (options?: ProcessOptions) => start(options).read(),
  }
}
