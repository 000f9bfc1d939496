import type { SupportWorkspace } from '../client/index.ts'
import type { Guard, GuardedAttempt, Reply } from '../core/index.ts'
import { NotFoundError, RequestError, SupportWorkspaceError } from '../errors/index.ts'
import { randomId } from '../shared/bytes.ts'
import { idOf } from './effects.ts'
import { usedTwice } from './journal-errors.ts'
import { LastLook } from './last-look.ts'
import type { WriteRecord } from './records.ts'
import type { Sender, Shared, Write } from './write.ts'

/** Looks whether the write is still right. Throws to prevent it. */
export type Before = (client: SupportWorkspace, sender: Sender) => unknown

/** What became of the attempts of a call. */
export type Sent =
  | { readonly reply: Reply; readonly id: string | undefined }
  /** The outcome is unknown. */
  | { readonly failure: RequestError }
  /** Something forbids to send it again, but an earlier attempt might have been applied. */
  | { readonly declined: unknown }
  /** Another process has the key, or the token belongs to somebody else now. */
  | 'outdated'

/** The longest time from the start of a last look until the record is written, in milliseconds. */
const longestLook = 1_000
/** How often a look that took too long is repeated. */
const mostRepeats = 3

/**
 * Sends a write and keeps its record. The order of each attempt is: token, headers, permit, `before`, record, request.
 * A record is taken back when its attempt is known not to have been applied.
 */
export class Sending {
  readonly #shared: Shared
  readonly #key: string
  readonly #write: Write
  readonly #before: Before | undefined
  /** The record that this process has stored or found. Only this process waits for the response of its attempt. */
  stored: WriteRecord | undefined
  /** What to restore when the record of the last attempt is taken back: the record of all attempts before it. */
  #base: WriteRecord | undefined
  /** Whether the last attempt was not applied, and its record is to be taken back. */
  #isRefused = false
  /** Whether another process has the key, or the token belongs to somebody else now. */
  #isOutdated = false
  /** Why the write must not be sent, for example what `before` has thrown. */
  #declined: { readonly thrown: unknown } | undefined
  /** The last change of the record, which goes on even if the call has ended. */
  #change: Promise<void> = Promise.resolve()

  /** @param repeated the record of an unconfirmed write that is sent again */
  constructor(
    shared: Shared,
    key: string,
    write: Write,
    before: Before | undefined,
    repeated: WriteRecord | undefined,
  ) {
    this.#shared = shared
    this.#key = key
    this.#write = write
    this.#before = before
    this.stored = repeated
    this.#base = repeated
  }

  /** @throws the error of a call that was not applied */
  async send(next: () => Promise<Reply>): Promise<Sent> {
    try {
      const reply = await next()
      const id = idOf(reply.data)
      if (this.stored !== undefined) {
        const changedAt = this.#shared.clock.now()
        await this.#answer({ ...this.stored, state: 'applied', id, changedAt })
      }
      return { reply, id }
    } catch (thrown) {
      await this.#change.catch(() => {})
      if (this.#isOutdated) return 'outdated'
      // If this failed in the guard, the storage might work now.
      await this.#takeBack()
      if (this.#declined !== undefined) {
        if (this.stored === undefined) throw this.#declined.thrown
        return { declined: this.#declined.thrown }
      }
      const isUnconfirmed = thrown instanceof RequestError && (thrown.outcome === 'unknown' || this.#isGone(thrown))
      if (this.stored === undefined || !isUnconfirmed) throw thrown
      return { failure: thrown }
    }
  }

  /** Runs around the request of each attempt. */
  readonly around: Guard['around'] = async (request, attempt) => {
    // The attempt before might have been applied.
    if (!this.#isRefused) this.#base = this.stored
    this.#declined = undefined
    try {
      await this.#checkSender(attempt)
      await this.#lookAndRecord(attempt)
      return await request()
    } catch (thrown) {
      if (attempt.mayHaveBeenApplied(thrown) || this.#isGone(thrown)) throw thrown
      const undo = this.#then(async () => {
        this.#isRefused ||= this.stored !== this.#base
        await this.#takeBack()
      })
      // If the storage fails as well, the caller gets the error of the request.
      await attempt.untilEnd(undo).catch(() => {})
      throw thrown
    }
  }

  /** A provider can return the token of another person or organization at any time. */
  async #checkSender(attempt: GuardedAttempt): Promise<void> {
    const { identities } = this.#shared
    const { organization, author } = this.#write.sender
    const asked = identities.of(attempt.accessToken, () => this.#lookOf(attempt).client)
    const now = await attempt.untilEnd(asked)
    if (now.organization === organization && now.author === author) return
    this.#isOutdated = true
    throw new SupportWorkspaceError('The token belongs to somebody else now.', { hint: 'Describe the write again.' })
  }

  async #lookAndRecord(attempt: GuardedAttempt): Promise<void> {
    for (let repeats = 0; ; repeats += 1) {
      const start = performance.now()
      if (this.#before !== undefined) await this.#look(this.#before, attempt)
      await attempt.untilEnd(this.#then(() => this.#take()))
      // Only with both records written first, at least one of two that begin at the same moment sees the other.
      const isForeign = await attempt.untilEnd(this.#shared.records.isForeign(this.#key))
      const isRecent = this.#before === undefined || performance.now() - start <= longestLook
      if (isRecent && !isForeign) return
      const undo = async () => {
        this.#isRefused = true
        await this.#takeBack()
      }
      await attempt.untilEnd(this.#then(undo))
      if (!isForeign && repeats < mostRepeats) continue
      const thrown = isForeign ? usedTwice(this.#key) : tooSlow(this.#write)
      this.#declined = { thrown }
      throw thrown
    }
  }

  async #look(before: Before, attempt: GuardedAttempt): Promise<void> {
    const look = this.#lookOf(attempt)
    try {
      await attempt.untilEnd((async () => before(look.client, this.#write.sender))())
    } catch (thrown) {
      if (look.refusal !== undefined && thrown === look.refusal) throw attempt.deferred(look.refusal.retryAfter)
      if (!attempt.signal.aborted) this.#declined = { thrown }
      throw thrown
    }
  }

  #lookOf(attempt: GuardedAttempt): LastLook {
    return new LastLook(this.#shared.workspace, attempt, this.#shared.clock.middleware)
  }

  #then(next: () => Promise<void>): Promise<void> {
    this.#change = this.#change.catch(() => {}).then(next)
    return this.#change
  }

  async #take(): Promise<void> {
    const { records, clock } = this.#shared
    const { stored } = this
    const changedAt = clock.now()
    // The effect can be the one of the first attempt.
    const sentAt = stored?.sentAt ?? changedAt
    // A record that could not be taken back keeps its id, so that whichever of the two is there is taken back later.
    const attempt = this.#isRefused && stored ? stored.attempt : randomId()
    const next: WriteRecord = { ...this.#write.record, state: 'sending', attempt, sentAt, changedAt }
    // If the storage fails, the record might be there, and is taken back.
    this.stored = next
    if (!(await records.replace(this.#key, stored, next))) {
      this.stored = stored
      this.#isOutdated = true
      throw new SupportWorkspaceError('Another process sends this write.', { hint: 'Wait for it.' })
    }
    this.#isRefused = false
  }

  async #takeBack(): Promise<void> {
    if (!this.#isRefused) return
    // The write was sent before this attempt. If another process has confirmed it since, its record must stay.
    if (this.#base === undefined) await this.#answer(undefined)
    else await this.#shared.records.replace(this.#key, this.stored, this.#base)
    this.stored = this.#base
    this.#isRefused = false
  }

  /** Whether a repeated DELETE got a 404, because the first DELETE can be its cause. */
  #isGone(thrown: unknown): boolean {
    const isRepeated = this.#base !== undefined && this.stored !== this.#base
    return isRepeated && this.#write.call.operation.method === 'DELETE' && thrown instanceof NotFoundError
  }

  /**
   * Stores the result from the response of an attempt, even if another process has stored its own finding meanwhile.
   */
  async #answer(next: WriteRecord | undefined): Promise<void> {
    const { records } = this.#shared
    const attempt = this.stored?.attempt
    for (let expected = this.stored; ; ) {
      if (await records.replace(this.#key, expected, next)) return
      const now = await records.get(this.#key)
      // Another process sends the write again, so the record is about that attempt.
      if (now !== undefined && now.attempt !== attempt) return
      expected = now
    }
  }
}

function tooSlow({ call }: Write): RequestError {
  const { id } = call.operation
  return new RequestError(`${id} was not sent, because \`before\` and the record took more than a second each time.`, {
    ...{ operation: id, outcome: 'not-sent', remedy: 'retry' },
    hint: 'What it has read is too old then. Let it read less, or check that the storage is fast, then try again.',
  })
}
