import { failureOf } from '../key-value/index.ts'
import { isSupportWorkspaceError, RequestError, SupportWorkspaceError } from '../shared/errors/index.ts'
import { safeCause } from '../shared/errors/redact.ts'
import type { SentWrite } from './effects.ts'

/**
 * A write may have been applied, and looking for it did not tell. The journal does not send it again. Its state is
 * `unconfirmed` until a later `once` finds it, or a person decides with `journal.resolve`. `attempts` are those of this call:
 * none if an earlier run has sent the write.
 */
export class UnconfirmedWriteError extends RequestError {
  static override readonly kind: string = 'UnconfirmedWriteError'

  /** The key of the write in the journal. */
  readonly key: string
  /** The id of the conversation that the write belongs to, if there is one. */
  readonly conversation: string | undefined
  /** The JSON of the body of this call, for the person who decides. In no message, and not included in JSON. */
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
    // What a `find` throws may hold a request, and with it the token.
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
 * The storage of a `WriteJournal` failed. It is safe to call `once` again, which looks before it sends anything. The remedy
 * is `retry`, or `fix` if an entry is damaged or the storage does not do what its interface says.
 */
export class WriteJournalError extends SupportWorkspaceError {
  static override readonly kind: string = 'WriteJournalError'

  constructor(key: string | undefined, thrown: unknown) {
    super(...failureOf(key === undefined ? 'the journal' : `the write "${key}"`, thrown))
  }
}
