import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { RateLimitError, RequestError, SupportWorkspace } from 'support-workspace-sdk'
import { type Fault, type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CountingSignal, countingSignal } from '../../test/helpers/counting-signal.ts'
import { Random } from '../../test/helpers/random.ts'
import { turns } from '../../test/helpers/turns.ts'
import { isFull } from '../is-full.ts'

const seconds = isFull ? 600 : 5
const loopsPerClient = 6

/** The faults of about every second request. The latency exceeds the timeouts of two clients. */
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
const onUnhandled = (reason: unknown) => unhandled.push(reason)

beforeEach(() => {
  const random = new Random(7)
  // The backoff is multiplied by this, so that it lasts a few ms and the time goes into calls.
  // Not a spy, because a spy records its calls and grows.
  Math.random = () => random.next() / 50
  process.on('unhandledRejection', onUnhandled)
})

afterEach(() => {
  process.off('unhandledRejection', onUnhandled)
  Math.random = platformRandom
})

test(
  `${seconds} s of mixed calls under random faults duplicate, lose and leak nothing`,
  async () => {
    // Modules and caches that load on first use are not leaks.
    await soak(1_000, 1)
    await quiet({ TCPSocketWrap: 0, TCPServerWrap: 0, Timeout: 0 })
    const before = { heap: await heapInUse(), ...resources() }
    const figures = await soak(seconds * 1_000, 2)
    const after = await quiet(before)
    const heapGrowth = (await heapInUse()) - before.heap
    console.log(`soak: ${JSON.stringify({ ...figures, unhandled: unhandled.length, heapGrowth, before, after })}`)
    expect(figures).toMatchObject({ doubled: 0, lost: 0, untrue: 0, wrongLists: 0, listenersLeft: 0 })
    expect(figures.calls).toBeGreaterThan(100)
    // A busy machine makes the calls of two clients late.
    expect(figures.succeeded).toBeGreaterThan(10)
    expect(figures.faults).toBeGreaterThan(50)
    expect(unhandled).toEqual([])
    expect(after.TCPSocketWrap).toBeLessThanOrEqual(before.TCPSocketWrap)
    expect(after.TCPServerWrap).toBeLessThanOrEqual(before.TCPServerWrap)
    expect(after.Timeout).toBeLessThanOrEqual(before.Timeout)
    // Garbage collection and compilation move the heap by a few MB; over a long run this is less than 500 bytes per call.
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
  /** The outcome of each create, by its text. */
  readonly outcomes: Map<string, string>
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
    outcomes: new Map(),
    figures: { calls: 0, succeeded: 0, failed: 0, aborted: 0, wrongLists: 0 },
  }
  const clients = [{}, { maxRetries: 0 }, { timeout: 30, maxRetries: 4 }, { totalTimeout: 40 }].map(
    (options) =>
      new SupportWorkspace({
        baseUrl: sandbox.url,
        accessToken: sandbox.issueToken({ actor: 'self' }),
        actor: 'self',
        hooks: { onAttemptStart: () => void sent++ },
        ...options,
      }),
  )
  let injected = 0
  let sent = 0
  const end = performance.now() + duration
  const loop = async (client: SupportWorkspace<'self'>) => {
    while (performance.now() < end) {
      // A few pending faults are enough, and one for two requests. With more, every request would hit one.
      if (injected <= sent / 2 && sandbox.faults.pending < loopsPerClient) {
        sandbox.faults.add({ ...run.random.pick(faults), path: /^\/api\/oauth\/v1\// })
        injected += 1
      }
      await oneCall(run, client)
    }
  }
  await Promise.all(clients.flatMap((client) => Array.from({ length: loopsPerClient }, () => loop(client))))
  injected -= sandbox.faults.pending
  // A page that was loaded ahead is aborted when its loop is left, which takes a few turns.
  for (let count = 0; count < 1_000 && shared.listeners > 0; count += 1) await turns(1)
  return {
    ...run.figures,
    sent,
    faults: injected,
    ...countEffects(run),
    listenersLeft: shared.listeners,
    mostListeners: shared.most,
  }
}

/** Makes a random call. About one in ten is aborted in flight. */
async function oneCall(run: Run, client: SupportWorkspace<'self'>): Promise<void> {
  const { random, figures, conversationId, contactIds, outcomes, shared } = run
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
  if (aborts) void abortAfter(random.next() * 20, controller)
  try {
    await work[kind]()
    figures.succeeded += 1
    if (kind === 'create') outcomes.set(text, 'succeeded')
  } catch (error) {
    if (error === controller) figures.aborted += 1
    else if (error instanceof RequestError) figures.failed += 1
    else throw error
    // A client that does not wait after a 429 rejects at once: wait here, or the loop would only count rejections.
    if (error instanceof RateLimitError && error.outcome === 'not-sent') await setTimeout(2)
    if (kind === 'create') outcomes.set(text, error instanceof RequestError ? error.outcome : 'unknown')
  }
}

async function abortAfter(count: number, controller: AbortController): Promise<void> {
  await turns(count)
  controller.abort(controller)
}

/** Compares the outcomes of the creates with the messages in the sandbox. */
function countEffects({ sandbox, conversationId, outcomes }: Run) {
  const effects = new Map<string, number>()
  for (const { body_html } of sandbox.state.messages(conversationId)) {
    effects.set(String(body_html), (effects.get(String(body_html)) ?? 0) + 1)
  }
  const counts = { creates: outcomes.size, doubled: 0, lost: 0, untrue: 0 }
  for (const [text, outcome] of outcomes) {
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

/** Returns the resources once they are down to the given numbers, or after a long wait. */
async function quiet(least: ReturnType<typeof resources>): Promise<ReturnType<typeof resources>> {
  let now = resources()
  // Only a leak lasts for so long. A busy machine takes a while to close what is open.
  for (const end = Date.now() + 30_000; Date.now() < end && watched.some((name) => now[name] > least[name]); ) {
    await turns(1)
    now = resources()
  }
  return now
}

/** Returns the heap size after full garbage collections, with turns in between for finalizers to run. */
async function heapInUse(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let round = 0; round < 4; round += 1) {
    collect()
    await turns(1)
  }
  return process.memoryUsage().heapUsed
}
