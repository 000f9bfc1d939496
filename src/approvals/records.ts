import { journalPrefix, recordFields, type WriteEntries, type WriteRecord } from '../journal/interface.ts'
import { sha256 } from '../shared/bytes.ts'
import { notify } from '../shared/notify.ts'
import type { SealSecret } from '../shared/seal.ts'
import {
  type Change,
  Entries,
  failureOf,
  GuardedStorage,
  type KeyValueStorage,
  StoredTexts,
  storedTexts,
} from '../storage/interface.ts'
import { ApprovalsError, isDamage, notAllowed } from './approvals-error.ts'
import { type ApprovedContent, fields, isFinal, type ProposalEntry } from './proposal.ts'

/** Gets the error of an entry that cannot be read. */
type OnUnreadable = (error: ApprovalsError) => void

/** What to do with an entry, and what to return. */
export type Decision<Result> = Change<Result, ProposalEntry> | Promise<Change<Result, ProposalEntry>>

/** A proposal that is being sent. */
interface UnderWay {
  /** The proposal as it was approved. */
  readonly entry: ProposalEntry
  /** The ids of newer messages that its last look has let pass. */
  readonly passed: ReadonlySet<string>
}

/**
 * The proposals by key. An entry that has not ended is on the open shelf, and one that has ended is moved to the final
 * shelf: it is written there before it is removed here. An open entry counts only if its epoch is later than the one of
 * the final entry, so that a slow process cannot begin a key anew that was sent meanwhile.
 */
export class Records {
  readonly #open: Entries<ProposalEntry>
  readonly #final: Entries<ProposalEntry>
  /** A note for each message that was sent, by what it knows of a conversation and its id. */
  readonly #sent: Entries<object>
  /** The records of a journal on the same storage. */
  readonly #journal: Entries<WriteRecord>
  readonly #writes: GuardedStorage

  constructor(storage: KeyValueStorage, secret: SealSecret | undefined) {
    const kind = { texts: storedTexts(secret, 'approval'), format: 1, failed: storageFailed }
    this.#open = new Entries(storage, { ...kind, fields, prefix: 'approvals:open:' })
    this.#final = new Entries(storage, { ...kind, fields, prefix: 'approvals:final:' })
    const failed = (_: string | undefined, thrown: unknown) => storageFailed(undefined, thrown)
    this.#sent = new Entries(storage, { ...kind, failed, fields: {}, prefix: 'approvals:sent:' })
    const records = { texts: new StoredTexts(), fields: recordFields, prefix: journalPrefix }
    this.#journal = new Entries(storage, { ...kind, ...records })
    this.#writes = new GuardedStorage(storage, journalPrefix, storageFailed)
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
   * @param decide called with the entry that counts, before each attempt. Null erases an open one.
   */
  async change<Result>(key: string, decide: (now: ProposalEntry | undefined) => Decision<Result>): Promise<Result> {
    const result = await this.#open.change(key, async (open): Promise<Change<Result, ProposalEntry>> => {
      // While another process is still moving what has ended, it must not be overwritten. Otherwise, its epoch could come
      // again.
      if (open !== undefined && isFinal(open)) await this.#file(key, open)
      const final = await this.#final.get(key)
      const now = isNewer(open, final) ? open : final
      const { write, result } = await decide(now)
      // What has ended stays. To begin anew, or to note a decision about it, takes another epoch.
      const epoch = now === undefined ? 1 : isFinal(now) ? now.epoch + 1 : now.epoch
      return { write: write && { ...write, epoch }, result }
    })
    // The change is made. What this cannot tidy, the next `open` does.
    await this.#tidy(key).catch(() => {})
    return result
  }

  /**
   * Yields the entries that have not ended, in no particular order.
   *
   * @param onUnreadable called with the error of each entry that cannot be read. Without it, the first one is thrown.
   */
  async *open(onUnreadable?: OnUnreadable): Listing {
    for await (const [key, entry] of each(this.#open, onUnreadable)) {
      if (!isFinal(entry)) yield [key, entry]
      // A process was killed before it had moved the entry.
      else
        await this.#tidy(key).catch((thrown: unknown) => {
          if (onUnreadable === undefined || !isDamage(thrown)) throw thrown
          notify(onUnreadable, thrown)
        })
    }
  }

  /** Yields the entries that have ended, in no particular order. */
  final(onUnreadable?: OnUnreadable): Listing {
    return each(this.#final, onUnreadable)
  }

  /** Moves an entry that has ended, and removes one that does not count. */
  async #tidy(key: string): Promise<void> {
    const open = await this.#open.get(key)
    if (open === undefined) return
    if (!(await this.#file(key, open))) return
    await this.#open.change(key, (now) => ({ write: now?.epoch === open.epoch ? null : undefined, result: undefined }))
  }

  /** Writes an open entry that has ended on the final shelf. Returns whether it may be removed. */
  #file(key: string, open: ProposalEntry): Promise<boolean> {
    return this.#final.change<boolean>(key, (final) => {
      if (!isNewer(open, final)) return { result: true }
      return isFinal(open) ? { write: open, result: true } : { result: false }
    })
  }

  /** Whether a message was sent for the same basis. */
  async isOurs(content: ApprovedContent, id: string): Promise<boolean> {
    return (await this.#sent.get(await basisOf(content, id))) !== undefined
  }

  /** Notes a message that was sent, before its proposal ends. */
  async noteSent(content: ApprovedContent, id: string | undefined): Promise<void> {
    if (id === undefined || content.known === undefined) return
    await this.#sent.change(await basisOf(content, id), () => ({ write: {}, result: undefined }))
  }

  /** Whether another proposal of the same basis is being sent, whose message might be there already. */
  async isSiblingSending(key: string, content: ApprovedContent): Promise<boolean> {
    const basis = await basisOf(content)
    for await (const [other, entry] of each(this.#open, () => {})) {
      if (other !== key && entry.state === 'sending' && (await basisOf(entry.content)) === basis) return true
    }
    return false
  }

  /**
   * Returns where the journal keeps the records of what is sent. A record is a field of the entry, so that one
   * compare-and-set decides that the proposal is sent rather than rejected, changed, stale or expired.
   *
   * @param underWay what this process sends
   */
  forJournal(underWay: ReadonlyMap<string, UnderWay | undefined>): WriteEntries {
    return {
      get: async (key) => (await this.get(key))?.write,
      change: (key, decide) =>
        this.change(key, async (now) => {
          const { write, result } = await decide(now?.write)
          const isResult = write?.state === 'applied'
          // What has ended keeps its record.
          if (write === undefined || (now && isFinal(now) && (write === null || isResult))) return { result }
          const ours = underWay.get(key)
          const isApproved = now?.state === 'approved' && isSameVersion(now, ours?.entry)
          // A response counts, whatever a person has decided about the unconfirmed write meanwhile.
          if (now === undefined || (now.write === undefined && !isApproved && !isResult)) {
            throw notAllowed(key, 'sent', now)
          }
          // Two processes can have let different messages pass.
          const passed = [...new Set([...(now.passed ?? []), ...(ours?.passed ?? [])])]
          return { write: { ...now, write: write ?? undefined, state: write ? 'sending' : 'approved', passed }, result }
        }),
      pages: (onUnreadable) => this.#written(onUnreadable),
      isForeign: (key) => this.isForeign(key),
      foreign: (onUnreadable) => this.#foreign(onUnreadable),
    }
  }

  async *#foreign(onUnreadable: (error: unknown) => void) {
    for await (const page of this.#journal.pages(onUnreadable)) yield page.map(([, record]) => record)
  }

  async *#written(onUnreadable?: (error: unknown) => void) {
    for (const shelf of [this.#open, this.#final]) {
      for await (const page of shelf.pages(onUnreadable)) {
        yield page.flatMap(([key, { write }]) => (write === undefined ? [] : [[key, write] as const]))
      }
    }
  }
}

type Listing = AsyncGenerator<readonly [key: string, entry: ProposalEntry], void, undefined>

async function* each(entries: Entries<ProposalEntry>, onUnreadable?: OnUnreadable): Listing {
  for await (const page of entries.pages(onUnreadable as (error: unknown) => void)) yield* page
}

function isNewer(open: ProposalEntry | undefined, final: ProposalEntry | undefined): open is ProposalEntry {
  return open !== undefined && open.epoch > (final?.epoch ?? 0)
}

/** Whether an entry has not been begun anew, replaced or edited since it was read. */
export function isSameVersion(now: ProposalEntry, read: ProposalEntry | undefined): boolean {
  return now.digest === read?.digest && now.epoch === read.epoch
}

/** Identifies what a proposal knows of a conversation, with the id of a message that was sent for it. */
function basisOf({ service, organization, parameters, known }: ApprovedContent, sent?: string): Promise<string> {
  return sha256(JSON.stringify([service, organization, parameters.conversation_id, known, sent]))
}

function storageFailed(key: string | undefined, thrown: unknown): ApprovalsError {
  return new ApprovalsError(key, ...failureOf(key === undefined ? 'the approvals' : `the proposal "${key}"`, thrown))
}
