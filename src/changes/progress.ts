import { sortedJson } from '../shared/json.ts'
import { otherOrganization } from './reader.ts'
import type { Deletions, Progress } from './records.ts'
import type { Work } from './work.ts'

/**
 * A second reading of messages begins so many milliseconds after the pass of the first. A `Date` has whole seconds, so
 * this makes at least two seconds.
 */
export const settleTime = 3000

/**
 * Returns the progress of the feed, and starts it if there is none.
 *
 * @throws InvalidArgumentError if the storage belongs to another organization
 */
export function openProgress({ reader, records, settings }: Work, place: string): Promise<Progress> {
  const start = settings.since === 'now' ? Math.floor(reader.time / 1000) : null
  return records.progress.change('', (found) => {
    if (found !== undefined && found.place !== place) throw otherOrganization()
    const now: Progress = found ?? {
      ...{ place, starts: {}, read: [], passes: 0, ends: [], completedAt: null },
      ...{ audited: reader.time, held: {}, accepted: {} },
    }
    const added = [...settings.watch].filter((list) => !(list in now.starts))
    if (added.length === 0) return { result: now }
    const next = { ...now, starts: { ...now.starts, ...Object.fromEntries(added.map((list) => [list, start])) } }
    return { write: next, result: next }
  })
}

/** Stores that a pass has ended. */
export async function endPass(work: Work, isComplete: boolean, held: Deletions, audited: number): Promise<void> {
  const { counts, progress, reader, records, settings } = work
  const completed = (now: Progress) => ({
    completedAt: Date.now(),
    read: [...new Set([...now.read, ...settings.watch])],
    held,
    // What was accepted while this pass was running is for the next one.
    accepted: sortedJson(now.accepted) === sortedJson(progress.accepted) ? {} : now.accepted,
  })
  counts.completedAt = await records.progress.change('', (now) => {
    if (now === undefined) return { result: undefined }
    const ends = [...now.ends.filter((end) => end + settleTime > reader.time), reader.time]
    const write = { ...now, passes: now.passes + 1, ends, audited, ...(isComplete && completed(now)) }
    return { write, result: write.completedAt ?? undefined }
  })
  if (isComplete) counts.heldDeletions = held
}
