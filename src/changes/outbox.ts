import { partsOf } from './change.ts'
import type { Records } from './records.ts'

/** Removes a change from its outbox: one write. Returns false if it is not there, because it was acknowledged before. */
export async function acknowledge(records: Records, key: string): Promise<boolean> {
  const { resource, owner } = partsOf(key) ?? {}
  if (resource === undefined || owner === undefined) return false
  if (resource === 'messages') {
    const left = await records.messages.change(owner, (now) => {
      const outbox = now?.outbox.filter((change) => change.key !== key) ?? []
      return now !== undefined && outbox.length < now.outbox.length ? { ...now, outbox } : undefined
    })
    return left !== undefined
  }
  const row = await records[resource].get(owner)
  if (row?.outbox?.key !== key) return false
  if (row.absence === 'gone') {
    await removeGone(records, resource, owner)
    return true
  }
  const left = await records[resource].change(owner, (now) =>
    now?.outbox?.key === key
      ? { ...now, outbox: undefined, task: now.task === 'outbox' ? 'none' : now.task }
      : undefined,
  )
  return left !== undefined
}

/** Removes what is stored of a deleted conversation or contact. The row goes last, because it leads to the messages. */
export async function removeGone(records: Records, list: 'conversations' | 'contacts', id: string): Promise<void> {
  const messages = list === 'conversations' ? await records.messages.get(id) : undefined
  if (messages !== undefined) await records.messages.replace(id, messages.revision, null)
  await records[list].change(id, (row) => (row?.absence === 'gone' ? null : undefined))
}
