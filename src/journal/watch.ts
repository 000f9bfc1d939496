import { sleep, untilAborted } from '../shared/abort.ts'
import { notify } from '../shared/notify.ts'
import { isSame, type Stored, toStored } from './records.ts'
import { type Finding, lookFor, type Shared, type Write } from './write.ts'

const longestPause = 8_000

/**
 * Checks a write until its effect is found, its record changes, or the time for checks is over. Returns the reason why
 * the write could not be confirmed. Undefined if the record has changed, for example because the effect was found.
 *
 * The record has the time for which a write has been watched, so that a restarted process continues to count. Each
 * process adds the time of its monotonic clock to the time that it has read. The sum of several processes is therefore
 * at most the time that has passed, even if their wall clocks differ.
 *
 * @param isOwn whether the attempt was made by this process, and has ended
 */
export async function watch(
  write: Write,
  key: string,
  found: Stored,
  isOwn: boolean,
  shared: Shared,
): Promise<(Finding & { readonly stored: Stored }) | undefined> {
  const { records, clock } = shared
  const { signal } = write.call
  const { state, operation, timeout, watched = 0, sentAt } = found.record
  const isHopeless = state === 'unconfirmed' || (isOwn && write.find === undefined)
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
    const finding = await untilAborted(lookFor(write, key, found.record, shared), signal)
    if (finding.effect !== undefined) {
      await records.replace(key, stored, toStored({ ...stored.record, state: 'applied', id: finding.effect.id }))
      shared.unconfirmed = 0
      return undefined
    }
    if (isLast) return { ...finding, stored }
    const now = Math.floor(performance.now() - start)
    if (now <= (stored.record.watched ?? 0)) continue
    await untilAborted(records.replace(key, stored, toStored({ ...stored.record, watched: now })), signal)
  }
}
