import type { ChangeFeedOptions } from 'support-workspace-sdk/changes'
import { memoryStorage } from 'support-workspace-sdk/storage'
import { describe, expect, test } from 'vitest'
import { Random } from '../helpers/random.ts'
import { expectReplica, Log, Process } from './helpers.ts'
import { cursors, orders, respond, SimulatedService, type Traits, textOf } from './simulated-service.ts'
import { simulateTime } from './simulated-time.ts'

const clock = simulateTime()

/** `npm run proofs` runs many more. */
const seeds = Number(process.env.FEED_SEEDS ?? 5)

const timeout = 60_000 + seeds * 1000

/** A service and a feed that live together for a while. */
interface World {
  readonly traits?: Partial<Traits>
  readonly options?: Partial<ChangeFeedOptions>
  /** Kinds of random changes. */
  readonly kinds?: readonly string[]
  /** Prepares the service. */
  readonly prepare?: (service: SimulatedService, random: Random) => void
  readonly accessToken?: (random: Random) => () => string
  /** Whether deletions can be held back in the end. */
  readonly holdsDeletions?: boolean
}

async function live(world: World) {
  const sums = { states: 0, changes: 0, repeated: 0, crashes: 0 }
  const ends: { readonly service: SimulatedService; readonly log: Log; readonly seed: number }[] = []
  for (let seed = 1; seed <= seeds; seed += 1) {
    const random = new Random(seed * 7919)
    const conversations = 1 + Math.floor(random.next() * 6)
    const service = new SimulatedService({ seed, rejects: 0.02, fails: 0.02, conversations, ...world.traits })
    world.prepare?.(service, random)
    const storage = memoryStorage()
    const log = new Log()
    const seen: string[] = []
    service.onRequest = () => {
      clock.now += Math.floor(random.next() * 1500)
      if (random.next() < 0.25) service.change(world.kinds)
    }
    const limit = 2 + Math.floor(random.next() * 4)
    const rounds = 5
    for (let round = 0; round <= rounds; round += 1) {
      // In the end, nothing changes any more.
      const isLast = round === rounds
      if (isLast) service.calm()
      const rate = isLast ? 0 : 0.02
      const passes = isLast ? { interval: 4000, passes: 6 } : { interval: 1000, passes: 2 }
      const accessToken = world.accessToken?.(random)
      const options = { ...world.options, ...passes, limit, ...(accessToken && { accessToken }) }
      const run = new Process(service, storage, options, () => random.next() < rate)
      try {
        for await (const change of run.feed) {
          if (change.kind === 'deleted') expect(service.has(change), 'a false deletion').toBe(false)
          log.take(change)
          if (random.next() < 0.03 && !isLast) throw new RangeError('The handler failed.')
          log.acknowledged.add(change.key)
        }
      } catch (error) {
        if (!(error instanceof RangeError) && !run.isDead) throw error
        sums.crashes += 1
      }
      seen.push(...run.seen)
    }
    expect(new Set(log.yielded.keys())).toEqual(log.acknowledged)
    for (const state of seen) expect(log.reported, `seed ${seed}`).toContain(state)
    ends.push({ service, log, seed })
    sums.states += seen.length
    sums.changes += log.yielded.size
    sums.repeated += log.repeated
  }
  expect(sums.crashes).toBeGreaterThan(seeds)
  expect(sums.states).toBeGreaterThan(seeds * 20)
  return { sums, ends }
}

const all = { deletions: ['messages'], maxDeletions: 1000 } as const
const kinds = orders.flatMap((order) => cursors.map((cursor) => [order, cursor] as const))

describe.each(kinds)('a list in the order "%s" with %s cursors', (order, cursor) => {
  test('loses no state, invents no deletion, and repeats unacknowledged changes after crashes', {
    timeout,
  }, async () => {
    const { sums, ends } = await live({ traits: { order, cursors: cursor }, options: all })
    for (const { log, service } of ends) expectReplica(log, service)
    console.log(`${order}, ${cursor}: ${JSON.stringify(sums)}`)
  })
})

const steady = ['arrive', 'arrive', 'new', 'edit', 'edit message', 'remove']
const nothing = () => respond({ data: [], page_metadata: { after: null, before: null } })

const isHidden = ({ hidden, conversations }: SimulatedService, path: string) =>
  [...hidden].some((id) => conversations.has(id) && path.includes(id))

const strange: readonly (readonly [title: string, world: World])[] = [
  ['shows the newest five messages', { traits: { newest: 5, messages: 4, order: 'activity' }, kinds: steady }],
  ['rejects most cursors', { traits: { rejects: 0.5, cursors: 'offset' } }],
  ['fails at each eighth request', { traits: { fails: 0.125 } }],
  ['hides conversations and shows them again', { kinds: [...steady, 'hide', 'hide'], options: { maxDeletions: 1000 } }],
  [
    'answers 200 without messages for hidden conversations',
    {
      kinds: [...steady, 'hide', 'hide'],
      options: { maxDeletions: 1000 },
      prepare(service) {
        service.answer = (path) => (isHidden(service, path) ? nothing() : undefined)
      },
    },
  ],
  [
    'answers 403 for what a role does not see, which changes for half of it at once',
    {
      traits: { conversations: 12 },
      kinds: steady,
      holdsDeletions: true,
      prepare(service, random) {
        let left = 20
        service.answer = (path) => {
          // The role stays in the end.
          if (service.onRequest !== undefined) left -= 1
          if (left === 0) {
            left = 20 + Math.floor(random.next() * 20)
            for (const id of [...service.conversations.keys()].filter((_, index) => index % 2 === 0)) {
              service.hidden[service.hidden.has(id) ? 'delete' : 'add'](id)
            }
          }
          return isHidden(service, path) ? respond({ error: 'forbidden', error_description: 'No.' }, 403) : undefined
        }
      },
    },
  ],
  [
    'sometimes lists entries without an id, and entries twice',
    {
      options: { maxDeletions: 1000 },
      prepare(service, random) {
        const { fetch } = service
        const odd: typeof fetch = async (url, init) => {
          const response = await fetch(url, init)
          const isOdd = service.onRequest !== undefined && random.next() < 0.3
          if (!isOdd || response.status !== 200 || !url.includes('/conversations?')) return response
          const { data, ...rest } = await response.json()
          return respond({ data: [null, ...data, ...data.slice(0, 1), {}], ...rest })
        }
        Object.assign(service, { fetch: odd })
      },
    },
  ],
  [
    'gives out another token for the same organization again and again',
    { accessToken: (random) => () => `swot_${Math.floor(random.next() * 3)}` },
  ],
]

test.each(strange)(
  'a service that %s loses no state that is read, and invents no deletion',
  {
    timeout,
  },
  async (title, world) => {
    const { sums, ends } = await live(world)
    for (const { service, log, seed } of ends) {
      for (const [id, { entry }] of service.conversations) {
        const key = `conversations ${id}`
        const isShown = !service.hidden.has(id)
        if (isShown) expect(log.replica.get(key), `seed ${seed}`).toBe(textOf(entry))
      }
      // What is removed for good is reported, as far as the conversation was known.
      const gone = [...log.replica.keys()].filter((key) => key.startsWith('conversations'))
      for (const key of world.holdsDeletions ? [] : gone)
        expect(service.conversations.has(key.slice('conversations '.length)), key).toBe(true)
    }
    console.log(`${title}: ${JSON.stringify(sums)}`)
  },
)
