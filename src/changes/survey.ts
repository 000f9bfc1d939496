import type { Contact, Conversation } from '../client/index.ts'
import { randomId } from '../shared/bytes.ts'
import { type Change, keyOf } from './change.ts'
import { areComparable } from './fingerprints.ts'
import type { Row } from './records.ts'
import type { Work } from './work.ts'

/** What a reading of a list has found. */
export interface Survey {
  /** Ids of all entries. */
  readonly seen: ReadonlySet<string>
  /** Ids of rows with a change. */
  readonly changed: ReadonlySet<string>
  /** Whether an entry that was not seen is missing. */
  readonly isComplete: boolean
}

/**
 * Reads the list of conversations or contacts, and stores what is new together with its change. Nothing is delivered
 * before the list has ended, because entries move while it is read.
 */
export async function survey(work: Work, list: 'conversations' | 'contacts'): Promise<Survey> {
  const rows = work.rows[list]
  const seen = new Set<string>()
  const changed = new Set<string>()
  const look = async (item: Conversation | Contact) => {
    const { id } = item
    seen.add(id)
    const row = rowOf(work, list, item, await work.prints.of(item))
    const stored = row && (await work.reader.patiently(() => rows.replace(id, row)))
    if (stored === undefined || (stored.outbox.length === 0 && typeof stored.task !== 'number')) return
    changed.add(id)
    rows.undelivered.add(id)
  }
  const isComplete = await work.reader.read(list, '', (items) => Promise.all(items.map(look)))
  return { seen, changed, isComplete }
}

/** Returns the row for an entry that is new or differs from its row. */
function rowOf(
  work: Work,
  list: 'conversations' | 'contacts',
  item: Conversation | Contact,
  print: string,
): Omit<Row, 'revision'> | undefined {
  const { id, user } = item as Conversation
  const { watch } = work.settings
  const { passes } = work.progress
  const mark = work.rows[list].mark(id)
  // The entry was seen before it moved, or another process has replaced its row. That change comes first.
  if (work.rows[list].undelivered.has(id)) return undefined
  const row = {
    print,
    missing: 'no',
    customer: typeof user?.id === 'string' ? user.id : undefined,
    outbox: [],
  } as const
  const changedRow = (kind: 'created' | 'updated') => {
    const owner = list === 'conversations' && { conversationId: id }
    const change = { resource: list, kind, id, ...owner, value: item, key: keyOf(list, id, id, randomId()) } as Change
    const readsMessages = list === 'conversations' && watch.has('messages')
    return { ...row, task: readsMessages ? passes : ('unread' as const), outbox: watch.has(list) ? [change] : [] }
  }
  if (mark === undefined) return isNewFor(work, list, item) ? changedRow('created') : { ...row, task: 'unread' }
  if (mark.print === print) return mark.missing === 'no' ? undefined : { ...row, task: mark.task }
  if (areComparable(mark.print, print)) return changedRow('updated')
  work.tellAdoption()
  return { ...row, task: typeof mark.task === 'number' ? mark.task : 'unread' }
}

/** Whether an item without a row has come after the start of the feed. */
function isNewFor(work: Work, list: 'conversations' | 'contacts', item: Conversation | Contact): boolean {
  const { starts, read } = work.progress
  const start = list in starts ? starts[list] : starts.messages
  if (typeof start !== 'number' || read.includes(list)) return true
  return typeof item.inserted_at === 'number' && item.inserted_at >= start
}
