import { isSupportWorkspaceError, RequestError, SupportWorkspaceError } from '../errors/index.ts'
import { safeCause } from '../errors/redact.ts'
import { failureOf } from '../storage/interface.ts'
import type { SentWrite } from './effects.ts'

/**
 * The journal could not find out whether the write was applied, and does not resend it. The write stays `unconfirmed`
 * until a later `once` finds it, or a person calls `journal.resolve`. `attempts` lists the attempts of this call. It is
 * empty if an earlier run sent the write.
 */
export class UnconfirmedWriteError extends RequestError {
  static override readonly kind: string = 'UnconfirmedWriteError'

  /** The key of the write in the journal. */
  readonly key: string
  /** The id of the conversation that the write belongs to. Undefined if its path has no `conversation_id`. */
  readonly conversation: string | undefined
  /** Request body as JSON text. Not part of `message` or `toJSON()`. */
  declare readonly text: string

  /** @param failure the error of the attempt. Undefined if an earlier run sent the write */
  constructor(
    key: string,
    problem: string,
    { operation, path, body }: Pick<SentWrite, 'operation' | 'path' | 'body'>,
    failure: RequestError | undefined,
    thrown: unknown = failure,
  ) {
    const conversation = path.conversation_id
    const place = conversation === undefined ? '' : ` in the conversation ${conversation}`
    // An error of `find` can contain a request, and with it the token.
    const cause = thrown === undefined || isSupportWorkspaceError(thrown) ? thrown : safeCause(thrown)
    super(`${operation} of the key "${key}"${place} may have been applied: ${problem}.`, {
      operation,
      outcome: 'unknown',
      remedy: 'verify',
      hint: 'Check it, then call `journal.resolve` with "applied", or with "absent" if the process that sent it has ended.',
      attempts: failure?.attempts ?? [],
      cause,
    })
    this.key = key
    this.conversation = conversation
    Object.defineProperty(this, 'text', { value: JSON.stringify(body) })
  }
}

/**
 * The storage of a `WriteJournal` failed. You can safely call `once` again, because it checks the service before it
 * sends a write that has a record. The remedy is `retry`, or `fix` if an entry is damaged or the storage violates the
 * contract of `KeyValueStorage`.
 */
export class WriteJournalError extends SupportWorkspaceError {
  static override readonly kind: string = 'WriteJournalError'

  constructor(key: string | undefined, thrown: unknown) {
    super(...failureOf(key === undefined ? 'the journal' : `the write "${key}"`, thrown))
  }
}
