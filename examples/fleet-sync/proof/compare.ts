import { isDeepStrictEqual } from 'node:util'
import type { Change, StoredItem } from '../database.ts'
import type { Truth } from './service.ts'

/** The differences between a replica, the changes it reported, and what the organization really has. */
export interface Differences {
  /** Items that the replica lacks or has in an old state, and items that were never reported as created. */
  lost: number
  /** Items that the organization does not have, and changes that were reported more often than they happened. */
  doubled: number
  /** Items that were reported as deleted although they never were. */
  falseDeletions: number
  /** Items whose deletion was not reported. */
  missedDeletions: number
}

export const noDifferences: Differences = { lost: 0, doubled: 0, falseDeletions: 0, missedDeletions: 0 }

export function compare(stored: readonly StoredItem[], changes: readonly Change[], truth: Truth): Differences {
  const live = new Map(stored.filter(({ deleted }) => !deleted).map((item) => [item.id, item]))
  const real = new Map(truth.items.map((item) => [item.id, item]))
  const created = countById(changes, 'created')
  const deleted = countById(changes, 'deleted')
  const isStored = ({ id, kind, data }: Truth['items'][number]) => {
    const item = live.get(id)
    return item !== undefined && item.kind === kind && isDeepStrictEqual(item.data, data)
  }
  return {
    lost: truth.items.filter((item) => !isStored(item) || !created.has(item.id)).length,
    doubled: [...live.keys()].filter((id) => !real.has(id)).length + doubledChanges(changes, truth),
    falseDeletions:
      [...deleted.keys()].filter((id) => !truth.deleted.has(id)).length + countById(changes, 'restored').size,
    // An item that was deleted before a sweep could see it was never created here.
    missedDeletions: [...truth.deleted].filter((id) => created.has(id) && !deleted.has(id)).length,
  }
}

/** Returns how many changes were reported more often than they can have happened. Also right in the middle of a sweep. */
export function doubledChanges(changes: readonly Change[], { edits }: Truth): number {
  const surplus = (change: Change['change'], allowed: (id: string) => number) =>
    [...countById(changes, change)].reduce((sum, [id, count]) => sum + Math.max(0, count - allowed(id)), 0)
  return (
    surplus('created', () => 1) +
    surplus('deleted', () => 1) +
    surplus('updated', (id) => edits.get(id) ?? 0) +
    // The numbers of the log have neither gaps nor repetitions.
    changes.filter(({ number }, index) => number !== index + 1).length
  )
}

function countById(changes: readonly Change[], change: Change['change']): Map<string, number> {
  const counts = new Map<string, number>()
  for (const each of changes) if (each.change === change) counts.set(each.id, (counts.get(each.id) ?? 0) + 1)
  return counts
}
