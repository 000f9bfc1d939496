import type { WatchedList } from './change.ts'
import type { Feed, Pass } from './pass.ts'
import { otherOrganization } from './reader.ts'
import type { Progress } from './records.ts'

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
export function openProgress({ reader, records, settings }: Feed, place: string): Promise<Progress> {
  const start = settings.since === 'now' ? Math.floor(reader.time / 1000) : 0
  const begin = (found: Progress | undefined) => {
    if (found !== undefined && found.place !== place) throw otherOrganization()
    const added = [...settings.watch].filter((list) => found?.starts[list] === undefined).map((list) => [list, start])
    const next: Progress = {
      ...{ place, passes: 0, ends: [], completedAt: undefined, audited: reader.time, held: {}, isAccepted: false },
      ...found,
      starts: { ...found?.starts, ...Object.fromEntries(added) },
    }
    return { write: added.length > 0 ? next : undefined, result: next }
  }
  return reader.patiently(() => records.progress.change('', begin))
}

/** Stores that a pass has ended. */
export async function endPass({ feed, progress }: Pass, isComplete: boolean, held: Progress['held'], audited: number) {
  const { counts, reader, records, settings } = feed
  const end = (now = progress) => {
    const ends = [...now.ends.filter((time) => time + settleTime > reader.time), reader.time]
    const hasBegun = (list: string) => list !== 'messages' && settings.watch.has(list as WatchedList)
    const starts = Object.entries(now.starts).map(([list, start]) => [list, hasBegun(list) ? 0 : start] as const)
    // What was accepted while this pass was running is for the next one.
    const isAccepted = now.isAccepted && !progress.isAccepted
    const completed = {
      ...{ completedAt: Date.now(), starts: Object.fromEntries(starts) },
      ...{ isAccepted, held: isAccepted ? now.held : held },
    }
    const write = { ...now, passes: now.passes + 1, ends, audited, ...(isComplete && completed) }
    return { write, result: write.completedAt }
  }
  counts.completedAt = await reader.patiently(() => records.progress.change('', end))
  counts.passes += 1
  if (isComplete) counts.heldDeletions = held
}
