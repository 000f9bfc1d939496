import type { Message } from '../client/index.ts'
import { sortedJson } from '../shared/json.ts'
import type { Change, Written } from './change.ts'
import type { Changes, Pass } from './pass.ts'
import type { Reader } from './reader.ts'
import { changeOf, type MessagesRow, type Row, replace } from './records.ts'

/** Number of changes that are stored together. Each acknowledgement writes those that are left. */
const mostTogether = 20

/** Reports the changes of a conversation, and reads its messages. */
export async function* readMessages(pass: Pass, id: string): Changes {
  const { counts, reader, records, rows, settings } = pass.feed
  const { passes } = pass.progress
  const { row, messages } = yield* pass.deliver('conversations', id)
  if (row === undefined || !settings.watch.has('messages')) return
  // This pass has read them before it was interrupted.
  if (typeof row.task === 'number' && row.task >= passes && messages?.readFor === row.revision) return
  const isSecond = typeof row.task === 'number' && row.task < passes
  const reading = await reader.messagesOf(id)
  if (reading === undefined) {
    // The next pass tries again, and its reading is the first.
    if (!isSecond && row.task !== 'unread') await rows.conversations.update(id, { task: 'unread' })
    return
  }
  const { prints, changes, absent } = await compare(pass, id, row, messages, reading)
  const isLast =
    reading.isComplete && absent.length === 0 && (isSecond || (row.task === 'unread' && changes.length === 0))
  // Before the messages are stored, the row must lead to them.
  const needsTask = typeof row.task === 'number' ? !isSecond : changes.length > 0 || absent.length > 0
  const leading = needsTask ? await lead(pass, id, row) : row
  if (leading === undefined) return
  let now = messages
  do {
    const part = changes.splice(0, mostTogether)
    for (const [change, print] of part) {
      if (print === undefined) prints.delete(change.id)
      else prints.set(change.id, print)
    }
    // The earlier fingerprints of what comes in a later part stay.
    const next = { prints: Object.fromEntries(prints), absent, outbox: part.map(([change]) => change) }
    if (part.length === 0 && sortedJson({ ...now, ...next }) === sortedJson(now)) break
    const revision = now?.revision
    const readFor = changes.length === 0 ? leading.revision : undefined
    now = await reader.patiently(() => replace(records.messages, id, revision, { ...next, readFor }))
    if (now === undefined) {
      counts.conflicts += 1
      return
    }
    if (row.task === 'no') counts.foundByAudit += part.length
    if (part.length > 0) yield* pass.report(records.messages, id)
  } while (changes.length > 0)
  if (!isLast) return
  // Without a task, the row does not lead to what another process has stored meanwhile.
  const last = await reader.patiently(() => records.messages.get(id))
  if (last?.revision === now?.revision) await rows.conversations.update(id, { task: 'no' })
}

/**
 * Lets a row lead to its messages and their second reading. The pass of the first reading is the one that runs now: another
 * process can have ended passes since this one has read the list. Returns undefined if another process has replaced the row.
 */
async function lead({ feed, progress }: Pass, id: string, row: Row): Promise<Row | undefined> {
  const { reader, records, rows } = feed
  const now = await reader.patiently(() => records.progress.get(''))
  const task = now?.passes ?? progress.passes
  if (typeof row.task === 'number' && row.task >= task) return row
  const leading = await rows.conversations.update(id, { task })
  // The other process has read the messages meanwhile, and took its reading for the second one.
  const isEnded = typeof row.task === 'number' && rows.conversations.mark(id)?.task === 'no'
  return leading ?? (isEnded ? rows.conversations.update(id, { task }) : undefined)
}

/**
 * Compares messages with what is stored of them. Returns changes with the fingerprints to store with them (undefined for
 * deletions), the other fingerprints, and the ids that a second reading must lack as well.
 */
async function compare(
  pass: Pass,
  id: string,
  { customer }: Row,
  before: MessagesRow | undefined,
  { found, isComplete }: { readonly found: ReadonlyMap<string, Message>; readonly isComplete: boolean },
) {
  const { printOf, reader, settings } = pass.feed
  const prints = new Map(Object.entries(before?.prints ?? {}))
  const changes: [change: Change, print: string | undefined][] = []
  let absent = before?.absent ?? []
  if (isComplete) {
    const missing = settings.deletions.has('messages') ? [...prints.keys()].filter((each) => !found.has(each)) : []
    const isHeld = pass.isHeld('messages', missing.length, prints.size)
    const gone = new Set(isHeld ? [] : missing.filter((each) => before?.absent.includes(each)))
    for (const each of gone) changes.push([changeOf('messages', 'deleted', each, id), undefined])
    absent = missing.filter((each) => !gone.has(each))
  }
  // The oldest first, as far as their times are known. The service lists the newest first.
  const oldestFirst = [...found.values()]
    .reverse()
    .sort((one, other) => (one.inserted_at ?? 0) - (other.inserted_at ?? 0))
  const printed = oldestFirst.map(async (value) => [value, await printOf(value)] as const)
  for (const [value, print] of await Promise.all(printed)) {
    const kind = pass.kindOf('messages', value, prints.get(value.id), print, before !== undefined)
    const written = { author: authorOf(value, customer, reader.you), isAutomatic: value.is_ai_message === true }
    if (kind === undefined) prints.set(value.id, print)
    else changes.push([changeOf('messages', kind, value.id, id, { value, ...written }), print])
  }
  return { prints, changes, absent }
}

/** Returns who wrote a message. Comes first to `you`, so that a program does not answer itself. */
export function authorOf({ user }: Message, customer: string | undefined, you: Reader['you']): Written['author'] {
  const author = user?.id
  if (typeof author !== 'string') return 'unknown'
  if (author === you) return 'you'
  if (customer === undefined) return 'unknown'
  if (author === customer) return 'customer'
  return you === null ? 'unknown' : 'other'
}
