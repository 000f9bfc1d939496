import type { Message, SupportWorkspace, TokenIdentities } from '../client/index.ts'
import { type ClientOptions, checkSignal } from '../core/index.ts'
import { isSupportWorkspaceError, RequestError, SupportWorkspaceError } from '../errors/index.ts'
import { UnconfirmedWriteError, WriteJournal } from '../journal/index.ts'
import { throwIfAborted } from '../shared/abort.ts'
import { type Check, checkInteger, readOptions } from '../shared/check-options.ts'
import { ApprovalsError, isDamage } from './approvals-error.ts'
import { isFinal, isIntact, isOver, type Proposal, type ProposalEntry, toProposal } from './proposal.ts'
import type { Records } from './records.ts'

/** The options of `send`. */
export interface SendOptions {
  /**
   * How many conversations are written to at the same time.
   *
   * @default 4
   */
  readonly concurrency?: number | undefined
  /** Ends the loop, and the waits of what is being sent. */
  readonly signal?: AbortSignal | undefined
}

/** What became of an approved proposal. */
export interface SendResult {
  /** The key of the proposal. */
  readonly key: string
  /** `unconfirmed` and `postponed` are not final: the next `send` goes on. */
  readonly state: 'sent' | 'stale' | 'expired' | 'refused' | 'unconfirmed' | 'postponed'
  /** The proposal as it is now. */
  readonly proposal: Proposal
  /** The error of `refused`, `unconfirmed` and `postponed`. */
  readonly error?: SupportWorkspaceError | undefined
}

const sendChecks = {
  concurrency: (name, value) => checkInteger(name, value, 1),
  signal: checkSignal,
} satisfies Record<keyof SendOptions, Check<unknown>>

/** Why the last look prevents a write. */
class Prevented extends Error {
  readonly state: 'stale' | 'expired' | 'postponed' | 'left'
  constructor(state: Prevented['state'], reason: string) {
    super(reason)
    this.state = state
  }
}

/** How long another process may be sending before its write counts as lost, in milliseconds. */
const longestSending = 150_000

/** Sends what was approved. */
export class Sender {
  readonly #workspace: SupportWorkspace
  readonly #records: Records
  readonly #identities: TokenIdentities
  readonly #ignore: ((message: Message) => boolean) | undefined
  readonly #logger: ClientOptions['logger']
  /** The keys that this process is sending. */
  readonly #underWay = new Set<string>()

  constructor(
    workspace: SupportWorkspace,
    records: Records,
    identities: TokenIdentities,
    ignore: ((message: Message) => boolean) | undefined,
    logger: ClientOptions['logger'],
  ) {
    // What was approved is sent as it is, so no middleware changes it.
    this.#workspace = workspace.replaceOptions(() => ({ middleware: [] }))
    this.#records = records
    this.#identities = identities
    this.#ignore = ignore
    this.#logger = logger
  }

  async *send(options: SendOptions): AsyncGenerator<SendResult, void, undefined> {
    const { concurrency = 4, signal } = readOptions(options, sendChecks, '`send`')
    throwIfAborted(signal)
    let failure: { readonly thrown: unknown } | undefined
    // Of a damaged entry, which must not hold up the others.
    let damage: typeof failure
    const noteDamage = (thrown: unknown) => {
      damage ??= { thrown }
    }
    const groups = await this.#due(noteDamage)
    const results: SendResult[] = []
    let wake = () => {}
    let hasEnded = groups.length === 0
    let isStopped = false
    const work = async () => {
      for (let group = groups.shift(); group !== undefined; group = groups.shift()) {
        for (const key of group) {
          if (isStopped || signal?.aborted) return
          const result = await this.#sendOne(key, signal).catch((thrown: unknown) => {
            if (!isDamage(thrown)) throw thrown
            noteDamage(thrown)
            return 'damaged' as const
          })
          // What was approved later must not overtake it.
          if (result === 'damaged') break
          if (result === undefined) continue
          results.push(result)
          wake()
          if (result.state === 'postponed') break
        }
      }
    }
    const fail = (thrown: unknown) => {
      failure ??= { thrown }
      isStopped = true
    }
    const workers = Array.from({ length: Math.min(concurrency, groups.length) }, () => work().catch(fail))
    const all = Promise.all(workers).then(() => {
      hasEnded = true
      wake()
    })
    try {
      for (;;) {
        yield* results.splice(0)
        if (hasEnded && results.length === 0) break
        if (results.length > 0) continue
        await new Promise<void>((resolve) => {
          wake = resolve
          if (hasEnded || results.length > 0) resolve()
        })
      }
    } finally {
      isStopped = true
      await all
    }
    if (failure !== undefined) throw failure.thrown
    throwIfAborted(signal)
    if (damage !== undefined) throw damage.thrown
  }

  /** Returns the keys of what is to be sent, by conversation, in the order of approval. */
  async #due(onUnreadable: (error: ApprovalsError) => void): Promise<string[][]> {
    const entries: (readonly [string, ProposalEntry])[] = []
    for await (const each of this.#records.open(onUnreadable)) {
      const [, entry] = each
      if (entry.state === 'approved' || entry.write !== undefined || isOver(entry)) entries.push(each)
    }
    if (entries.length === 0) return []
    const { organization, author } = await this.#identities.current()
    entries.sort(([, one], [, other]) => (one.approvedAt ?? 0) - (other.approvedAt ?? 0))
    const groups = new Map<string, string[]>()
    for (const [key, entry] of entries) {
      if (entry.organization !== organization || entry.author !== author) continue
      const name = entry.conversationId === undefined ? `key ${key}` : `conversation ${entry.conversationId}`
      groups.set(name, [...(groups.get(name) ?? []), key])
    }
    return [...groups.values()]
  }

  async #sendOne(key: string, signal: AbortSignal | undefined): Promise<SendResult | undefined> {
    if (this.#underWay.has(key)) return undefined
    this.#underWay.add(key)
    try {
      const entry = await this.#records.get(key)
      if (entry === undefined || isFinal(entry)) return undefined
      if (entry.write === undefined && isOver(entry)) return await this.#end(key, entry, 'expired')
      if (entry.write === undefined && entry.state !== 'approved') return undefined
      if (isSendingElsewhere(entry)) return undefined
      if (!(await isIntact(entry))) {
        if (entry.write === undefined) return await this.#refuse(key, entry, changed(key))
        return { key, state: 'unconfirmed', proposal: toProposal(key, entry), error: changed(key) }
      }
      return await this.#sendEntry(key, entry, signal)
    } finally {
      this.#underWay.delete(key)
    }
  }

  async #sendEntry(key: string, entry: ProposalEntry, signal: AbortSignal | undefined) {
    const { operation, parameters, query, text, answers } = entry
    const journal = new WriteJournal({
      workspace: this.#workspace.withOptions({
        middleware(call, next) {
          if (call.baseUrl !== entry.service) throw new Prevented('left', 'It was approved for another service.')
          return next(call)
        },
      }),
      storage: this.#records.forJournal(key, entry),
      isHasty: true,
      logger: this.#logger,
    })
    const input = { path: parameters, query, ...(text !== undefined && { body: JSON.parse(text) as unknown }) }
    // The journal also says whose token sends it.
    const before = (client: SupportWorkspace, sender?: { organization: string; author: string | undefined }) =>
      this.#look(key, entry, client, sender)
    const once = { before, ...(operation.id === 'messages.create' && operation.evidence && answers && { answers }) }
    try {
      const { id } = await journal.once(key, (client) => client.callAgain(operation, input, { signal }), once)
      await this.#records.noteSent(entry, id)
      return await this.#end(key, entry, 'sent', { id })
    } catch (thrown) {
      return this.#resultOf(key, entry, thrown, signal)
    }
  }

  /** The last look: everything that can have changed since a person approved. */
  async #look(
    key: string,
    approved: ProposalEntry,
    client: SupportWorkspace,
    sender: { readonly organization: string; readonly author: string | undefined } | undefined,
  ): Promise<void> {
    const { organization, author, known, conversationId } = approved
    if (sender?.organization !== organization || sender.author !== author) {
      throw new Prevented('left', 'The token belongs to somebody else.')
    }
    if (isOver(approved)) throw new Prevented('expired', 'It has expired.')
    if (known === undefined || conversationId === undefined) return
    const passed = new Set([...known, ...(await this.#records.sentFor(approved))])
    for await (const message of client.messages.list(conversationId, { limit: 50 }, { prefetch: false })) {
      if (passed.has(message.id) || this.#ignore?.(message)) continue
      if (await this.#records.isSiblingSending(key, approved)) {
        throw new Prevented('postponed', 'Another reply to the same message is being sent.')
      }
      // The other one can have been noted since.
      for (const id of await this.#records.sentFor(approved)) passed.add(id)
      if (!passed.has(message.id)) throw new Prevented('stale', `The message ${message.id} is newer.`)
    }
  }

  async #resultOf(
    key: string,
    entry: ProposalEntry,
    thrown: unknown,
    signal: AbortSignal | undefined,
  ): Promise<SendResult | undefined> {
    if (thrown instanceof Prevented && thrown.state === 'left') return undefined
    if (thrown instanceof Prevented && thrown.state !== 'postponed') {
      return this.#end(key, entry, thrown.state as 'stale' | 'expired', { reason: thrown.message })
    }
    const now = await this.#records.get(key)
    // Another process or a person has ended or changed it first.
    if (now === undefined || isFinal(now) || now.epoch !== entry.epoch || now.digest !== entry.digest) return undefined
    const result = (state: SendResult['state'], error: SupportWorkspaceError) => {
      return { key, state, proposal: toProposal(key, now), error }
    }
    if (thrown instanceof Prevented) return result('postponed', postponed(key, thrown.message))
    if (signal?.aborted || !isSupportWorkspaceError(thrown)) throw thrown
    if (thrown instanceof UnconfirmedWriteError) return result('unconfirmed', thrown)
    // It is about an entry that the last look reads, and not about this proposal.
    if (thrown.remedy === 'reconnect' || thrown instanceof ApprovalsError) throw thrown
    if (thrown.remedy === 'retry') {
      if (thrown instanceof RequestError) return result(now.write === undefined ? 'postponed' : 'unconfirmed', thrown)
      throw thrown
    }
    if (now.write !== undefined) return result('unconfirmed', thrown)
    return this.#refuse(key, now, thrown)
  }

  async #refuse(key: string, entry: ProposalEntry, error: SupportWorkspaceError): Promise<SendResult | undefined> {
    const ended = await this.#end(key, entry, 'refused', { reason: error.message })
    return ended && { ...ended, error }
  }

  /** Ends a proposal, unless somebody else has. What might have been sent can only become `sent`. */
  async #end(
    key: string,
    { epoch, digest }: ProposalEntry,
    state: 'sent' | 'stale' | 'expired' | 'refused',
    fields: { readonly id?: string | undefined; readonly reason?: string } = {},
  ): Promise<SendResult | undefined> {
    const ended = await this.#records.change<ProposalEntry | undefined>(key, (now) => {
      const isSame = now !== undefined && !isFinal(now) && now.epoch === epoch && now.digest === digest
      if (!isSame || (now.write !== undefined) !== (state === 'sent')) return { result: undefined }
      if (now.state === 'pending' && state !== 'expired' && state !== 'sent') return { result: undefined }
      const entry = { ...now, ...fields, state, endedAt: Date.now() }
      return { write: entry, result: entry }
    })
    return ended && { key, state, proposal: toProposal(key, ended) }
  }
}

/** Whether another process is probably sending it now. Its clock can differ, which only delays the check. */
function isSendingElsewhere({ write, sendingAt }: ProposalEntry): boolean {
  if (!write?.includes('"state":"sending"')) return false
  return Math.abs(Date.now() - (sendingAt ?? 0)) < longestSending
}

function changed(key: string): ApprovalsError {
  return new ApprovalsError(key, `The entry of the proposal "${key}" is not what was approved.`, {
    hint: 'Something has changed the storage. Find out what, and propose the write again.',
  })
}

function postponed(key: string, problem: string): SupportWorkspaceError {
  return new SupportWorkspaceError(`The proposal "${key}" was not sent. ${problem}`, {
    hint: 'The next `send` tries again.',
    remedy: 'retry',
  })
}
