import type { SupportWorkspace, TokenIdentities, WriteOperationId } from '../client/index.ts'
import type { Log, OutgoingCall } from '../core/index.ts'
import { InvalidArgumentError, isSupportWorkspaceError, RequestError } from '../errors/index.ts'
import { untilAborted } from '../shared/abort.ts'
import { sha256 } from '../shared/bytes.ts'
import { longestTimer } from '../shared/check-options.ts'
import { parseObject, sortedJson } from '../shared/json.ts'
import { inTime } from '../storage/interface.ts'
import { effectOf, type FindEffect, idOf, type SentWrite } from './effects.ts'
import type { Doubt, WriteJournalError } from './journal-errors.ts'
import type { WriteCheck, WriteRecord, WriteRecords } from './records.ts'
import type { ServiceClock } from './service-clock.ts'

/** State and options of a journal, which all its calls of `once` share. */
export interface Shared {
  /** A client that reads fresh data. */
  readonly workspace: SupportWorkspace
  readonly records: WriteRecords
  /** How long to keep checking after an attempt has ended, in milliseconds. */
  readonly confirmTimeout: number
  readonly clock: ServiceClock
  readonly onCheck: ((check: WriteCheck) => void) | undefined
  readonly log: Log | undefined
  readonly identities: TokenIdentities
  /** Whether a lost write is checked by later calls only, and then once. */
  readonly isHasty: boolean
  /** Number of unconfirmed writes in a row after which the journal stops sending. */
  readonly stopAfter: number
  /** Number of unconfirmed writes in a row so far. */
  unconfirmed: number
}

/** Whose token sends the write, and where. */
export interface Sender {
  /** The base URL of the service. */
  readonly service: string
  /** The id of the organization. */
  readonly organization: string
  /** The id of the person. Undefined if the service does not say. */
  readonly author: string | undefined
}

/** A write, its part of the record, and the function that finds its effect. */
export interface Write {
  readonly call: OutgoingCall
  readonly sender: Sender
  readonly sent: Omit<SentWrite, 'since' | 'author'>
  readonly record: Pick<WriteRecord, 'author' | 'place' | 'operation' | 'path' | 'input' | 'mark' | 'timeout'>
  readonly find: FindEffect | undefined
  /** The ids of items that were there before. */
  readonly known: readonly string[] | undefined
  /** The problem if no effect is found. */
  readonly absent: string
}

/** The effect of a write, or why it is unknown. */
export type Finding = { readonly effect: { readonly id?: string | undefined } } | Doubt

/** How much earlier than the write the service's time of its effect can be, in milliseconds. */
const tolerance = 300_000

/** What a caller says about the effect of a write. */
interface Hints extends Partial<Pick<Write, 'find' | 'known'>> {
  readonly answers?: string | undefined
}

/** Describes a call for its record. Asks the service for the organization and the author. */
export async function describeWrite(
  call: OutgoingCall,
  { find: ownFind, answers, known }: Hints,
  shared: Shared,
): Promise<Write> {
  const { operation, path, query, timeout, totalTimeout } = call
  const body = parseObject(call.body) ?? {}
  const isCustom = operation.evidence === undefined
  const effect = isCustom ? undefined : effectOf(operation.id as WriteOperationId, answers)
  if (answers !== undefined && (operation.id !== 'messages.create' || ownFind !== undefined)) {
    const hint = 'Leave it out, and compare the times in `find`.'
    throw new InvalidArgumentError('answers', '`answers` is only for `messages.create` without `find`.', hint)
  }
  const find = ownFind ?? effect?.find
  // Confirming an assignment can require the list of members.
  const scopes = [
    operation.scope?.replace('write', 'read') ?? [],
    operation.id === 'conversations.assign' ? 'users:read' : [],
  ]
  const required = effect !== undefined && ownFind === undefined ? scopes.flat() : []
  // The clock also learns the time of the service from this response.
  const identity = shared.identities.latest(operation.id, required)
  const { organization, author } = await untilAborted(identity, call.signal)
  const place = await sha256(JSON.stringify([call.baseUrl, organization]))
  const input = await sha256(sortedJson([place, operation.id, path, query, call.body]))
  const look = find === effect?.find ? await effect?.mark?.(body) : input
  const mark = look && (await sha256(JSON.stringify([place, operation.id, path, look])))
  // JSON cannot represent `Infinity`, the value of an unlimited timeout.
  const longest = Math.min(timeout, totalTimeout, Number.MAX_SAFE_INTEGER)
  return {
    call,
    sender: { service: call.baseUrl, organization, author },
    find,
    known,
    // An older item, for example a contact that was there before, is not the effect.
    absent:
      find === effect?.find && effect?.mark !== undefined
        ? 'the service shows nothing like it that is as new as the write'
        : 'the service does not show it',
    sent: { operation: operation.id, path: call.parameters, body },
    record: { author, place, operation: operation.id, path, input, mark, timeout: longest },
  }
}

/**
 * Checks once whether a write was applied. Returns its effect if no other write can have caused it, and otherwise the
 * problem.
 *
 * @throws the error of a call with the remedy `reconnect`, or of the storage with the remedy `retry`
 */
export async function lookFor(
  { find, known, absent, sent, call, record: { input } }: Write,
  key: string,
  { sentAt, mark, author, input: sentInput }: WriteRecord,
  shared: Shared,
): Promise<Finding> {
  if (input !== sentInput) return { reason: 'changed', problem: 'it was sent with another body or query' }
  try {
    const since = (sentAt - tolerance) / 1000
    const looking = find?.(shared.workspace, { ...structuredClone(sent), since, author })
    // The promise of a caller's `find` can stay pending.
    const effects = await inTime(looking, Math.min(call.totalTimeout, longestTimer))
    if (effects === undefined) return { reason: 'unclear', problem: 'the service does not show enough to tell' }
    // `some` skips the holes of an array, so the array is spread.
    if (!Array.isArray(effects) || [...effects].some((effect) => typeof effect !== 'object' || effect === null)) {
      return { reason: 'invalid-find', problem: 'the `find` option returned no list of effects' }
    }
    const found = new Map(effects.map((effect) => [idOf(effect) ?? effect, { id: idOf(effect) }]))
    // The records are read after the effects, so each write that caused one of the effects has its record in the
    // storage.
    const others: WriteRecord[] = []
    let damage: WriteJournalError | undefined
    const onUnreadable = (error: WriteJournalError) => {
      damage ??= error
    }
    for await (const record of found.size > 0 && mark !== undefined ? shared.records.others(key, onUnreadable) : []) {
      if (record.mark === mark) others.push(record)
    }
    const taken = new Set([...(known ?? []), ...others.map(({ id }) => id)])
    const own = [...found.values()].filter(({ id }) => id === undefined || !taken.has(id))
    const [effect, ...more] = own
    if (effect === undefined) return { reason: 'absent', problem: absent }
    // A similar write whose id is unknown can have caused the effect.
    const isClear = more.length === 0 && others.every(({ id }) => id !== undefined)
    if (!isClear) return { reason: 'several', problem: 'another write may have left what looks like it' }
    if (damage === undefined) return { effect }
    const problem = `the record of "${damage.key}" cannot be read, and may be about what the service shows`
    return { reason: 'unreadable', problem, cause: damage }
  } catch (cause) {
    const { remedy } = isSupportWorkspaceError(cause) ? cause : {}
    if (remedy === 'reconnect' || (remedy === 'retry' && !(cause instanceof RequestError))) throw cause
    return { reason: 'unreadable', problem: 'the check failed', cause }
  }
}
