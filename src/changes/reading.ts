import type { Message } from '../client/index.ts'
import { randomId } from '../shared/bytes.ts'
import { authorOf, type Change, keyOf } from './change.ts'
import { areComparable } from './fingerprints.ts'
import type { MessagesRow, Row } from './records.ts'
import type { Work } from './work.ts'

/** What is stored of messages, without the random text that each replacement gets. */
export type MessagesContent = Omit<MessagesRow, 'revision'>

/** Number of changes that are stored together. Each acknowledgement writes those that are left. */
const mostTogether = 20

/**
 * Compares messages with what is stored of them. Yields what is to be stored next, in parts. Each part has the
 * fingerprints of its changes, and the earlier fingerprints of those that come later.
 *
 * @param isComplete whether a message that was not found is missing
 */
export async function* compare(
  work: Work,
  id: string,
  { customer }: Row,
  before: MessagesRow | undefined,
  found: ReadonlyMap<string, Message>,
  isComplete: boolean,
): AsyncGenerator<MessagesContent, void, undefined> {
  const prints = new Map(Object.entries(before?.prints ?? {}))
  const missing = isComplete ? missingOf(work, before, found) : { deleted: [], absent: before?.absent ?? [] }
  let outbox: Change[] = []
  const part = (absent = before?.absent ?? []) => ({ prints: Object.fromEntries(prints), absent, outbox })
  const printed = oldestFirst(found.values()).map(async (message) => [message, await work.prints.of(message)] as const)
  const changed: (readonly [Message, print: string, kind: 'created' | 'updated'])[] = []
  for (const [message, print] of await Promise.all(printed)) {
    const kind = kindOf(work, message, print, before)
    if (kind === undefined) prints.set(message.id, print)
    else changed.push([message, print, kind])
  }
  for (const [value, print, kind] of changed) {
    prints.set(value.id, print)
    const key = keyOf('messages', id, value.id, randomId())
    const written = authorOf(value, customer, work.reader.you)
    outbox.push({ resource: 'messages', kind, id: value.id, conversationId: id, value, ...written, key })
    if (outbox.length < mostTogether) continue
    yield part()
    outbox = []
  }
  for (const lost of missing.deleted) prints.delete(lost)
  outbox.push(...missing.deleted.map((lost) => deletionOf('messages', lost, id)))
  yield part(missing.absent)
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
function missingOf(work: Work, before: MessagesRow | undefined, found: ReadonlyMap<string, Message>) {
  const known = Object.keys(before?.prints ?? {})
  const missing = work.settings.deletions.has('messages') ? known.filter((id) => !found.has(id)) : []
  if (missing.length > work.allowedDeletions('messages', known.length)) {
    work.heldMessages += missing.length
    return { deleted: [], absent: missing }
  }
  const deleted = new Set(missing.filter((id) => before?.absent.includes(id)))
  return { deleted: [...deleted], absent: missing.filter((id) => !deleted.has(id)) }
}

/** The oldest message first, as far as their times are known. The service lists the newest first. */
function oldestFirst(items: Iterable<Message>): Message[] {
  return [...items].reverse().sort((one, other) => (one.inserted_at ?? 0) - (other.inserted_at ?? 0))
}

/** Returns the change for an item that is gone. */
export function deletionOf(list: Change['resource'], id: string, owner: string): Change {
  const conversation = list !== 'contacts' && { conversationId: owner }
  return { resource: list, kind: 'deleted', id, ...conversation, key: keyOf(list, owner, id, randomId()) } as Change
}
