import type { Contact, Conversation } from '../client/index.ts'
import { entriesById } from './entries.ts'
import { isTurn } from './fingerprints.ts'
import { readMessages } from './messages.ts'
import { type Changes, type List, type Pass, settleTime } from './pass.ts'
import { acknowledge, changeOf, replace } from './records.ts'
import type { Mark } from './rows.ts'

/**
 * Runs one pass. The order of its steps gives the guarantees: rows are loaded before the service is read, and a row is only
 * replaced if it is still the one that was loaded. So a row always comes from a later reading than the row before. A row
 * and its change are one write, and a change leaves the storage when the program asks for the next.
 */
export async function* runPass(pass: Pass): Changes {
  const { reader, rows, settings } = pass.feed
  let { audited } = pass.progress
  let isComplete = true
  for (const list of settings.lists) {
    // What a crash or another process has left comes first, so that the changes of a conversation keep their order.
    for (const id of [...rows[list].pending]) yield* pass.deliver(list, id)
    const seen = new Set<string>()
    const isWhole = await survey(pass, list, seen)
    isComplete &&= isWhole
    const now = reader.time
    if (list === 'contacts') for (const id of [...rows.contacts.pending]) yield* pass.deliver(list, id)
    else yield* readConversations(pass, seen, now)
    if (list === 'conversations') audited = now
    if (isWhole) yield* findMissing(pass, list, seen)
  }
  for (const [list, count] of Object.entries(pass.held)) {
    pass.tell(
      `${count} ${list} are missing at once. None of them is reported as deleted.`,
      'Find out whether they were deleted, or whether the token sees less. If they were deleted, call `acceptDeletions`.',
    )
  }
  if (pass.takesOver) {
    pass.tell(
      'The feed takes over differences without reporting them, because fingerprints were made by another version or with another `ignore`.',
      'Changes of the same items in this time are not reported.',
    )
  }
  await pass.end(isComplete, audited)
}

/**
 * Reads a list, and stores what is new together with its change. Nothing is delivered before the list has ended,
 * because entries move while it is read. Returns whether an entry that was not seen is missing.
 */
async function survey(pass: Pass, list: List, seen: Set<string>): Promise<boolean> {
  const { printOf, reader, settings } = pass.feed
  const rows = pass.feed.rows[list]
  const look = async (item: Conversation | Contact) => {
    const { id, user } = item as Conversation
    seen.add(id)
    // The entry was seen before it moved, or another process has replaced its row. That change comes first.
    if (rows.pending.has(id)) return
    const print = await printOf(item)
    const mark = rows.mark(id)
    if (mark?.print === print && mark.missing === 'no') return
    const kind = pass.kindOf(list, item, mark?.print, print)
    const readsMessages = kind !== undefined && list === 'conversations' && settings.watch.has('messages')
    const task = readsMessages ? pass.progress.passes : mark?.task
    await rows.update(id, {
      ...{ print, missing: 'no', customer: typeof user?.id === 'string' ? user.id : undefined },
      task: typeof task === 'number' ? task : 'unread',
      outbox: kind !== undefined && settings.watch.has(list) ? [changeOf(list, kind, id, id, { value: item })] : [],
    })
  }
  let isReadable = true
  const refuse = (error: unknown, id?: string) => {
    if (id === undefined) {
      // Once is enough, because the service can have sent thousands of them.
      if (isReadable) reader.report({ error })
      isReadable = false
      return
    }
    // It is there, so it is not missing. The next pass tries again.
    seen.add(id)
    reader.report({ error, conversationId: list === 'conversations' ? id : undefined })
  }
  const use = (items: readonly (Conversation | Contact)[]) =>
    Promise.all([...entriesById(list, items, refuse).values()].map(look))
  return (await reader.read(list, '', use)) && isReadable
}

/** Reads messages: of changed conversations, and of unchanged ones as far as their time has come. */
async function* readConversations(pass: Pass, seen: ReadonlySet<string>, now: number): Changes {
  const { settings } = pass.feed
  const rows = pass.feed.rows.conversations
  const { audited, ends, passes } = pass.progress
  // The first pass that ended too late for a second reading.
  const recent = passes - ends.filter((end) => end + settleTime > now).length
  const isDue = (id: string) => {
    const { missing, print, task } = rows.mark(id) as Mark
    const isAudited = isTurn(print, audited, now, settings.auditEvery)
    if (!seen.has(id)) return missing === 'hidden' && isAudited
    if (rows.pending.has(id) || !settings.watch.has('messages')) return false
    return typeof task === 'number' ? task >= passes || task < recent : task === 'unread' || isAudited
  }
  const due = rows.ids.filter(isDue)
  for (const id of [...fromAnywhere([...rows.pending]), ...fromAnywhere(due)]) {
    if (seen.has(id)) yield* readMessages(pass, id)
    else yield* miss(pass, 'conversations', id, false)
  }
}

/** Begins a list anywhere, because broken conversations can use up the time of each job before those behind them. */
function fromAnywhere(ids: readonly string[]): readonly string[] {
  const start = Math.floor(Math.random() * ids.length)
  return [...ids.slice(start), ...ids.slice(0, start)]
}

/** Looks after rows that a complete pass lacked. */
async function* findMissing(pass: Pass, list: List, seen: ReadonlySet<string>): Changes {
  const { rows, settings } = pass.feed
  if (list === 'contacts' && !settings.deletions.has('contacts')) return
  const { ids } = rows[list]
  const missing = ids.filter((id) => !seen.has(id) && rows[list].mark(id)?.missing !== 'hidden')
  const isHeld = pass.isHeld(list, missing.length, ids.length)
  for (const id of fromAnywhere(missing)) yield* miss(pass, list, id, isHeld)
}

/** Asks for an item that a pass lacked, and reports it as deleted if it is gone. */
async function* miss(pass: Pass, list: List, id: string, isHeld: boolean): Changes {
  const { reader, records, settings } = pass.feed
  const rows = pass.feed.rows[list]
  const { missing } = rows.mark(id) ?? {}
  if (missing === undefined || rows.pending.has(id) || (missing === 'once' && isHeld)) return
  const isAsked = missing !== 'no' && list === 'conversations'
  const isGone = isAsked ? await reader.isGone(id) : missing === 'once'
  if (isGone === undefined) return
  // A hidden one was there when it was asked for before. Whether many are gone at once is asked again.
  if (!isGone || missing === 'hidden') {
    const next = isAsked && !isGone ? 'hidden' : 'once'
    if (next !== missing) await rows.update(id, { missing: next })
    return
  }
  if (list === 'conversations') {
    const { row, messages } = yield* pass.deliver(list, id)
    if (row === undefined) return
    const lost = settings.deletions.has('messages') ? Object.keys(messages?.prints ?? {}) : []
    const outbox = lost.map((each) => changeOf('messages', 'deleted', each, id))
    const emptied = { prints: {}, absent: [], outbox }
    const stored = await reader.patiently(() => replace(records.messages, id, messages?.revision, emptied))
    if (stored === undefined) return
    yield* pass.report(records.messages, id)
    await reader.patiently(() => records.messages.change(id, () => ({ write: null, result: undefined })))
  }
  const deletion = changeOf(list, 'deleted', id, id)
  await rows.update(id, { outbox: [deletion] })
  if (settings.watch.has(list)) yield* pass.deliver(list, id)
  // Nobody asks for the deletion, so only the row goes.
  else rows.adopt(id, (await reader.patiently(() => acknowledge(records[list], id, deletion.key))).left)
}
