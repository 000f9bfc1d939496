import { type Change, partsOf } from './change.ts'
import type { Stored } from './entries.ts'
import type { MessagesRow, Records, Row } from './records.ts'

/** Returns the changes of the messages of a conversation that are not acknowledged. */
export function pendingOf(messages: Stored<MessagesRow> | undefined, row: Row | undefined): readonly Change[] {
  if (messages === undefined) return []
  return messages.outbox.slice(row?.done?.revision === messages.revision ? row.done.count : 0)
}

/**
 * Removes a change from its outbox: one write. Returns false if it is not there, because it was acknowledged before.
 *
 * The entry of the messages can be large, so it is only written for the last change of its outbox. The row of the
 * conversation counts those before.
 */
export async function acknowledge(records: Records, key: string): Promise<boolean> {
  const parts = partsOf(key)
  if (parts === undefined) return false
  const { resource, owner } = parts
  if (resource !== 'messages') return acknowledgeEntry(records, resource, owner, key)
  const rows = records.conversations
  for (;;) {
    const messages = await records.messages.get(owner)
    const isOnly = messages?.outbox.length === 1
    const pending = pendingOf(messages, isOnly ? undefined : await rows.get(owner))
    const index = pending.findIndex((change) => change.key === key)
    if (messages === undefined || index === -1) return false
    if (index === 0 && pending.length > 1) {
      const { revision, outbox } = messages
      const done = { revision, count: outbox.length - pending.length + 1 }
      if ((await rows.change(owner, (row) => row && { ...row, done })) !== undefined) return true
    }
    const outbox = pending.filter((change) => change.key !== key)
    if ((await records.messages.replace(owner, messages.revision, { ...messages, outbox })) !== undefined) return true
  }
}

async function acknowledgeEntry(
  records: Records,
  list: 'conversations' | 'contacts',
  id: string,
  key: string,
): Promise<boolean> {
  const rows = records[list]
  const row = await rows.get(id)
  if (row?.outbox?.key !== key) return false
  if (row.absence === 'gone') {
    await removeGone(records, list, id)
    return true
  }
  const changed = await rows.change(id, (now) =>
    now?.outbox?.key === key
      ? { ...now, outbox: undefined, task: now.task === 'outbox' ? 'none' : now.task }
      : undefined,
  )
  return changed !== undefined
}

/** Removes what is stored of a deleted conversation or contact. The row goes last, because it leads to the messages. */
export async function removeGone(records: Records, list: 'conversations' | 'contacts', id: string): Promise<void> {
  const messages = list === 'conversations' ? await records.messages.get(id) : undefined
  if (messages !== undefined) await records.messages.replace(id, messages.revision, null)
  await records[list].change(id, (row) => (row?.absence === 'gone' ? null : undefined))
}
