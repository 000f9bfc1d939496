import type { Message } from '../client/index.ts'
import { randomId } from '../shared/bytes.ts'
import { authorOf, type Change, keyOf } from './change.ts'
import { areComparable } from './fingerprints.ts'
import type { MessagesRow, Row } from './records.ts'
import { checkIds } from './survey.ts'
import type { Work } from './work.ts'

/** Messages by id. */
export type Messages = ReadonlyMap<string, Message>

/** Changes that are stored together, and the size of their texts. */
const mostTogether = { changes: 100, size: 256 * 1024 }

/**
 * Reads the messages of a conversation in one go. Returns undefined if they cannot be read: the conversation is then
 * skipped until the next pass.
 */
export async function readMessages(work: Work, id: string): Promise<Messages | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const found = new Map<string, Message>()
      for await (const page of work.service.list('messages', id).pages()) {
        checkIds('messages', page.data)
        for (const message of page.data) found.set(message.id, message)
      }
      work.succeed()
      return found
    } catch (error) {
      if (work.skips(id, error)) return undefined
      if ((await work.afterListError('messages', error, attempt, attempt)) === 'end') return undefined
    }
  }
}

/** Compares messages with what is stored of them. Returns what is to be stored next, with the changes in its outbox. */
export async function compare(
  work: Work,
  id: string,
  row: Row,
  before: MessagesRow | undefined,
  found: Messages,
): Promise<MessagesRow> {
  const { progress, service, settings } = work
  const start = progress.starts.messages
  const prints = new Map(Object.entries(before?.prints ?? {}))
  const outbox: Change[] = []
  const note = (kind: Change['kind'], messageId: string, value?: Message) => {
    const key = keyOf('messages', id, messageId, randomId())
    const written = value && { value, ...authorOf(value, row.customer, service.you) }
    outbox.push({ resource: 'messages', kind, id: messageId, conversationId: id, ...written, key } as Change)
  }
  const items = [...found.values()]
  const added = work.addedFields('messages', items, before?.known)
  const printed = sorted(items).map(async (message) => [message, await work.prints.of(message)] as const)
  for (const [message, print] of await Promise.all(printed)) {
    const old = prints.get(message.id)
    prints.set(message.id, print)
    if (old === undefined) {
      const { inserted_at: time } = message
      if (typeof start !== 'number' || (typeof time === 'number' ? time >= start : before !== undefined)) {
        note('created', message.id, message)
      }
    } else if (old !== print) {
      if (!areComparable(old, print)) {
        work.tellAdoption('fingerprints were made by another version or with another `ignore`')
      } else if (added.size > 0 && old === (await work.prints.of(message, added))) {
        work.tellAdoption(`the service sends new fields (messages: ${[...added].join(', ')})`)
      } else note('updated', message.id, message)
    }
  }
  const missing = settings.deletions.has('messages') ? [...prints.keys()].filter((each) => !found.has(each)) : []
  const isHeld = missing.length > work.allowedDeletions('messages', prints.size)
  if (isHeld) work.heldMessages += missing.length
  const deleted = isHeld ? [] : missing.filter((each) => before?.absent.includes(each))
  for (const each of deleted) {
    prints.delete(each)
    note('deleted', each)
  }
  const absent = missing.filter((each) => !deleted.includes(each))
  return { prints: Object.fromEntries(prints), absent, known: work.fieldsOf('messages').length, outbox }
}

/**
 * Divides the changes of a conversation into parts that are stored one after the other. Each part has the fingerprints of
 * its changes, and the earlier fingerprints of those that come later.
 */
export function partsOfComparison(before: MessagesRow | undefined, next: MessagesRow): MessagesRow[] {
  const parts: MessagesRow[] = []
  const { prints, absent, known } = next
  let changes: Change[] = []
  let size = 0
  const later = new Set(next.outbox.map((change) => change.id))
  const close = () => {
    const stored = Object.entries({ ...before?.prints, ...prints }).flatMap(([id, print]) => {
      const now = later.has(id) ? before?.prints[id] : prints[id]
      return now === undefined ? [] : [[id, now ?? print] as const]
    })
    parts.push({
      prints: Object.fromEntries(stored),
      known,
      absent: later.size > 0 ? (before?.absent ?? []) : absent,
      outbox: changes,
    })
    changes = []
    size = 0
  }
  for (const change of next.outbox) {
    changes.push(change)
    later.delete(change.id)
    size += JSON.stringify(change).length
    if (changes.length >= mostTogether.changes || size >= mostTogether.size) close()
  }
  if (changes.length > 0 || parts.length === 0) close()
  return parts
}

/** The oldest message first, as far as their times are known. The service lists the newest first. */
function sorted(items: readonly Message[]): Message[] {
  return [...items].reverse().sort((one, other) => (one.inserted_at ?? 0) - (other.inserted_at ?? 0))
}
