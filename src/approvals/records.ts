import { sha256 } from '../shared/bytes.ts'
import type { SealSecret } from '../shared/seal.ts'
import {
  type Change,
  Entries,
  failureOf,
  GuardedStorage,
  isListOf,
  isText,
  type KeyValueStorage,
  StoredTexts,
} from '../storage/interface.ts'
import { ApprovalsError, isDamage, notAllowed } from './approvals-error.ts'
import { fields, isFinal, type ProposalEntry, toProposal } from './proposal.ts'

/** Gets the error of an entry that cannot be read. */
type OnUnreadable = (error: ApprovalsError) => void

/** What to do with an entry, and what to return. */
export interface Decision<Result> {
  readonly write?: ProposalEntry | undefined
  readonly result: Result
}

/**
 * The proposals by key. An entry that has not ended is on the open shelf, and one that has ended is moved to the final
 * shelf: it is written there before it is removed here. An open entry counts only if its epoch is later than the one of
 * the final entry, so that a slow process cannot begin a key anew that was sent meanwhile.
 */
export class Records {
  readonly #open: Entries<ProposalEntry>
  readonly #final: Entries<ProposalEntry>
  readonly #sent: Entries<{ readonly ids: readonly string[] }>
  readonly #writes: GuardedStorage

  constructor(storage: KeyValueStorage, secret: SealSecret | undefined) {
    const kind = { texts: new StoredTexts(secret, 'approval'), format: 1, fields, failed: storageFailed }
    this.#open = new Entries(storage, { ...kind, prefix: 'approvals:open:' })
    this.#final = new Entries(storage, { ...kind, prefix: 'approvals:final:' })
    this.#sent = new Entries<{ readonly ids: readonly string[] }>(storage, {
      ...{ ...kind, prefix: 'approvals:sent:', fields: { ids: isListOf(isText) } },
      failed: (_, thrown) => storageFailed(undefined, thrown),
    })
    this.#writes = new GuardedStorage(storage, 'writes:', storageFailed)
  }

  /** Whether a write journal on the same storage uses the key. */
  async isForeign(key: string): Promise<boolean> {
    return (await this.#writes.get(key)) !== null
  }

  /** Returns the entry that counts. */
  async get(key: string): Promise<ProposalEntry | undefined> {
    const open = await this.#open.get(key)
    const final = await this.#final.get(key)
    return isNewer(open, final) ? open : final
  }

  /**
   * Changes an entry by compare-and-set.
   *
   * @param decide called with the entry that counts, before each attempt
   */
  async change<Result>(key: string, decide: (now: ProposalEntry | undefined) => Decision<Result>): Promise<Result> {
    const result = await this.#open.change(key, async (open): Promise<Change<Result, ProposalEntry>> => {
      const final = await this.#final.get(key)
      const now = isNewer(open, final) ? open : final
      const decision = decide(now)
      if (decision.write === undefined) return { result: decision.result }
      // What has ended stays. To begin anew, or to note a decision about it, takes another epoch.
      const epoch = now === undefined ? 1 : now === final ? final.epoch + 1 : now.epoch
      return { write: { ...decision.write, epoch }, result: decision.result }
    })
    await this.#tidy(key)
    return result
  }

  /** Erases an open entry. Returns whether there was one that `decide` accepts. */
  erase(key: string, decide: (entry: ProposalEntry) => boolean): Promise<boolean> {
    return this.#open.change(key, (entry) =>
      entry !== undefined && decide(entry) ? { write: null, result: true } : { result: false },
    )
  }

  /** Changes a final entry. Returns whether `decide` wanted to. */
  rewrite(key: string, decide: (entry: ProposalEntry) => ProposalEntry | undefined): Promise<boolean> {
    return this.#final.change(key, (entry) => {
      const next = entry && decide(entry)
      return { write: next, result: next !== undefined }
    })
  }

  /**
   * Yields the entries that have not ended, in no particular order.
   *
   * @param onUnreadable called with the error of each entry that cannot be read. Without it, the first one is thrown.
   */
  async *open(
    onUnreadable?: OnUnreadable,
  ): AsyncGenerator<readonly [key: string, entry: ProposalEntry], void, undefined> {
    for await (const [key, entry] of each(this.#open, onUnreadable)) {
      // A process was killed before it had moved the entry.
      if (!isFinal(entry)) yield [key, entry]
      else
        await this.#tidy(key).catch((thrown: unknown) => {
          if (onUnreadable === undefined || !isDamage(thrown)) throw thrown
          onUnreadable(thrown)
        })
    }
  }

  /** Yields the entries that have ended, in no particular order. */
  final(onUnreadable?: OnUnreadable): AsyncGenerator<readonly [key: string, entry: ProposalEntry], void, undefined> {
    return each(this.#final, onUnreadable)
  }

  /** Moves an entry that has ended, and removes one that does not count. */
  async #tidy(key: string): Promise<void> {
    const open = await this.#open.get(key)
    if (open === undefined) return
    const isDone = await this.#final.change<boolean>(key, (final) => {
      if (!isNewer(open, final)) return { result: true }
      return isFinal(open) ? { write: open, result: true } : { result: false }
    })
    if (!isDone) return
    await this.#open.change(key, (now) => ({ write: now?.epoch === open.epoch ? null : undefined, result: undefined }))
  }

  /** Returns the ids of the messages that were sent for the same basis. */
  async sentFor(entry: ProposalEntry): Promise<readonly string[]> {
    return (await this.#sent.get(await basisOf(entry)))?.ids ?? []
  }

  /** Notes a message that was sent, before its proposal ends. */
  async noteSent(entry: ProposalEntry, id: string | undefined): Promise<void> {
    if (id === undefined || entry.known === undefined) return
    await this.#sent.change(await basisOf(entry), ({ ids } = { ids: [] }) => ({
      write: ids.includes(id) ? undefined : { ids: [...ids, id] },
      result: undefined,
    }))
  }

  /** Whether another proposal of the same basis is being sent, whose message might be there already. */
  async isSiblingSending(key: string, entry: ProposalEntry): Promise<boolean> {
    const basis = await basisOf(entry)
    for await (const [other, { write, ...rest }] of each(this.#open, () => {})) {
      if (other === key || write === undefined || rest.conversationId !== entry.conversationId) continue
      if ((await basisOf({ ...rest, write })) === basis) return true
    }
    return false
  }

  /**
   * Returns the storage for the journal that sends one proposal. The record of the journal is a field of the entry. So
   * one compare-and-set decides that the proposal is sent rather than rejected, changed, stale or expired.
   */
  forJournal(key: string, approved: ProposalEntry): KeyValueStorage {
    const name = `writes:${key}`
    return {
      get: async (other) => (other === name ? (await this.get(key))?.write : undefined),
      compareAndSet: (_, expected, value) =>
        this.change(key, (now): Decision<boolean> => {
          if (now === undefined || (now.write ?? null) !== expected) return { result: false }
          const isResult = value?.includes('"state":"applied"') === true
          // What has ended keeps its record.
          if (isFinal(now) && (value === null || isResult)) return { result: true }
          const isApproved = now.state === 'approved' && now.digest === approved.digest && now.epoch === approved.epoch
          // A response counts, whatever a person has decided about the unconfirmed write meanwhile.
          if (expected === null && !isApproved && !isResult) throw notAllowed(key, 'sent', toProposal(key, now))
          const sendingAt = expected === null ? Date.now() : now.sendingAt
          return { write: { ...now, write: value ?? undefined, sendingAt }, result: true }
        }),
      list: () => this.#written(),
    }
  }

  async *#written() {
    for (const shelf of [this.#open, this.#final]) {
      for await (const [key, { write }] of each(shelf))
        if (write !== undefined) yield [[`writes:${key}`, write] as const]
    }
  }
}

async function* each(
  entries: Entries<ProposalEntry>,
  onUnreadable?: OnUnreadable,
): AsyncGenerator<readonly [key: string, entry: ProposalEntry], void, undefined> {
  for await (const page of entries.pages(onUnreadable as (error: unknown) => void)) yield* page
}

function isNewer(open: ProposalEntry | undefined, final: ProposalEntry | undefined): open is ProposalEntry {
  return open !== undefined && open.epoch > (final?.epoch ?? 0)
}

/** Identifies what a proposal knows of a conversation. */
function basisOf({ service, organization, conversationId, known }: ProposalEntry): Promise<string> {
  return sha256(JSON.stringify([service, organization, conversationId, known]))
}

function storageFailed(key: string | undefined, thrown: unknown): ApprovalsError {
  return new ApprovalsError(key, ...failureOf(key === undefined ? 'the approvals' : `the proposal "${key}"`, thrown))
}
