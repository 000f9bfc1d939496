// src/approvals keeps writes that wait for a person, and sends what was approved. It stands on the journal.

import { type SupportWorkspace, TokenIdentities } from '../client/index.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import { ServiceClock, usedTwice } from '../journal/interface.ts'
import { bindMethods } from '../shared/bind-methods.ts'
import {
  checkFunction,
  checkInteger,
  checkObject,
  checkOneOf,
  checkText,
  mustBe,
  readOptions,
} from '../shared/check-options.ts'
import { checkMethods, checkStorage, type KeyValueStorage } from '../storage/interface.ts'
import { notAllowed } from './approvals-error.ts'
import {
  type ApprovalsOptions,
  type ApproveOptions,
  approveChecks,
  checks,
  type ListProposalsOptions,
  listChecks,
  type ProposeOptions,
  proposeChecks,
  type RejectOptions,
  rejectChecks,
} from './approvals-options.ts'
import { knownAt } from './basis.ts'
import { capture, contentOf, editOf, type WriteFunction } from './capture.ts'
import {
  digestOf,
  isFinal,
  isOver,
  type Proposal,
  type ProposalDecision,
  type ProposalEntry,
  toProposal,
} from './proposal.ts'
import { type Decision, Records } from './records.ts'
import { Sender, type SendOptions, type SendResult } from './sender.ts'

/** Minimum for `forget`, in milliseconds, because a process that is still running can need younger entries. */
const youngest = 3_600_000

/**
 * Keeps writes until a person approves exactly what the service gets, and sends each of them once, unless the
 * conversation has moved on.
 *
 * @example
 * const approvals = new Approvals({ workspace, storage, secret })
 * const body_html = '<p>Your refund is on its way.</p>'
 * await approvals.propose(`reply:${id}`, (client) => client.messages.create(id, { body_html }))
 * for (const { key, digest } of await approvals.list({ state: 'pending' })) {
 *   await approvals.approve(key, { digest, by: 'may' })
 * }
 * for await (const result of approvals.send()) console.log(result.key, result.state)
 */
export class Approvals {
  readonly #workspace: SupportWorkspace
  readonly #records: Records
  readonly #identities: TokenIdentities
  readonly #sender: Sender
  /** When the last approval was made. */
  #approvedAt = 0

  /** @throws InvalidArgumentError if an option is invalid. */
  constructor(options: ApprovalsOptions) {
    checkObject('options', options, 'Pass at least `workspace` and `storage`.')
    const { workspace } = options
    const { secret, ...given } = readOptions(options, checks, 'approvals')
    checkMethods('workspace', workspace, ['withOptions'], 'Pass a `SupportWorkspace`.')
    this.#workspace = workspace
    const storage = checkStorage(given.storage as KeyValueStorage)
    this.#records = new Records(storage, secret)
    const clock = new ServiceClock()
    this.#identities = new TokenIdentities(workspace.withOptions({ middleware: clock.middleware, fresh: true }))
    this.#sender = new Sender({ ...given, workspace, storage }, this.#records, this.#identities, clock)
    bindMethods(this)
  }

  /**
   * Stores the write of a function without sending it. If the key has a proposal already, returns that one. A proposal
   * is one write, so propose each write of a sequence.
   *
   * @param key your name for the write, for example `reply:` and the id of the message that it answers
   * @param write makes one write with the client that it gets. The call rejects
   * @throws InvalidArgumentError if the function makes no write, more than one, or one with headers; if a write journal
   *   on the same storage uses the key; or if `author` is missing with the token of an app.
   * @throws ApprovalsError if the storage fails
   */
  async propose(key: string, write: WriteFunction, options: ProposeOptions = {}): Promise<Proposal> {
    checkText('key', key)
    checkFunction('write', write)
    const given = readOptions(options, proposeChecks, '`propose`')
    const there = await this.#records.get(key)
    if (there !== undefined && !mayReplace(there, given)) return toProposal(key, there)
    // A journal that takes the key later is noticed when the proposal is sent.
    if (await this.#records.isForeign(key)) throw usedTwice(key)
    const call = await capture(this.#workspace, write)
    const { organization, author, actor } = await this.#identities.current()
    const person = given.author ?? (actor === 'app' ? undefined : author)
    if (person === undefined) throw noAuthor()
    const reader = this.#workspace.withOptions({ fresh: true })
    const { isGone, ...basis } = await knownAt(reader, call, given.basis)
    const proposedAt = Date.now()
    // JSON has no `Infinity`.
    const expiresAt = Number.isFinite(given.expiresIn) ? proposedAt + (given.expiresIn as number) : undefined
    const content = contentOf(call, { organization, author: person, ...basis, expiresAt })
    const entry: ProposalEntry = {
      ...{ epoch: 1, state: 'pending', decisions: [], earlier: [] },
      ...{ content, digest: await digestOf(content), proposedAt },
      ...(isGone && { state: 'stale', endedAt: proposedAt, reason: 'The message of its basis is gone.' }),
    }
    return this.#change(key, (now) => {
      return now === undefined || mayReplace(now, given) ? written(entry) : { result: now }
    })
  }

  /** Returns a proposal. Undefined if there is none. */
  async get(key: string): Promise<Proposal | undefined> {
    const entry = await this.#records.get(checkText('key', key))
    return entry && toProposal(key, entry)
  }

  /**
   * Lists the proposals that have not ended, or those in one state, the oldest first.
   *
   * @throws ApprovalsError if the storage fails, or if an entry is damaged and there is no `onUnreadable`
   */
  async list(options: ListProposalsOptions = {}): Promise<readonly Proposal[]> {
    checkObject('options', options, "For example `{ state: 'pending' }`.")
    const { state, onUnreadable } = readOptions(options, listChecks, 'the list of approvals')
    const found: Proposal[] = []
    const entries =
      state !== undefined && isFinal({ state }) ? this.#records.final(onUnreadable) : this.#records.open(onUnreadable)
    for await (const [key, entry] of entries) found.push(toProposal(key, entry))
    found.sort((one, other) => one.proposedAt - other.proposedAt)
    return found.filter((each) => state === undefined || each.state === state)
  }

  /**
   * Approves what the person saw, or an edit of it. The first answer wins. Another person who approves the same has no
   * effect, but is noted in `decisions`.
   *
   * @throws ApprovalsError if the proposal has changed since, was decided otherwise, or has expired. `state` and `by`
   *   say what was decided, and by whom.
   * @throws InvalidArgumentError if the edited body is invalid
   */
  async approve(key: string, options: ApproveOptions): Promise<Proposal> {
    checkText('key', key)
    const { digest, by, body } = readOptions(options, approveChecks, '`approve`')
    if (digest === undefined) throw mustBe('a text', 'digest', digest, 'Pass the digest that the page showed.')
    if (by === undefined) throw mustBe('a text', 'by', by, 'Pass the name or id of the person.')
    const before = await this.#records.get(key)
    const edit =
      body === undefined || before === undefined ? undefined : await editOf(this.#workspace, before.content, body)
    const wanted = edit?.digest ?? digest
    // Two in the same millisecond are sent in their order.
    this.#approvedAt = Math.max(Date.now(), this.#approvedAt + 1)
    const approvedAt = this.#approvedAt
    const approval: ProposalDecision = { decision: 'approved', by, at: Date.now(), digest: wanted }
    return this.#change(key, (now) => {
      const decisions = [...(now?.decisions ?? []), approval]
      if (now?.digest === wanted && (now.state === 'approved' || now.state === 'sending' || now.state === 'sent')) {
        const isNoted = now.decisions.some((each) => each.decision === 'approved' && each.by === by)
        return isNoted ? { result: now } : written({ ...now, decisions })
      }
      if (now?.state !== 'pending') throw notAllowed(key, 'approved', now)
      if (isOver(now)) throw notAllowed(key, 'approved', now, 'has expired')
      // The edit was made of what was there before, which can have been replaced twice since.
      const isSeen = now.digest === digest && (edit === undefined || before?.digest === digest)
      if (!isSeen) throw notAllowed(key, 'approved', now, 'is not what the person saw')
      const { body } = toProposal(key, now)
      const earlier = wanted === digest ? now.earlier : [...now.earlier, { digest, body }]
      return written({ ...now, ...edit, earlier, state: 'approved', decisions, approvedAt })
    })
  }

  /**
   * Rejects a proposal that is pending, or approved and not yet sent.
   *
   * @throws ApprovalsError if it is being sent, or has ended otherwise
   */
  async reject(key: string, options: RejectOptions): Promise<Proposal> {
    checkText('key', key)
    const { by, reason } = readOptions(options, rejectChecks, '`reject`')
    if (by === undefined) throw mustBe('a text', 'by', by, 'Pass the name or id of the person.')
    return this.#change(key, (now) => {
      if (now?.state === 'rejected') return { result: now }
      if (now?.state !== 'pending' && now?.state !== 'approved') throw notAllowed(key, 'rejected', now)
      const { decisions, digest } = now
      const at = Date.now()
      const rejected = [...decisions, { decision: 'rejected', by, at, digest } as const]
      return written({ ...now, state: 'rejected', decisions: rejected, reason, endedAt: at })
    })
  }

  /**
   * Sends what was approved, and yields what became of each. The proposals of one conversation are sent one after the
   * other, in the order of their approval. If another process is sending the first, the others of its conversation wait for
   * the next `send`. Proposals of other people and organizations are left to their tokens.
   *
   * If a response is lost, the result is `unconfirmed`, and the next `send` checks whether the write was applied. The
   * others of its conversation wait until then, or for 150 seconds if it is not found (for its `timeout` if that is
   * longer, at most an hour). With `postponed`, the next `send` tries again. A loop that ends early waits for what is under way.
   *
   * A damaged entry holds up only itself: `send` goes on with the others, and throws its `ApprovalsError` at the end.
   *
   * @throws the errors that concern every proposal, at once: of the storage, of a token that is rejected, and the reason of an
   *   aborted `signal`
   */
  send(options: SendOptions = {}): AsyncGenerator<SendResult, void, undefined> {
    return this.#sender.send(options)
  }

  /**
   * Records what a person has found out about an unconfirmed write: `applied`, or `absent`, which makes the proposal
   * pending again. Use `absent` only after the process that sent it has ended.
   *
   * @throws ApprovalsError if the proposal is not being sent. Its `state` and `id` say what is there now.
   */
  async resolve(key: string, as: 'applied' | 'absent'): Promise<Proposal> {
    checkText('key', key)
    checkOneOf('as', as, ['applied', 'absent'])
    return this.#change(key, (now) => {
      if (now?.state !== 'sending') {
        const hint =
          now === undefined || isFinal(now) ? undefined : 'It was not sent: `approve` and `send` it, or `reject` it.'
        throw notAllowed(key, 'resolved', now, undefined, hint)
      }
      const { write, ...unsent } = now
      if (as === 'absent') return written({ ...unsent, state: 'pending' })
      const applied = write && ({ ...write, state: 'applied' } as const)
      return written({ ...now, write: applied, state: 'sent', endedAt: Date.now() })
    })
  }

  /**
   * Removes the texts of proposals that have ended for longer than `age`, and returns their number. Key, state, id and
   * digests stay, so that the same key is never sent again, and no lost reply of the same text is taken for this one.
   *
   * @param age in milliseconds, at least 3_600_000 (an hour)
   */
  forget(age: number): Promise<number>
  /**
   * Erases a proposal that is pending, and returns whether there was one. The key is free then. If the key was begun
   * anew, the proposal that had ended before is there again, until `forget(age)` removes its text.
   */
  forget(key: string): Promise<boolean>
  async forget(what: number | string): Promise<number | boolean> {
    if (typeof what === 'string') {
      return this.#records.change<boolean>(checkText('key', what), (now) =>
        now?.state === 'pending' ? { write: null, result: true } : { result: false },
      )
    }
    const last = Date.now() - checkInteger('age', what, youngest, 'Pass milliseconds, at least an hour.')
    const isOld = (entry: ProposalEntry | undefined): entry is ProposalEntry =>
      entry?.endedAt !== undefined && entry.endedAt <= last && entry.content.text !== undefined
    let count = 0
    // An entry that cannot be read keeps no other text.
    for await (const [key, entry] of this.#records.final(() => {})) {
      if (!isOld(entry)) continue
      const isForgotten = await this.#records.change<boolean>(key, (now) => {
        if (!isOld(now)) return { result: false }
        const { reason, ...rest } = now
        const { text, answers, ...content } = now.content
        return { write: { ...rest, content: { ...content, query: {} }, earlier: [] }, result: true }
      })
      if (isForgotten) count += 1
    }
    return count
  }

  async #change(key: string, decide: (now: ProposalEntry | undefined) => Decision<ProposalEntry>): Promise<Proposal> {
    return toProposal(key, await this.#records.change(key, decide))
  }
}

/** Whether a new proposal may take the place of one that is there. */
function mayReplace(now: ProposalEntry, { replace, again }: Pick<ProposeOptions, 'replace' | 'again'>): boolean {
  if (now.state === 'pending') return replace === true
  return again === true && isFinal(now) && now.state !== 'sent'
}

function written(entry: ProposalEntry): Decision<ProposalEntry> {
  return { write: entry, result: entry }
}

function noAuthor(): InvalidArgumentError {
  return new InvalidArgumentError(
    'author',
    'The token belongs to an app, or the service does not say whose it is, so the author is unknown.',
    'Pass the id of the person whose token will send the write as `author`.',
  )
}
