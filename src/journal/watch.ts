import { sleep, untilAborted } from '../shared/abort.ts'
import { notify } from '../shared/notify.ts'
import type { Doubt } from './journal-errors.ts'
import { isSame, type WriteRecord } from './records.ts'
import { lookFor, type Shared, type Write } from './write.ts'

const longestPause = 8_000

/**
 * Checks repeatedly whether a write was applied, until the time for it is over. Returns why the write could not be
 * confirmed. Returns undefined if its record has changed, for example because `watch` found the effect and stored
 * `applied`.
 *
 * The record has the time that processes have spent on checks. A process that is killed and started again continues
 * from that time. Each process adds the time that its monotonic clock measured to the time that it read from the
 * record. So the sum is at most the time that has really passed, even if wall clocks differ.
 *
 * @param isOwn whether this process made the attempt, and the attempt has ended
 */
export async function watch(
  write: Write,
  key: string,
  found: WriteRecord,
  isOwn: boolean,
  shared: Shared,
): Promise<(Doubt & { readonly stored: WriteRecord }) | undefined> {
  const { records, clock } = shared
  const { signal } = write.call
  const { state, operation, timeout, watched = 0, sentAt } = found
  const isHopeless = shared.isHasty || state === 'unconfirmed' || (isOwn && write.find === undefined)
  const patience = isHopeless ? 0 : timeout + shared.confirmTimeout
  const start = performance.now() - (isOwn ? timeout : watched)
  const left = () => start + patience - performance.now()
  if (left() > 0) {
    const limit = Math.ceil(left() / 1000)
    shared.log?.('warn', `${operation} may have been applied, and is being confirmed for at most ${limit} s`)
  }
  for (let pause = 0; ; pause = Math.min(longestPause, pause * 2 + 250)) {
    await sleep(Math.min(pause, left()), signal)
    const isLast = left() <= 0
    const stored = await untilAborted(records.get(key), signal)
    if (stored === undefined || !isSame(stored, found)) return undefined
    notify(shared.onCheck, { key, operation, since: sentAt, until: clock.now() + Math.max(0, Math.ceil(left())) })
    const finding = await untilAborted(lookFor(write, key, found, shared), signal)
    if ('effect' in finding) {
      const applied = { ...stored, state: 'applied', id: finding.effect.id, changedAt: clock.now() } as const
      await records.replace(key, stored, applied)
      shared.unconfirmed = 0
      return undefined
    }
    if (isLast) return { ...finding, stored }
    const now = Math.floor(performance.now() - start)
    if (now <= (stored.watched ?? 0)) continue
    await untilAborted(records.replace(key, stored, { ...stored, watched: now }), signal)
  }
}
