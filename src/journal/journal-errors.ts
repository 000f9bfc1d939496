import { failureOf } from '../key-value/index.ts'
import { isSupportWorkspaceError, RequestError, SupportWorkspaceError } from '../shared/errors/index.ts'
import { safeCause } from '../shared/errors/redact.ts'
import type { SentWrite } from './effects.ts'

/**
 * The journal could not find out whether a write was applied, so it stops instead of sending it again. The write stays
 * `unconfirmed` until a later `once` confirms it, or a person resolves it with `journal.resolve`. `attempts` has the
 * attempts of this call. It is empty if an earlier run has sent the write.
 */
export class UnconfirmedWriteError extends RequestError {
  static override readonly kind: string = 'UnconfirmedWriteError'

  /** The key of the write in the journal. */
  readonly key: string
  /** The id of the conversation that the write belongs to, if there is one. */
  readonly conversation: string | undefined
  /** The request body as JSON text, for the person who resolves the write. Excluded from `message` and `toJSON()`. */
  declare readonly text: string

  /** @param failure of the call, if it was this one that sent the write */
  constructor(
    key: string,
    problem: string,
    { operation, path, body }: Pick<SentWrite, 'operation' | 'path' | 'body'>,
    failure: RequestError | undefined,
    thrown: unknown = failure,
  ) {
    const conversation = path.conversation_id
    const place = conversation === undefined ? '' : ` in the conversation ${conversation}`
    // The error of a `find` can hold a request, and with it the token.
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
 * The storage of a `WriteJournal` failed. Call `once` again, which is safe because it checks the write before it sends
 * it. The remedy is `retry`, or `fix` if an entry is damaged or the storage breaks its contract.
 */
export class WriteJournalError extends SupportWorkspaceError {
  static override readonly kind: string = 'WriteJournalError'

  constructor(key: string | undefined, thrown: unknown) {
    super(...failureOf(key === undefined ? 'the journal' : `the write "${key}"`, thrown))
  }
}
