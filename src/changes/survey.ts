import type { Contact, Conversation } from '../client/index.ts'
import { SupportWorkspaceError } from '../errors/index.ts'
import { throwIfAborted } from '../shared/abort.ts'
import { randomId } from '../shared/bytes.ts'
import { type Change, keyOf } from './change.ts'
import { areComparable } from './fingerprints.ts'
import type { Row } from './records.ts'
import type { Items } from './service.ts'
import type { Work } from './work.ts'

/** What a reading of a list has found. */
export interface Survey {
  /** Ids of all entries. */
  readonly seen: ReadonlySet<string>
  /** Ids of rows with a change. */
  readonly changed: readonly string[]
  /**
   * Whether the list was read in one go. A list that was resumed or begun again can lack entries that have moved
   * meanwhile, so a missing entry means nothing.
   */
  readonly isComplete: boolean
}

/**
 * Reads the list of conversations or contacts, and stores what is new together with its change. Nothing is delivered
 * before the list has ended, because entries move while it is read.
 */
export async function survey(work: Work, list: 'conversations' | 'contacts'): Promise<Survey> {
  const seen = new Set<string>()
  const changed: string[] = []
  let isComplete = true
  let resumeFrom: { readonly cursor: string | null; readonly done: boolean } | null = null
  let rejected = 0
  let reached = 0
  for (let attempt = 1; ; attempt += 1) {
    try {
      for await (const page of work.service.list(list, '', resumeFrom).pages()) {
        checkIds(list, page.data)
        const isNew = (item: { readonly id: string }) => !seen.has(item.id)
        const rows = await Promise.all(
          page.data.filter(isNew).map(async (item) => [item.id, await rowOf(work, list, item)] as const),
        )
        for (const [id] of rows) seen.add(id)
        await Promise.all(
          rows.map(async ([id, row]) => {
            if (row === undefined) return
            const stored = await work.patiently(() => work.rows[list].replace(id, row))
            if (stored?.outbox === undefined && typeof stored?.task !== 'number') return
            changed.push(id)
            work.rows[list].leftovers.add(id)
          }),
        )
        throwIfAborted(work.settings.signal)
        resumeFrom = page.checkpoint
        attempt = 1
      }
      return { seen, changed, isComplete }
    } catch (error) {
      if (seen.size > reached) rejected = 0
      reached = seen.size
      rejected += 1
      const isUntouched = resumeFrom === null
      const step = await work.afterListError(list, error, attempt, rejected)
      if (step === 'end') return { seen, changed, isComplete: false }
      if (step === 'again') resumeFrom = null
      isComplete = isComplete && isUntouched
    }
  }
}

/** Returns the row for an entry that is new or differs from its row. */
async function rowOf(
  work: Work,
  list: 'conversations' | 'contacts',
  item: Conversation | Contact,
): Promise<Row | undefined> {
  const { watch } = work.settings
  const { starts, passes, read } = work.progress
  const { id } = item
  const print = await work.prints.of(item)
  const mark = work.rows[list].mark(id)
  const isWatched = watch.has(list)
  const readsMessages = list === 'conversations' && watch.has('messages')
  const customer = list === 'conversations' && typeof item.user?.id === 'string' ? item.user.id : undefined
  const row: Row = { print, isWatched, absence: 'no', customer, task: readsMessages ? 'unread' : 'none' }
  const changedRow = (kind: 'created' | 'updated'): Row => {
    const key = keyOf(list, id, id, randomId())
    const owner = list === 'conversations' && { conversationId: id }
    const outbox = isWatched ? ({ resource: list, kind, id, ...owner, value: item, key } as Change) : undefined
    return { ...row, task: readsMessages ? passes : outbox ? 'outbox' : 'none', outbox }
  }
  if (mark === undefined) return isNewFor(work, list, item) ? changedRow('created') : row
  // Another process has changed the row meanwhile, and its changes come first.
  if (mark.absence === 'gone' || work.rows[list].leftovers.has(id)) return undefined
  if (isWatched && !mark.isWatched && starts[list] === null) return changedRow('created')
  let { task } = mark
  if (task === 'none' && readsMessages && !read.includes('messages')) {
    const messages = await work.patiently(() => work.records.messages.get(id))
    if (messages === undefined) task = 'unread'
  }
  if (mark.print === print) {
    const isSame = mark.absence === 'no' && mark.isWatched === isWatched && mark.task === task
    return isSame ? undefined : { ...row, task }
  }
  if (areComparable(mark.print, print)) return changedRow('updated')
  work.tellAdoption()
  return typeof task === 'number' ? { ...row, task } : row
}

/** Whether an item without a row has come after the start of the feed. */
function isNewFor(work: Work, list: 'conversations' | 'contacts', item: Conversation | Contact): boolean {
  const { starts, read } = work.progress
  const start = list in starts ? starts[list] : starts.messages
  if (typeof start !== 'number' || read.includes(list)) return true
  return typeof item.inserted_at === 'number' && item.inserted_at >= start
}

/** Refuses a page with an entry without an id, or with an id twice, because entries are told apart by their ids. */
export function checkIds(list: keyof Items, items: readonly { readonly id?: unknown }[]): void {
  const ids = new Set<unknown>()
  for (const item of items) {
    const id = typeof item === 'object' ? item?.id : undefined
    const isValid = typeof id === 'string' && id !== '' && id.isWellFormed()
    if (isValid && !ids.has(id)) ids.add(id)
    else {
      throw new SupportWorkspaceError(
        `\`${list}.list\` returned ${isValid ? 'an id twice on a page' : 'an entry without a valid `id`'}.`,
        { hint: 'The feed tells entries apart by their ids. Report this to the service.' },
      )
    }
  }
}
