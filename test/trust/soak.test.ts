import { setTimeout, setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { RateLimitError, RequestError, SupportWorkspace } from 'support-workspace-sdk'
import { type Fault, type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CountingSignal, countingSignal } from '../helpers/counting-signal.ts'
import { Random } from '../helpers/random.ts'

const seconds = Number(process.env.SOAK_SECONDS ?? 4)
const loopsPerClient = 6

/** What befalls about every second request. Latency is longer than the patience of one of the clients. */
const faults: readonly Fault[] = [
  { status: 429, retryAfter: 0 },
  { status: 429 },
  { status: 500 },
  { status: 500, effect: true },
  { status: 503, retryAfter: 0 },
  { status: 502, body: '<html>Bad gateway</html>', effect: true },
  { status: 401 },
  { status: 422 },
  { drop: 'before-effect' },
  { drop: 'after-effect' },
  { drop: 'mid-headers' },
  { drop: 'mid-body' },
  { truncate: true },
  { garbage: true },
  { drip: { bytes: 40, interval: 1 } },
  { latency: 60 },
]

const platformRandom = Math.random
const unhandled: unknown[] = []
const hear = (reason: unknown) => unhandled.push(reason)

beforeEach(() => {
  const random = new Random(7)
  // The backoff is jitter: this keeps it at a few ms, so that the time goes into calls.
  // Not a spy: it would keep what it was asked, and so grow.
  Math.random = () => random.next() / 50
  process.on('unhandledRejection', hear)
})

afterEach(() => {
  process.off('unhandledRejection', hear)
  Math.random = platformRandom
})

test(
  `${seconds} s of mixed calls under random faults double, lose and leak nothing`,
  async () => {
    // What is loaded and cached on first use is no leak.
    await soak(1_000, 1)
    await quiet({ TCPSocketWrap: 0, TCPServerWrap: 0, Timeout: 0 })
    const before = { heap: await heapInUse(), ...resources() }
    const figures = await soak(seconds * 1_000, 2)
    const after = await quiet(before)
    const heapGrowth = (await heapInUse()) - before.heap
    console.log(`soak: ${JSON.stringify({ ...figures, unhandled: unhandled.length, heapGrowth, before, after })}`)
    expect(figures).toMatchObject({ doubled: 0, lost: 0, untrue: 0, wrongLists: 0, listenersLeft: 0 })
    expect(figures.calls).toBeGreaterThan(100)
    expect(figures.succeeded).toBeGreaterThan(figures.calls / 10)
    expect(figures.faults).toBeGreaterThan(50)
    expect(unhandled).toEqual([])
    expect(after.TCPSocketWrap).toBeLessThanOrEqual(before.TCPSocketWrap)
    expect(after.TCPServerWrap).toBeLessThanOrEqual(before.TCPServerWrap)
    expect(after.Timeout).toBeLessThanOrEqual(before.Timeout)
    // Collections and compilation move the heap by some MB; in the long run this is less than 500 bytes a call.
    expect(heapGrowth).toBeLessThan(24_000_000)
  },
  seconds * 1_000 + 120_000,
)

interface Run {
  readonly sandbox: Sandbox
  readonly random: Random
  readonly shared: CountingSignal
  readonly conversationId: string
  readonly contactIds: readonly string[]
  /** What each create was told, by its text. */
  readonly told: Map<string, string>
  readonly figures: Record<'calls' | 'succeeded' | 'failed' | 'aborted' | 'wrongLists', number>
}

async function soak(duration: number, seed: number) {
  await using sandbox = await startSandbox({ contacts: 40, conversations: 2 })
  const shared = countingSignal()
  const run: Run = {
    sandbox,
    random: new Random(seed),
    shared,
    conversationId: sandbox.state.conversations[0]?.id ?? '',
    contactIds: sandbox.state.contacts.map(({ id }) => id),
    told: new Map(),
    figures: { calls: 0, succeeded: 0, failed: 0, aborted: 0, wrongLists: 0 },
  }
  const clients = [{}, { maxRetries: 0 }, { timeout: 30, maxRetries: 4 }, { totalTimeout: 40 }].map(
    (options) =>
      new SupportWorkspace({
        baseUrl: sandbox.url,
        accessToken: sandbox.issueToken({ actor: 'self' }),
        actor: 'self',
        ...options,
      }),
  )
  let injected = 0
  const end = performance.now() + duration
  const loop = async (client: SupportWorkspace<'self'>) => {
    while (performance.now() < end) {
      // Faults that nobody has met yet are enough: more would leave no call without one.
      if (run.random.next() < 0.5 && sandbox.faults.pending < loopsPerClient) {
        sandbox.faults.add({ ...run.random.pick(faults), path: /^\/api\/oauth\/v1\// })
        injected += 1
      }
      await oneCall(run, client)
    }
  }
  await Promise.all(clients.flatMap((client) => Array.from({ length: loopsPerClient }, () => loop(client))))
  injected -= sandbox.faults.pending
  return {
    ...run.figures,
    faults: injected,
    ...countEffects(run),
    listenersLeft: shared.listeners,
    mostListeners: shared.most,
  }
}

/** One call of some kind, about every tenth of them aborted on its way. */
async function oneCall(run: Run, client: SupportWorkspace<'self'>): Promise<void> {
  const { random, figures, conversationId, contactIds, told, shared } = run
  figures.calls += 1
  const controller = new AbortController()
  const aborts = random.next() < 0.1
  const signal = aborts ? controller.signal : shared.signal
  const text = `<p>${figures.calls}</p>`
  const kind = random.pick(['create', 'create', 'list', 'leave', 'me'] as const)
  const work = {
    create: () => client.messages.create(conversationId, { body_html: text }, { signal }),
    me: () => client.me({ signal }),
    async list() {
      const contacts = await client.contacts.list({ limit: 7 }, { signal }).toArray()
      if (contacts.map(({ id }) => id).join() !== contactIds.join()) figures.wrongLists += 1
    },
    async leave() {
      for await (const { id } of client.contacts.list({ limit: 7 }, { signal })) if (id === contactIds[17]) break
    },
  }
  if (aborts) void leaveAfter(random.next() * 20, controller)
  try {
    await work[kind]()
    figures.succeeded += 1
    if (kind === 'create') told.set(text, 'succeeded')
  } catch (error) {
    if (error === controller) figures.aborted += 1
    else if (error instanceof RequestError) figures.failed += 1
    else throw error
    // A caller that does not let the client wait waits by itself; it would only count refusals otherwise.
    if (error instanceof RateLimitError && error.outcome === 'not-sent') await setTimeout(2)
    if (kind === 'create') told.set(text, error instanceof RequestError ? error.outcome : 'unknown')
  }
}

async function leaveAfter(turns: number, controller: AbortController): Promise<void> {
  for (let count = 0; count < turns; count += 1) await turn()
  controller.abort(controller)
}

/** Holds what the calls were told against what the service did. */
function countEffects({ sandbox, conversationId, told }: Run) {
  const effects = new Map<string, number>()
  for (const { body_html } of sandbox.state.messages(conversationId)) {
    effects.set(String(body_html), (effects.get(String(body_html)) ?? 0) + 1)
  }
  const counts = { creates: told.size, doubled: 0, lost: 0, untrue: 0 }
  for (const [text, outcome] of told) {
    const count = effects.get(text) ?? 0
    if (count > 1) counts.doubled += 1
    if (outcome === 'succeeded' && count === 0) counts.lost += 1
    if ((outcome === 'refused' || outcome === 'not-sent') && count > 0) counts.untrue += 1
  }
  return counts
}

const watched = ['TCPSocketWrap', 'TCPServerWrap', 'Timeout'] as const

function resources(): Record<(typeof watched)[number], number> {
  const active = process.getActiveResourcesInfo()
  const count = (name: string) => active.filter((each) => each === name).length
  return { TCPSocketWrap: count('TCPSocketWrap'), TCPServerWrap: count('TCPServerWrap'), Timeout: count('Timeout') }
}

/** The resources once they are back at the given numbers, or after a long while of waiting for that. */
async function quiet(least: ReturnType<typeof resources>): Promise<ReturnType<typeof resources>> {
  let now = resources()
  for (let count = 0; count < 20_000 && watched.some((name) => now[name] > least[name]); count += 1) {
    await turn()
    now = resources()
  }
  return now
}

/** What is left in memory after full collections, with turns between for what is told of a collection to clean up. */
async function heapInUse(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let round = 0; round < 4; round += 1) {
    collect()
    await turn()
  }
  return process.memoryUsage().heapUsed
}
