import { InvalidArgumentError, isSupportWorkspaceError, RequestError, SupportWorkspaceError } from '../errors/index.ts'
import { safeCause } from '../errors/redact.ts'
import { failureOf } from '../storage/interface.ts'
import type { SentWrite } from './effects.ts'

/**
 * The state of a write:
 *
 * - `sending`: a process is sending the write, or has ended before the response came.
 * - `applied`: the service has applied the write.
 * - `unconfirmed`: the journal could not find out whether the write was applied.
 */
export type WriteState = 'sending' | 'applied' | 'unconfirmed'

/**
 * Why a write is unconfirmed:
 *
 * - `absent`: the service was asked, and does not show the write.
 * - `several`: more than one write may have left what the service shows.
 * - `unreadable`: the check failed, or another record is damaged that may be about what the service shows. The error is
 *   the `cause`.
 * - `changed`: an earlier run sent another body or query.
 * - `unclear`: the service does not show enough to tell, or was not asked yet.
 * - `removed`: the record was removed while this call confirmed the write.
 * - `invalid-find`: the `find` option returned no list of effects.
 */
export type UnconfirmedReason = 'absent' | 'several' | 'unreadable' | 'changed' | 'unclear' | 'removed' | 'invalid-find'

/** Why a write is unconfirmed, in one word and in a sentence. */
export interface Doubt {
  readonly reason: UnconfirmedReason
  readonly problem: string
  /** What a check or a `before` has thrown. */
  readonly cause?: unknown
}

/**
 * The journal could not find out whether the write was applied, and does not resend it. The write stays `unconfirmed`
 * until a later `once` finds it, or a person calls `journal.resolve`. `attempts` lists the attempts of this call. It is
 * empty if an earlier run sent the write.
 */
export class UnconfirmedWriteError extends RequestError {
  static override readonly kind: string = 'UnconfirmedWriteError'

  /** The key of the write in the journal. */
  readonly key: string
  /** Why the write is unconfirmed, for a program. `message` has it in words. */
  readonly reason: UnconfirmedReason
  /** The id of the conversation that the write belongs to. Undefined if its path has no `conversation_id`. */
  readonly conversation: string | undefined
  /** Request body as JSON text. Not part of `message` or `toJSON()`. */
  declare readonly text: string

  /** @param failure the error of the attempt. Undefined if an earlier run sent the write */
  constructor(
    key: string,
    { reason, problem, cause: thrown }: Doubt,
    { operation, path, body }: Pick<SentWrite, 'operation' | 'path' | 'body'>,
    failure: RequestError | undefined,
  ) {
    const conversation = path.conversation_id
    const place = conversation === undefined ? '' : ` in the conversation ${conversation}`
    // An error of `find` can contain a request, and with it the token.
    const cause = thrown === undefined || isSupportWorkspaceError(thrown) ? (thrown ?? failure) : safeCause(thrown)
    super(`${operation} of the key "${key}"${place} may have been applied: ${problem}.`, {
      operation,
      outcome: 'unknown',
      remedy: 'verify',
      hint: 'Check it, then call `resolve` with its key and "applied", or with "absent" if the process that sent it has ended.',
      attempts: failure?.attempts ?? [],
      cause,
    })
    this.key = key
    this.reason = reason
    this.conversation = conversation
    Object.defineProperty(this, 'text', { value: JSON.stringify(body) })
  }
}

/**
 * `journal.resolve` has changed nothing, because another process or person was faster. `state` and `id` say what is
 * there now.
 */
export class WriteResolvedError extends SupportWorkspaceError {
  static override readonly kind: string = 'WriteResolvedError'

  /** The key of the write in the journal. */
  readonly key: string
  /** The state of the write now. Undefined if its record was removed, so that the next `once` sends the write. */
  readonly state: WriteState | undefined
  /** The id of the created or changed item, if it is known. */
  readonly id: string | undefined

  constructor(key: string, now: { readonly state: WriteState; readonly id?: string | undefined } | undefined) {
    const { state, id } = now ?? {}
    const problem = state === 'applied' ? 'is applied already' : `has just changed, and is ${state ?? 'removed'} now`
    super(`The write "${key}" ${problem}.`, { hint: '`journal.list` shows the writes.' })
    this.key = key
    this.state = state
    this.id = id
  }
}

/** Returns the error for a key that a journal and approvals on the same storage both want to send. */
export function usedTwice(key: string): InvalidArgumentError {
  return new InvalidArgumentError(
    'key',
    `The key "${key}" is used by a write journal and by approvals on the same storage.`,
    'Use another key for one of them, or another storage.',
  )
}

/**
 * The storage of a `WriteJournal` failed. You can safely call `once` again, because it checks the service before it
 * sends a write that has a record. The remedy is `retry`, or `fix` if an entry is damaged or the storage violates the
 * contract of `KeyValueStorage`.
 */
export class WriteJournalError extends SupportWorkspaceError {
  static override readonly kind: string = 'WriteJournalError'

  /** The key of the write. Undefined if the error is not about a single one. */
  readonly key: string | undefined

  constructor(key: string | undefined, thrown: unknown) {
    super(...failureOf(key === undefined ? 'the journal' : `the write "${key}"`, thrown))
    this.key = key
  }
}
