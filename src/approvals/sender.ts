import type { SupportWorkspace, TokenIdentities } from '../client/index.ts'
import { checkSignal } from '../core/index.ts'
import {
  InsufficientScopeError,
  isSupportWorkspaceError,
  NotFoundError,
  RequestError,
  SupportWorkspaceError,
} from '../errors/index.ts'
import {
  type Sender as Person,
  type ServiceClock,
  UnconfirmedWriteError,
  WriteJournal,
  type WriteRecord,
} from '../journal/interface.ts'
import { throwIfAborted } from '../shared/abort.ts'
import { type Check, checkInteger, readOptions } from '../shared/check-options.ts'
import { ApprovalsError, isDamage } from './approvals-error.ts'
import type { ApprovalsOptions } from './approvals-options.ts'
import { Look, Prevented } from './look.ts'
import { isFinal, isIntact, isOver, type Proposal, type ProposalEntry, toProposal } from './proposal.ts'
import { isSameVersion, type Records } from './records.ts'

/** The options of `send`. */
export interface SendOptions {
  /**
   * How many conversations are written to at the same time.
   *
   * @default 4
   */
  readonly concurrency?: number | undefined
  /**
   * Ends the loop and its waits, and aborts a request under way. A `send` 150 seconds later checks whether that write was
   * applied. To let it finish, leave the loop instead.
   */
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

/**
 * What came of the turn of a proposal: a result, or nothing to tell. With `elsewhere`, another process, or another
 * `send` of this one, is sending it, or it is for another token, and what was approved later must not overtake it.
 */
type Turn = SendResult | 'elsewhere' | undefined

const sendChecks = {
  concurrency: (name, value) => checkInteger(name, value, 1),
  signal: checkSignal,
} satisfies Record<keyof SendOptions, Check<unknown>>

/** How long another process may be sending, and a lost write may still arrive, in milliseconds. */
const shortestSending = 150_000
/** The same for a write with a longer time limit, which can be infinite. */
const longestSending = 3_600_000

/** Sends what was approved. */
export class Sender {
  readonly #records: Records
  readonly #journal: WriteJournal
  readonly #identities: TokenIdentities
  readonly #ignore: ApprovalsOptions['ignore']
  readonly #clock: ServiceClock
  /** The last looks at what this process is sending. */
  readonly #underWay = new Map<string, Look | undefined>()

  /** @param clock learns the time of the service when `identities` asks it */
  constructor(
    { storage, ignore, ...options }: ApprovalsOptions,
    records: Records,
    identities: TokenIdentities,
    clock: ServiceClock,
  ) {
    // What was approved is sent as it is, so no middleware changes it.
    const workspace = options.workspace.replaceOptions(() => ({ middleware: [] }))
    this.#records = records
    this.#journal = new WriteJournal({ workspace, storage, entries: records.forJournal(this.#underWay) })
    this.#identities = identities
    this.#clock = clock
    this.#ignore = ignore
  }

  async *send(options: SendOptions): AsyncGenerator<SendResult, void, undefined> {
    const { concurrency = 4, signal } = readOptions(options, sendChecks, '`send`')
    throwIfAborted(signal)
    let failure: { readonly thrown: unknown } | undefined
    // Of damaged entries, each of which holds up only itself.
    const damages: ApprovalsError[] = []
    const groups = await this.#due((damage) => damages.push(damage))
    const running = new Set<Promise<void>>()
    const results: SendResult[] = []
    const sendFirst = async ([key = '', ...others]: readonly string[]) => {
      try {
        const result = await this.#sendOne(key, signal)
        // What was approved later must not overtake it.
        if (result === 'elsewhere') return
        if (result !== undefined) results.push(result)
        if (result?.state === 'postponed' || (result?.state === 'unconfirmed' && (await this.#isRecent(key)))) return
      } catch (thrown) {
        if (!isDamage(thrown)) {
          failure ??= { thrown }
          return
        }
        damages.push(thrown)
      }
      if (others.length > 0) groups.unshift(others)
    }
    try {
      for (;;) {
        while (failure === undefined && !signal?.aborted && running.size < concurrency) {
          const group = groups.shift()
          if (group === undefined) break
          const turn: Promise<void> = sendFirst(group).then(() => void running.delete(turn))
          running.add(turn)
        }
        if (results.length === 0 && running.size === 0) break
        if (results.length === 0) await Promise.race(running)
        yield* results.splice(0)
      }
    } finally {
      await Promise.all(running)
    }
    if (failure !== undefined) throw failure.thrown
    throwIfAborted(signal)
    if (damages.length > 0) throw damages[0]
  }

  /** Returns the keys of what is to be sent, by conversation, in the order of approval. */
  async #due(onUnreadable: (error: ApprovalsError) => void): Promise<string[][]> {
    const due: { readonly key: string; readonly entry: ProposalEntry }[] = []
    for await (const [key, entry] of this.#records.open(onUnreadable)) {
      if (entry.state !== 'pending' || isOver(entry)) due.push({ key, entry })
    }
    if (due.length === 0) return []
    const { organization, author, actor } = await this.#identities.current()
    if (author === undefined && actor !== 'app') throw unknownAuthor()
    due.sort((one, other) => approvalOf(one.entry) - approvalOf(other.entry))
    const groups = new Map<string, string[]>()
    for (const { key, entry } of due) {
      const { content } = entry
      if (content.organization !== organization || content.author !== author) continue
      const { conversation_id: conversation } = content.parameters
      const name = conversation === undefined ? `key ${key}` : `conversation ${conversation} ${content.service}`
      groups.set(name, [...(groups.get(name) ?? []), key])
    }
    return [...groups.values()]
  }

  async #sendOne(key: string, signal: AbortSignal | undefined): Promise<Turn> {
    if (this.#underWay.has(key)) return 'elsewhere'
    this.#underWay.set(key, undefined)
    try {
      const entry = await this.#records.get(key)
      if (entry === undefined || isFinal(entry)) return undefined
      // Another process is probably sending it.
      if (entry.write?.state === 'sending' && this.#isYoung(entry.write)) return 'elsewhere'
      if (entry.state !== 'sending' && isOver(entry)) return await this.#end(key, entry, 'expired')
      if (entry.state === 'pending') return undefined
      if (!(await isIntact(entry))) {
        const error = changed(key)
        if (entry.state === 'approved') return await this.#end(key, entry, 'refused', { error })
        return { key, state: 'unconfirmed', proposal: toProposal(key, entry), error }
      }
      const look = new Look(key, entry, this.#records, this.#ignore)
      this.#underWay.set(key, look)
      return await this.#sendEntry(key, look, signal)
    } finally {
      this.#underWay.delete(key)
    }
  }

  async #sendEntry(key: string, look: Look, signal: AbortSignal | undefined) {
    const { entry } = look
    const { operation, parameters: path, query, text, answers, known } = entry.content
    const input = { path, query, ...(text !== undefined && { body: JSON.parse(text) as unknown }) }
    const isMessage = operation.id === 'messages.create' && operation.evidence !== undefined
    // The journal also says whose token sends it.
    const before = (client: SupportWorkspace, person?: Person) => look.run(client, person)
    // Another process has begun an attempt since the entry was read. What it has let pass is unknown here.
    const beforeCheck = ({ attempt }: { readonly attempt: string }) => {
      if (attempt !== entry.write?.attempt) throw new Prevented('elsewhere', 'Another process sends it.')
    }
    // What was there before the reply is not the reply, also if it has the same text.
    const once = { before, beforeCheck, ...(isMessage && { answers, known: [...(known ?? []), ...look.passed] }) }
    try {
      const { id } = await this.#journal.once(key, (client) => client.callAgain(operation, input, { signal }), once)
      await this.#records.noteSent(entry.content, id)
      return await this.#end(key, entry, 'sent', { id })
    } catch (thrown) {
      if (!(thrown instanceof Prevented)) return this.#resultOf(key, entry, thrown, signal)
      if (thrown.end === 'elsewhere') return thrown.end
      return this.#end(key, entry, thrown.end, { reason: thrown.message })
    }
  }

  /** Returns what became of a proposal that was not sent, or not for sure. Throws what concerns every proposal. */
  async #resultOf(key: string, entry: ProposalEntry, thrown: unknown, signal: AbortSignal | undefined): Promise<Turn> {
    if (signal?.aborted || !isSupportWorkspaceError(thrown)) throw thrown
    const isOfWrite = thrown instanceof RequestError && thrown.operation === entry.content.operation.id
    // Other writes might need no such scope, and this one can be sent after a login that grants it.
    const lacksScope = isOfWrite && thrown instanceof InsufficientScopeError
    const isOfToken = thrown.remedy === 'reconnect' && !lacksScope
    if (isOfToken || (thrown.remedy === 'retry' && !(thrown instanceof RequestError))) throw thrown
    const now = await this.#records.get(key)
    // Another process or a person has ended or changed it first.
    if (now === undefined || isFinal(now) || now.state === 'pending' || !isSameVersion(now, entry)) return undefined
    const result = (state: SendResult['state']) => ({ key, state, proposal: toProposal(key, now), error: thrown })
    if (thrown instanceof UnconfirmedWriteError) return result('unconfirmed')
    if (thrown instanceof ApprovalsError) throw thrown
    // Another process has begun to send it since.
    if (now.state === 'sending' && now.write?.attempt !== entry.write?.attempt) return 'elsewhere'
    if (now.state === 'sending') return result('unconfirmed')
    // Only an answer of the service to the write itself refuses it, or that its conversation is gone.
    const isGone = thrown instanceof NotFoundError && thrown.operation === 'messages.list'
    const isAnswer = isGone || (isOfWrite && thrown.outcome === 'refused')
    if (!isAnswer || lacksScope || thrown.remedy === 'retry') return result('postponed')
    return this.#end(key, now, 'refused', { error: thrown })
  }

  /** Ends a proposal, unless somebody else has. What might have been sent can only become `sent`. */
  async #end(
    key: string,
    ended: ProposalEntry,
    state: 'sent' | 'stale' | 'expired' | 'refused',
    { error, ...details }: Pick<SendResult, 'error'> & Pick<ProposalEntry, 'id' | 'reason'> = {},
  ): Promise<Turn> {
    return this.#records.change<Turn>(key, (now) => {
      const isSame = now !== undefined && !isFinal(now) && isSameVersion(now, ended)
      if (!isSame) return { result: undefined }
      if (now.state === 'sending' && state !== 'sent') return { result: 'elsewhere' }
      const isDue = now.state === (state === 'sent' ? 'sending' : 'approved') || state === 'expired'
      if (!isDue) return { result: undefined }
      const entry = { ...now, reason: error?.message, ...details, state, endedAt: Date.now() }
      return { write: entry, result: { key, state, proposal: toProposal(key, entry), ...(error && { error }) } }
    })
  }

  /** Whether a lost write can still arrive. */
  async #isRecent(key: string): Promise<boolean> {
    const entry = await this.#records.get(key)
    return entry?.write !== undefined && this.#isYoung(entry.write)
  }

  #isYoung({ sentAt, changedAt = sentAt, timeout }: WriteRecord): boolean {
    const longest = Math.min(Math.max(shortestSending, timeout), longestSending)
    return Math.abs(this.#clock.now() - changedAt) < longest
  }
}

/** When an entry was approved. One of an earlier version says so only in its decisions. */
function approvalOf({ approvedAt, decisions, digest }: ProposalEntry): number {
  return approvedAt ?? decisions.find((decision) => decision.digest === digest)?.at ?? 0
}

function unknownAuthor(): SupportWorkspaceError {
  return new SupportWorkspaceError('The service does not say whose the token is, so nothing was sent.', {
    remedy: 'retry',
    hint: 'The next `send` asks again.',
  })
}

function changed(key: string): ApprovalsError {
  return new ApprovalsError(key, `The entry of the proposal "${key}" is not what was approved.`, {
    hint: 'Something has changed the storage. Find out what, and propose the write again.',
  })
}
