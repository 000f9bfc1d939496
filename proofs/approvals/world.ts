// A service and a storage in memory, and actors that stop before each of their steps: a call of the storage or a
// request. No timer runs, so thousands of orders take seconds.

import { setImmediate } from 'node:timers/promises'
import { SupportWorkspace } from 'support-workspace-sdk'
import { Approvals, type Proposal, type SendResult } from 'support-workspace-sdk/approvals'
import { WriteJournal } from 'support-workspace-sdk/journal'
import { type KeyValueStorage, memoryStorage } from 'support-workspace-sdk/storage'

/** What an actor does, one after the other. */
export type Act = (world: World, actor: Actor) => unknown

/** A task that stops before each of its steps until it may go on. */
export class Actor {
  readonly name: string
  readonly approvals: Approvals
  /** A write journal on the same storage. */
  readonly journal: WriteJournal<'self'>
  isOver = false
  isKilled = false
  /** What the actor waits for. Undefined while it runs. */
  step: string | undefined
  #proceed: (() => void) | undefined

  constructor(world: World, name: string, acts: readonly Act[], person = 'may_token') {
    this.name = name
    const options = world.optionsOf(this, person)
    this.approvals = new Approvals(options)
    this.journal = new WriteJournal(options)
    const run = async () => {
      for (const act of acts) {
        if (world.stops(this, 'act')) await this.stop('act')
        // What an actor is told, such as that somebody was faster, is no failure.
        await Promise.resolve(act(world, this)).catch((thrown: unknown) => world.errors.push(thrown))
      }
    }
    void run().finally(() => {
      this.isOver = true
    })
  }

  stop(step: string): Promise<void> {
    return new Promise((proceed) => {
      this.step = step
      this.#proceed = proceed
    })
  }

  /** Runs up to the next step. */
  async go(): Promise<void> {
    const proceed = this.#proceed
    this.step = undefined
    this.#proceed = undefined
    proceed?.()
    await this.settle()
  }

  async settle(): Promise<void> {
    // A database is slow on a busy machine.
    for (const until = performance.now() + 60_000; !this.isOver && this.step === undefined; ) {
      if (performance.now() > until) throw new Error(`${this.name} neither stops nor ends.`)
      await setImmediate()
    }
  }
}

interface Message {
  readonly id: string
  readonly body_html: string
  readonly user: { readonly id: string }
  readonly inserted_at: number
}

/** What became wrong, and what is counted. */
export interface Verdict {
  readonly wrong: readonly string[]
  readonly crossed: number
  readonly state: string
}

const persons: Readonly<Record<string, string>> = { may_token: 'may', tom_token: 'tom' }

export class World {
  readonly messages: Message[] = []
  readonly errors: unknown[] = []
  readonly results: SendResult[] = []
  readonly storage: KeyValueStorage
  /** Texts that a person has approved, with the digest, and whether the approval still holds. */
  readonly approved = new Set<string>()
  readonly wrong: string[] = []
  /** Milliseconds that were let pass. */
  now = Date.parse('2026-03-01')
  /** What the next POST meets. */
  faults: ('lost' | 'lost before' | 'refused' | 'limited')[] = []
  crossed = 0
  expiresAt = Number.POSITIVE_INFINITY
  /** Whether an actor stops before a step. */
  stops: (actor: Actor, step: string) => boolean = () => true
  isRejected = false
  posts = 0
  notes = 0
  #ids = 0
  /** When each actor began to look, in arrivals of foreign messages. */
  readonly #looks = new Map<Actor, number>()
  #foreign = 0
  known: ReadonlySet<string> = new Set()

  constructor(storage: KeyValueStorage = memoryStorage()) {
    this.storage = storage
    this.arrive('Where is my order?', 'customer')
    this.known = new Set(this.messages.map(({ id }) => id))
  }

  /** Somebody else writes. */
  arrive(text: string, user: string): void {
    this.#foreign += 1
    this.#add(text, user)
  }

  #add(body_html: string, id: string): Message {
    this.#ids += 1
    const message = { id: `m${this.#ids}`, body_html, user: { id }, inserted_at: Math.floor(this.now / 1000) }
    this.messages.unshift(message)
    return message
  }

  /** The options of what an actor uses. */
  optionsOf(
    actor: Actor,
    token: string,
  ): { readonly workspace: SupportWorkspace<'self'>; readonly storage: KeyValueStorage } {
    const around = async <Value>(name: string, run: () => Value | Promise<Value>): Promise<Value> => {
      if (this.stops(actor, name)) await actor.stop(name)
      // A killed process never comes back.
      if (actor.isKilled) await new Promise(() => {})
      return run()
    }
    const { storage } = this
    const workspace = new SupportWorkspace<'self'>({
      ...{ baseUrl: 'https://service.example', accessToken: token, actor: 'self', validation: 'off' },
      ...{ timeout: Number.POSITIVE_INFINITY, totalTimeout: Number.POSITIVE_INFINITY, maxRetries: 2 },
      fetch: (url, init) =>
        around(`${init.method} ${new URL(String(url)).pathname}`, () =>
          this.#answer(actor, String(url), init as RequestInit),
        ),
    })
    return {
      workspace,
      storage: {
        get: (key) => around(`get ${key}`, () => storage.get(key)),
        compareAndSet: (key, expected, value) =>
          around(`${expected === null ? 'add' : value === null ? 'remove' : 'set'} ${key}`, () =>
            storage.compareAndSet(key, expected, value),
          ),
        async *list(prefix) {
          await around(`list ${prefix}`, () => {})
          yield* storage.list(prefix)
        },
      },
    }
  }

  #answer(actor: Actor, url: string, init: RequestInit): Response {
    const token = String(new Headers(init.headers).get('authorization')).replace('Bearer ', '')
    const person = persons[token] ?? 'nobody'
    if (url.endsWith('/me')) {
      return json({ organization: { id: 'org' }, user: { id: person }, actor: 'self' })
    }
    if (init.method === 'GET') {
      this.#looks.set(actor, this.#foreign)
      return json({ data: this.messages, page_metadata: { after: null, before: null } })
    }
    if (url.endsWith('/notes')) {
      this.notes += 1
      return json({ data: { id: `n${this.notes}` } }, 201)
    }
    const fault = this.faults.shift()
    if (fault === 'limited') return json({ error: 'slow_down' }, 429)
    if (fault === 'refused') return json({ error: 'forbidden' }, 403)
    if (fault === 'lost before') return json({ error: 'down' }, 503)
    this.#judge(actor, person, String(init.body))
    const message = this.#add((JSON.parse(String(init.body)) as { body_html: string }).body_html, person)
    if (fault === 'lost') return json({ error: 'down' }, 503)
    return json({ data: message }, 201)
  }

  /** Judges a write at the moment when the service applies it. */
  #judge(actor: Actor, person: string, body: string): void {
    this.posts += 1
    if (this.posts > 1) this.wrong.push('doubled')
    if (person !== 'may') this.wrong.push('another person')
    if (!this.approved.has(body)) this.wrong.push(`unapproved: ${body}`)
    if (this.isRejected) this.wrong.push('rejected')
    if (this.now > this.expiresAt + 10_000) this.wrong.push('expired')
    const seen = this.#looks.get(actor)
    const others = this.messages.filter(({ id, user }) => user.id !== 'may' && !this.known.has(id)).length
    if (seen === undefined) this.wrong.push('not looked')
    else if (seen - this.known.size > 0) this.wrong.push('stale')
    else if (others > 0) this.crossed += 1
  }

  /** What holds in the end, once nobody disturbs any more. */
  async finish(): Promise<Verdict> {
    this.faults = []
    // What another process may still be sending is lost by then.
    this.now += 3_600_000
    let proposal: Proposal | undefined
    const last = new Actor(this, 'the last sender', [
      ...[send, send, send],
      async (_, { approvals }) => {
        proposal = await approvals.get('r')
      },
    ])
    await last.settle()
    while (!last.isOver) await last.go()
    const state = proposal?.state ?? 'none'
    const ours = this.messages.filter(({ user }) => user.id === 'may').length
    if (state === 'approved') this.wrong.push('lost')
    if (state === 'sent' && ours !== 1) this.wrong.push('said to be sent, but is not')
    if (state !== 'sent' && state !== 'sending' && ours > 0) this.wrong.push(`sent, but said to be ${state}`)
    if (state === 'sending' && ours > 0) this.wrong.push('is there, but was not found')
    if (state === 'stale' && this.#foreign === this.known.size) this.wrong.push('stale without a reason')
    const finals = this.results.filter((each) => ['sent', 'stale', 'refused', 'expired'].includes(each.state))
    if (finals.length > 1) this.wrong.push('reported twice')
    return { wrong: this.wrong, crossed: this.crossed, state }
  }
}

function json(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value), { status, headers: { 'content-type': 'application/json' } })
}

export const original = JSON.stringify({ body_html: 'On its way.' })
export const edited = JSON.stringify({ body_html: 'It arrives today.' })

const bodyOf = (text: string) => JSON.parse(text) as { body_html: string }

/** Proposes the original, or another text. */
export const propose =
  (text = original, options = {}): Act =>
  (_, { approvals }) =>
    approvals.propose('r', (client) => client.messages.create('c', bodyOf(text)), { basis: ['m1'], ...options })

/**
 * Approves what is there, as it is or edited. The text counts as approved, and no longer as rejected, from now on, unless
 * that fails.
 */
export const approve =
  (text?: string, by = 'ann'): Act =>
  async (world, { approvals }) => {
    const proposal = await approvals.get('r')
    if (proposal === undefined) return
    const body = text ?? JSON.stringify(proposal.body)
    const isNew = !world.approved.has(body)
    const { isRejected } = world
    world.approved.add(body)
    world.isRejected = false
    try {
      await approvals.approve('r', { digest: proposal.digest, by, ...(text && { body: bodyOf(text) }) })
    } catch (thrown) {
      world.isRejected = isRejected
      if (isNew) world.approved.delete(body)
      throw thrown
    }
  }

export const reject: Act = async (world, { approvals }) => {
  await approvals.reject('r', { by: 'bob' })
  world.isRejected = true
  world.approved.clear()
}

export const send: Act = async (world, { approvals }) => {
  for await (const result of approvals.send()) world.results.push(result)
}

export const forget: Act = (_, { approvals }) => approvals.forget('r')
export const forgetOld: Act = (_, { approvals }) => approvals.forget(3_600_000)
export const customer: Act = (world) => world.arrive('Forget it, cancel!', 'customer')
export const colleague: Act = (world) => world.arrive('Refunded.', 'tom')
export const passTime: Act = (world) => {
  world.now += 60_000
}
