import { setImmediate } from 'node:timers/promises'
import { SupportWorkspace } from 'support-workspace-sdk'
import { WriteJournal } from 'support-workspace-sdk/journal'
import type { KeyValueStorage } from 'support-workspace-sdk/storage'
import { vi } from 'vitest'
import { mapStorage } from '../../test/connections/helpers/storages.ts'
import { brokenConnection, json, page, refusal, refusedConnection } from '../../test/helpers/client.ts'
import { decoded } from '../../test/journal/helpers.ts'

/** Which keys are written, each in how many processes. All have the same text in the same place. */
export interface Scenario {
  readonly keys: readonly string[]
  readonly processes: number
  /** Whether the write of `sending` is not waited for. */
  readonly isHasty?: boolean
  /** Whether a write that is confirmed as absent is sent again. No effect comes late then, so that this is safe. */
  readonly resends?: boolean
}

export interface Counts {
  orders: number
  applied: number
  unconfirmed: number
  kills: number
  /** Writes that one `once` has sent, confirmed as absent and sent again. */
  resent: number
}

interface Step {
  readonly process: Process | undefined
  readonly proceed: () => void
}

interface Effect {
  readonly id: string
  readonly key: string
  readonly at: number
}

/**
 * Runs every process in a random order of its storage calls, requests, effects and waits. Some processes are killed, and some
 * are stopped for a while. In the end a new process asks for each key.
 *
 * @throws Error if a write was applied twice, or a process says of one what is not true
 */
export async function runOrder(scenario: Scenario, random: () => number, counts: Counts): Promise<void> {
  const world = new World(scenario, random)
  const started = scenario.keys.flatMap((key) =>
    Array.from({ length: scenario.processes }, () => new Process(world, key)),
  )
  await world.run(started, counts)
  const last = scenario.keys.map((key) => new Process(world, key))
  world.isCalm = true
  await world.run(last, counts)
  await world.finish()
  for (const { key, result } of [...started, ...last]) {
    const effects = world.effects.filter((effect) => effect.key === key)
    if (effects.length > 1) throw new Error(`${key} was applied ${effects.length} times.`)
    if (result === undefined || result instanceof Error) continue
    if (!effects.some(({ id }) => id === result.id))
      throw new Error(`${key} is not ${result.id}, but ${effects[0]?.id}.`)
  }
  counts.orders += 1
  counts.resent += [...started, ...last].filter(({ posts, wasLost }) => wasLost && posts > 1).length
  for (const { result } of last) counts[result instanceof Error ? 'unconfirmed' : 'applied'] += 1
}

/** A service, a storage, and everything that waits for its turn. */
class World {
  readonly scenario: Scenario
  readonly random: () => number
  readonly effects: Effect[] = []
  readonly items = new Map<string, string>()
  /** Whether nobody is killed and nothing fails any more. */
  isCalm = false
  #waiting: Step[] = []

  constructor(scenario: Scenario, random: () => number) {
    this.scenario = scenario
    this.random = random
  }

  chance(probability: number): boolean {
    return this.random() < probability
  }

  oneOf<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(items.length * this.random())]
  }

  /** Waits for a turn. The effects of requests have no process: they come whether it lives or not. */
  step(process?: Process): Promise<void> {
    return new Promise((proceed) => this.#waiting.push({ process, proceed }))
  }

  async run(processes: readonly Process[], counts: Counts): Promise<void> {
    for (let turns = 0; processes.some(({ isRunning }) => isRunning); turns += 1) {
      if (turns > 3_000) throw new Error('The order does not end.')
      await setImmediate()
      const live = processes.filter(({ isRunning }) => isRunning)
      if (!this.isCalm && this.chance(0.02)) {
        this.oneOf(live)?.kill()
        counts.kills += 1
      } else if (!this.isCalm && this.chance(0.05)) {
        const stopped = this.oneOf(live)
        if (stopped !== undefined) stopped.isStopped = !stopped.isStopped
      } else {
        const ready = this.#waiting.filter(
          ({ process }) => process === undefined || (!process.isKilled && !process.isStopped),
        )
        const step = this.chance(0.1) ? undefined : this.oneOf(ready)
        if (step === undefined) {
          for (const process of live) process.isStopped &&= this.chance(0.5)
          vi.advanceTimersToNextTimer()
        } else {
          this.#waiting = this.#waiting.filter((other) => other !== step)
          step.proceed()
        }
      }
    }
  }

  /** Lets everything arrive that is on its way. */
  async finish(): Promise<void> {
    while (this.#waiting.length > 0) {
      for (const { process, proceed } of this.#waiting.splice(0)) if (!process?.isKilled) proceed()
      await setImmediate()
    }
    vi.clearAllTimers()
  }

  apply(key: string): Effect {
    const effect = { id: `m${this.effects.length}`, key, at: Date.now() }
    this.effects.push(effect)
    return effect
  }
}

/** A process that asks for one key. */
class Process {
  readonly key: string
  isRunning = true
  isKilled = false
  isStopped = false
  posts = 0
  /** Whether the outcome of an attempt before the last is unknown. */
  wasLost = false
  result: { readonly id?: string | undefined } | Error | undefined
  readonly #world: World
  #isLost = false

  constructor(world: World, key: string) {
    this.#world = world
    this.key = key
    const fetch = (url: string, init: RequestInit) => this.#fetch(url, init)
    const workspace = new SupportWorkspace({
      baseUrl: 'https://service.example',
      accessToken: 'swot_token',
      actor: 'self',
      validation: 'off',
      fetch: fetch as typeof globalThis.fetch,
    })
    const journal = new WriteJournal({ workspace, storage: this.#storage() })
    journal
      .once(key, (client) => client.messages.create('c', { body_html: '<p>On it.</p>' }), {
        resendIfAbsent: world.scenario.resends,
        before: world.scenario.resends ? () => world.step(this) : undefined,
      })
      .then(
        (result) => this.#end(result),
        (error: Error) => this.#end(error),
      )
  }

  /** Whatever it still waits for never comes. */
  kill(): void {
    this.isKilled = true
    this.isRunning = false
  }

  #end(result: { readonly id?: string | undefined } | Error): void {
    if (!this.isRunning) return
    this.result = result
    this.isRunning = false
  }

  #storage(): KeyValueStorage {
    const { items, scenario } = this.#world
    const memory = mapStorage(items)
    return {
      get: async (key) => {
        await this.#world.step(this)
        return memory.get(key)
      },
      compareAndSet: async (key, expected, value) => {
        const isHasty = scenario.isHasty === true && value != null && decoded(value).state === 'sending'
        const written = this.#world.step(this).then(() => memory.compareAndSet(key, expected, value))
        return isHasty ? true : written
      },
      list: async function* (this: Process) {
        await this.#world.step(this)
        yield* memory.list()
      }.bind(this),
    }
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    const world = this.#world
    await world.step(this)
    if (url.endsWith('/me')) return json({ organization: { id: 'o' }, user: { id: 'u' }, actor: 'self' })
    if (init.method === 'GET') {
      const messages = world.effects.map(({ id, at }) => ({
        id,
        body_html: 'On it.',
        user: { id: 'u' },
        inserted_at: at / 1000,
      }))
      await world.step(this)
      return json(page(messages))
    }
    // `fetch` sends nothing after its signal has aborted.
    init.signal?.throwIfAborted()
    const fate = world.isCalm ? 0.9 : world.random()
    this.wasLost ||= this.posts > 0 && this.#isLost
    this.posts += 1
    this.#isLost = fate >= 0.2 && fate < 0.7
    if (fate < 0.1) throw refusedConnection()
    if (fate < 0.2) return refusal(429, 'slow_down', { 'retry-after': '1' })
    if (fate < 0.3) return refusal(503, 'down')
    if (fate < 0.35) throw brokenConnection()
    const isPrompt = world.scenario.resends === true
    const applied = (isPrompt ? Promise.resolve() : world.step()).then(() => world.apply(this.key))
    if (fate < 0.45) return refusal(503, 'down')
    if (fate < 0.55) throw brokenConnection()
    const { id } = await applied
    await world.step(this)
    if (fate < 0.7) throw brokenConnection()
    return json({ data: { id, body_html: 'On it.' } }, 201)
  }
}
