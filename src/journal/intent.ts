import type { Guard, Operation, OutgoingCall, Reply } from '../core/index.ts'
import { InvalidArgumentError, NotFoundError, RequestError, SupportWorkspaceError } from '../errors/index.ts'
import { untilAborted } from '../shared/abort.ts'
import { randomId } from '../shared/bytes.ts'
import { type FindEffect, idOf } from './effects.ts'
import { UnconfirmedWriteError } from './journal-errors.ts'
import { type Stored, toStored, type WriteRecord } from './records.ts'
import { watch } from './watch.ts'
import { describeWrite, type Shared, type Write } from './write.ts'

type Send = (call: OutgoingCall) => Promise<Reply>

/** The options of `journal.once`. */
export interface OnceOptions {
  /**
   * Finds out whether the write was applied. Without `find`, the journal cannot confirm custom operations
   * (`workspace.call`, `workspace.request`), `tasks.create` and `segments.create`.
   *
   * @default the journal reads the data that a built-in operation writes
   */
  readonly find?: FindEffect | undefined
  /**
   * Whether to send the write once more if no effect was found. **Warning:** this can create duplicates. For example,
   * the service applies the first write after `confirmTimeout`, or a stopped process wakes up later and sends the
   * write.
   *
   * @default false
   */
  readonly resendIfAbsent?: boolean | undefined
}

/** Runs the function of one `once` call, sends its write, and confirms the write if necessary. */
export class Intent {
  /** Goes into the client of the function. */
  readonly guard: Guard = {
    middleware: (call, next) => this.#pass(call, next),
    around: (request, attempt) => this.#around(request, attempt),
  }
  readonly #shared: Shared
  readonly #key: string
  readonly #options: OnceOptions
  #sending: Promise<Reply> | undefined
  /** Of the call that sends the write. The object is the same if a middleware outside the journal repeats the call. */
  #operation: Operation | undefined
  /** Runs around each request of the write. */
  #around: Guard['around'] = (request) => request()
  #misuse: SupportWorkspaceError | undefined
  /** The result of the write. Undefined until the write is applied. */
  #applied: { readonly id?: string | undefined } | undefined
  /** The record that this process stored for its attempt. Only this process waits for the response of the attempt. */
  #mine: Stored | undefined
  #hasResent = false
  /** The error of this process's attempt, if its outcome is unknown. */
  #failure: RequestError | undefined
  /** Whether the function has resolved or rejected. */
  #hasEnded = false

  constructor(shared: Shared, key: string, options: OnceOptions) {
    this.#shared = shared
    this.#key = key
    this.#options = options
  }

  /** Runs the function, whose calls go through the guard, and returns the result of its write. */
  async run<Data>(task: () => PromiseLike<Data>): Promise<{ readonly id?: string | undefined; readonly data?: Data }> {
    const [ended] = await Promise.allSettled([(async () => task())()])
    this.#hasEnded = true
    const [write] = await Promise.allSettled([this.#sending])
    if (this.#misuse !== undefined) throw this.#misuse
    if (this.#applied !== undefined && write.status === 'rejected') return this.#applied
    if (ended.status === 'rejected') throw ended.reason
    if (write.status === 'rejected') throw write.reason
    if (this.#applied === undefined)
      throw this.#leftOpen(
        'sent no write through the client that it was given',
        'Use that client. Check what was sent through another one: the journal does not know it.',
      )
    return { ...this.#applied, data: ended.value }
  }

  /** Middleware of the function's client. Sends reads as they are, and the write through the journal. */
  async #pass(call: OutgoingCall, send: Send): Promise<Reply> {
    if (call.operation.method === 'GET') return send(call)
    if (this.#sending !== undefined) {
      if (call.operation === this.#operation) return this.#sending
      const hint = 'Use another key for the second write. `journal.get` tells if the first was applied.'
      this.#misuse = this.#leftOpen('sent a second write', hint)
      throw this.#misuse
    }
    // `once` has already returned the result of the key.
    if (this.#hasEnded) throw this.#misused('was sent after its function had ended')
    this.#operation = call.operation
    this.#sending = this.#settle(call, send)
    return this.#sending
  }

  async #settle(call: OutgoingCall, send: Send): Promise<Reply> {
    const write = await describeWrite(call, this.#options.find, this.#shared)
    for (;;) {
      const found = await untilAborted(this.#shared.records.get(this.#key), call.signal)
      if (found !== undefined) this.#checkUse(write, found.record)
      else if (this.#failure !== undefined) {
        // Somebody has resolved the write as absent. Only the next `once` sends it.
        throw new UnconfirmedWriteError(this.#key, 'its record was removed', write.sent, this.#failure)
      }
      if (found?.record.state === 'applied') {
        this.#applied = { id: found.record.id }
        throw new SupportWorkspaceError(`The write "${this.#key}" is applied.`, { hint: '`once` returns its id.' })
      }
      const isFree = found === undefined || (await this.#confirm(write, found))
      const reply = isFree ? await this.#send(write, send, found) : undefined
      if (reply !== undefined) return reply
    }
  }

  /**
   * Throws if the key belongs to another write. An unconfirmed write with another body does not throw here: the
   * confirmation that follows waits until its state is known.
   */
  #checkUse({ record: { operation, path, place, input } }: Write, found: WriteRecord): void {
    const isApplied = found.state === 'applied'
    if (found.place !== place) {
      const hint = 'Put the organization into the key, for example its id, or use a storage for each service.'
      throw this.#misused('is used by another organization or service', hint)
    }
    if (found.operation !== operation || found.path !== path) {
      const fate = isApplied ? 'was applied' : 'may have been applied'
      const before = `was another one before (${found.operation}`
      if (found.operation !== operation) throw this.#misused(`${before}), which ${fate}`)
      const hint = 'Ask `journal.get` for the key before you choose what to write to.'
      throw this.#misused(`${before} at another path), which ${fate}`, hint)
    }
    if (isApplied && found.input !== input) {
      const hint = 'Keep the body of a key, or call `journal.get` first.'
      throw this.#misused('was applied, with another body or query', hint, 'write')
    }
  }

  /**
   * Sends the write and returns the reply. Returns undefined if another process has taken the key, or the outcome is
   * unknown.
   *
   * @param repeated the record of an unconfirmed write that is sent again
   */
  async #send(write: Write, send: Send, repeated?: Stored): Promise<Reply | undefined> {
    const { records, clock, stopAfter, unconfirmed } = this.#shared
    if (unconfirmed >= stopAfter) throw stopped(write, stopAfter)
    const isDelete = write.call.operation.method === 'DELETE'
    this.#mine = repeated
    this.#hasResent ||= repeated !== undefined
    /** The record before the attempt, to restore if the attempt was rejected. Undefined if the record must stay. */
    let before: { readonly stored: Stored | undefined } | undefined
    let isTaken = false
    let isRefused = false
    /** The last storage operation: writes or restores the record, and continues even if the call has ended. */
    let step: Promise<void> = Promise.resolve()
    const then = (next: () => Promise<void>) => {
      step = step.catch(() => {}).then(next)
      return step
    }
    const take = async () => {
      const sentAt = this.#mine?.record.sentAt ?? clock.now()
      const next = toStored({ ...write.record, state: 'sending', attempt: randomId(), sentAt })
      isTaken = !(await records.replace(this.#key, this.#mine, next))
      if (isTaken) throw new SupportWorkspaceError('Another process sends this write.', { hint: 'Wait for it.' })
      before ??= { stored: this.#mine }
      this.#mine = next
    }
    const takeBack = async () => {
      if (before === undefined || this.#mine === undefined) return
      // The write was sent before this attempt. If another process has confirmed it since, its record must stay.
      const next = before.stored && toStored(before.stored.record)
      if (next === undefined) await this.#answer(this.#mine, undefined)
      else await records.replace(this.#key, this.#mine, next)
      this.#mine = next
      before = undefined
    }
    /** Whether a repeated DELETE got a 404, because the first DELETE can be its cause. */
    const isGone = (thrown: unknown) => isDelete && before?.stored !== undefined && thrown instanceof NotFoundError
    this.#around = async (request, { untilEnd, mayHaveBeenApplied }) => {
      // If the record could not be restored after the last attempt, it is still to be restored.
      if (!isRefused) before = undefined
      isRefused = false
      try {
        await untilEnd(then(take))
        return await request()
      } catch (thrown) {
        isRefused = !mayHaveBeenApplied(thrown) && !isGone(thrown)
        // If the storage fails as well, the caller gets the error of the request.
        if (isRefused) await untilEnd(then(takeBack)).catch(() => {})
        throw thrown
      }
    }
    try {
      const reply = await send(write.call)
      const id = idOf(reply.data)
      if (this.#mine !== undefined)
        await this.#answer(this.#mine, toStored({ ...this.#mine.record, state: 'applied', id }))
      this.#applied = { id }
      this.#shared.unconfirmed = 0
      return reply
    } catch (thrown) {
      await step.catch(() => {})
      if (isTaken) return undefined
      // If restoring the record failed in the guard, try again: the storage might work now.
      if (isRefused) await takeBack()
      const isUnconfirmed = thrown instanceof RequestError && (thrown.outcome === 'unknown' || isGone(thrown))
      if (this.#mine === undefined || !isUnconfirmed) throw thrown
      this.#failure = thrown
      return undefined
    }
  }

  /**
   * Stores the result from the response of an attempt, even if another process has stored its own finding meanwhile.
   */
  async #answer(mine: Stored, next: Stored | undefined): Promise<void> {
    const { records } = this.#shared
    for (let expected: Stored | undefined = mine; ; ) {
      if (await records.replace(this.#key, expected, next)) return
      const now = await records.get(this.#key)
      // Another process sends the write again, so the record is about that attempt.
      if (now !== undefined && now.record.attempt !== mine.record.attempt) return
      expected = now
    }
  }

  /** Checks whether a write was applied. Returns true to send it, false to read its record again. */
  async #confirm(write: Write, found: Stored): Promise<boolean> {
    const isOwn = found.record.attempt === this.#mine?.record.attempt
    const doubt = await watch(write, this.#key, found, isOwn, this.#shared)
    if (doubt === undefined) return false
    const { stored, problem, cause } = doubt
    const mayRepeat = write.call.operation.method === 'DELETE' || this.#options.resendIfAbsent === true
    if (problem === write.absent && mayRepeat && !this.#hasResent) return true
    const unconfirmed = toStored({ ...stored.record, state: 'unconfirmed' })
    const isKnown = stored.record.state === 'unconfirmed'
    if (!isKnown && !(await this.#shared.records.replace(this.#key, stored, unconfirmed))) return false
    if (this.#failure !== undefined) this.#shared.unconfirmed += 1
    throw new UnconfirmedWriteError(this.#key, problem, write.sent, this.#failure, cause)
  }

  #misused(
    problem: string,
    hint = 'Use a separate key for each write, and send it through the given client.',
    argument: 'key' | 'write' = 'key',
  ): InvalidArgumentError {
    return new InvalidArgumentError(argument, `The write "${this.#key}" ${problem}.`, hint)
  }

  /** Returns an error without an outcome, because something might have been sent. */
  #leftOpen(problem: string, hint: string): SupportWorkspaceError {
    return new SupportWorkspaceError(`The function of the write "${this.#key}" ${problem}.`, { hint })
  }
}

function stopped({ call }: Write, stopAfter: number): RequestError {
  const { id } = call.operation
  return new RequestError(`${id} was not sent, because ${stopAfter} writes in a row are unconfirmed.`, {
    ...{ operation: id, outcome: 'not-sent', remedy: 'retry' },
    hint: 'The service is probably down. Run the job again later.',
  })
}
