import type { Message } from '../client/index.ts'
import { randomId } from '../shared/bytes.ts'
import { authorOf, type Change, keyOf } from './change.ts'
import { areComparable } from './fingerprints.ts'
import type { MessagesRow, Row } from './records.ts'
import { checkIds } from './survey.ts'
import type { Work } from './work.ts'

/** Messages by id. */
export type Messages = ReadonlyMap<string, Message>

/** Changes that are stored together. Each acknowledgement writes those that are left. */
const mostTogether = { changes: 20, size: 64 * 1024 }

/** Reads the messages of a conversation in one go. */
export async function readMessages(work: Work, id: string): Promise<Messages> {
  const found = new Map<string, Message>()
  for await (const page of work.service.list('messages', id).pages()) {
    checkIds('messages', page.data)
    for (const message of page.data) found.set(message.id, message)
  }
  return found
}

/**
 * Compares messages with what is stored of them. Yields what is to be stored next, in parts. Each part has the
 * fingerprints of its changes, and the earlier fingerprints of those that come later.
 */
export async function* compare(
  work: Work,
  id: string,
  row: Row,
  before: MessagesRow | undefined,
  found: Messages,
): AsyncGenerator<MessagesRow, void, undefined> {
  const prints = new Map(Object.entries(before?.prints ?? {}))
  const printed = sorted(found.values()).map(async (message) => [message, await work.prints.of(message)] as const)
  const changed: (readonly [Message, print: string, kind: 'created' | 'updated'])[] = []
  for (const [message, print] of await Promise.all(printed)) {
    const kind = kindOf(work, message, print, before)
    if (kind === undefined) prints.set(message.id, print)
    else changed.push([message, print, kind])
  }
  const { deleted, absent } = missingOf(work, before, found)
  let outbox: Change[] = []
  let size = 0
  const isFull = (messageId: string, kind: Change['kind'], value?: Message) => {
    const key = keyOf('messages', id, messageId, randomId())
    const written = value && { value, ...authorOf(value, row.customer, work.service.you) }
    outbox.push({ resource: 'messages', kind, id: messageId, conversationId: id, ...written, key } as Change)
    size += JSON.stringify(value ?? '').length
    return outbox.length >= mostTogether.changes || size >= mostTogether.size
  }
  const close = (): MessagesRow => {
    const part = { prints: Object.fromEntries(prints), absent: before?.absent ?? [], outbox }
    outbox = []
    size = 0
    return part
  }
  for (const [message, print, kind] of changed) {
    prints.set(message.id, print)
    if (isFull(message.id, kind, message)) yield close()
  }
  for (const messageId of deleted) {
    prints.delete(messageId)
    if (isFull(messageId, 'deleted')) yield close()
  }
  yield { ...close(), absent }
}

/** Returns what to report of a message. Undefined if nothing has changed, or if it is taken over silently. */
function kindOf(
  work: Work,
  message: Message,
  print: string,
  before: MessagesRow | undefined,
): 'created' | 'updated' | undefined {
  const old = before?.prints[message.id]
  if (old === print) return undefined
  if (old === undefined) {
    const start = work.progress.starts.messages
    const { inserted_at: time } = message
    if (typeof start !== 'number') return 'created'
    return (typeof time === 'number' ? time >= start : before !== undefined) ? 'created' : undefined
  }
  if (areComparable(old, print)) return 'updated'
  work.tellAdoption()
  return undefined
}

/** Returns the ids of messages that are gone, and of those that a second reading must lack as well. */
function missingOf(work: Work, before: MessagesRow | undefined, found: Messages) {
  const known = Object.keys(before?.prints ?? {})
  const missing = work.settings.deletions.has('messages') ? known.filter((id) => !found.has(id)) : []
  if (missing.length > work.allowedDeletions('messages', known.length)) {
    work.heldMessages += missing.length
    return { deleted: [], absent: missing }
  }
  const deleted = new Set(missing.filter((id) => before?.absent.includes(id)))
  return { deleted, absent: missing.filter((id) => !deleted.has(id)) }
}

/** The oldest message first, as far as their times are known. The service lists the newest first. */
function sorted(items: Iterable<Message>): Message[] {
  return [...items].reverse().sort((one, other) => (one.inserted_at ?? 0) - (other.inserted_at ?? 0))
}
