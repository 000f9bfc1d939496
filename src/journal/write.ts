import type { SupportWorkspace, WriteOperationId } from '../client/index.ts'
import type { Log, OutgoingCall } from '../core/index.ts'
import { inTime } from '../key-value/index.ts'
import { untilAborted } from '../shared/abort.ts'
import { sha256 } from '../shared/bytes.ts'
import { longestTimer } from '../shared/check-options.ts'
import { isSupportWorkspaceError } from '../shared/errors/index.ts'
import { parseObject, sortedJson } from '../shared/json.ts'
import { effectOf, type FindEffect, idOf, type SentWrite } from './effects.ts'
import type { Identify } from './identity.ts'
import { WriteJournalError } from './journal-errors.ts'
import type { WriteCheck, WriteRecord, WriteRecords } from './records.ts'
import type { ServiceClock } from './service-clock.ts'

/** What the intents of a journal share. */
export interface Shared {
  readonly workspace: SupportWorkspace
  readonly records: WriteRecords
  /** How long an effect can be delayed, in milliseconds. */
  readonly confirmTimeout: number
  readonly clock: ServiceClock
  readonly onCheck: ((check: WriteCheck) => void) | undefined
  readonly log: Log | undefined
  readonly identify: Identify
  /** Maximum number of writes in a row that end unconfirmed, and their number so far. */
  readonly stopAfter: number
  unconfirmed: number
}

/** A write, its part of the record, and how its effect is found. */
export interface Write {
  readonly call: OutgoingCall
  readonly sent: Omit<SentWrite, 'since' | 'author'>
  readonly record: Pick<WriteRecord, 'author' | 'place' | 'operation' | 'path' | 'input' | 'mark' | 'timeout'>
  readonly find: FindEffect | undefined
}

/** The effect of a write, or why it is not known. */
export interface Finding {
  readonly effect?: { readonly id?: string | undefined }
  readonly problem: string
  readonly cause?: unknown
}

/** The service might store an effect with a time that is this much too early, in milliseconds. */
const tolerance = 300_000
export const absent = 'the service does not show it'

/** Describes a call. Asks the service for its place and its author. */
export async function describeWrite(
  call: OutgoingCall,
  ownFind: FindEffect | undefined,
  shared: Shared,
): Promise<Write> {
  const { operation, path, query, timeout, totalTimeout } = call
  const body = parseObject(call.body) ?? {}
  const isCustom = operation.evidence === undefined
  const effect = isCustom ? undefined : effectOf(operation.id as WriteOperationId)
  const find = ownFind ?? effect?.find
  // An assignee might have to be looked up among the members.
  const scopes = [
    operation.scope?.replace('write', 'read') ?? [],
    operation.id === 'conversations.assign' ? 'users:read' : [],
  ]
  const required = effect !== undefined && ownFind === undefined ? scopes.flat() : []
  // The response tells the time of the service, too.
  const { organization, author } = await untilAborted(shared.identify(operation.id, required), call.signal)
  const place = await sha256(JSON.stringify([call.baseUrl, organization]))
  const input = await sha256(sortedJson([place, operation.id, path, query, call.body]))
  const look = find === effect?.find ? effect?.mark?.(body) : input
  const mark = look && (await sha256(JSON.stringify([place, operation.id, path, look])))
  // A number that JSON can represent: there might be no limit.
  const longest = Math.min(timeout, totalTimeout, Number.MAX_SAFE_INTEGER)
  return {
    call,
    find,
    sent: { operation: operation.id, path: call.parameters, body },
    record: { author, place, operation: operation.id, path, input, mark, timeout: longest },
  }
}

/**
 * Returns the effect that certainly belongs to a write, or the reason why it cannot be identified.
 *
 * @throws the error of a call with the remedy `reconnect`, or of the storage with the remedy `retry`
 */
export async function lookFor(
  { find, sent, call, record: { input } }: Write,
  key: string,
  { sentAt, mark, author, input: sentInput }: WriteRecord,
  shared: Shared,
): Promise<Finding> {
  if (input !== sentInput) return { problem: 'it was sent with another body or query' }
  try {
    const since = (sentAt - tolerance) / 1000
    const looking = find?.(shared.workspace, { ...structuredClone(sent), since, author })
    // A `find` of the caller might not return.
    const effects = await inTime(looking, Math.min(call.totalTimeout, longestTimer))
    if (effects === undefined) return { problem: 'the service does not show enough to tell' }
    // Spread, because `some` skips the holes of an array.
    if (!Array.isArray(effects) || [...effects].some((effect) => typeof effect !== 'object' || effect === null)) {
      return { problem: 'the `find` option returned no list of effects' }
    }
    const found = new Map(effects.map((effect) => [idOf(effect) ?? effect, { id: idOf(effect) }]))
    // Read after the look: whatever it shows was sent by a write that is in the storage by now.
    const others: WriteRecord[] = []
    for await (const [other, { record }] of found.size > 0 && mark !== undefined ? shared.records.all() : []) {
      if (record.mark === mark && other !== key) others.push(record)
    }
    const own = [...found.values()].filter(({ id }) => id === undefined || !others.some((other) => other.id === id))
    const [effect, ...more] = own
    if (effect === undefined) return { problem: absent }
    // The effect might belong to another write whose id is not known yet.
    const isClear = more.length === 0 && others.every(({ id }) => id !== undefined)
    return isClear ? { effect, problem: '' } : { problem: 'another write may have left what looks like it' }
  } catch (cause) {
    const { remedy } = isSupportWorkspaceError(cause) ? cause : {}
    if (remedy === 'reconnect' || (remedy === 'retry' && cause instanceof WriteJournalError)) throw cause
    return { problem: 'looking for it failed', cause }
  }
}
