import { type Guard, guardKey, type OutgoingCall, type Reply } from '../core/index.ts'
import { untilAborted } from '../shared/abort.ts'
import { randomId } from '../shared/bytes.ts'
import { InvalidArgumentError, NotFoundError, RequestError, SupportWorkspaceError } from '../shared/errors/index.ts'
import { type FindEffect, idOf } from './effects.ts'
import { UnconfirmedWriteError } from './journal-errors.ts'
import { type Stored, toStored, type WriteRecord } from './records.ts'
import { watch } from './watch.ts'
import { absent, describeWrite, type Shared, type Write } from './write.ts'

type Send = (call: OutgoingCall) => Promise<Reply>

/** The options of `journal.once`. */
export interface OnceOptions {
  /**
   * Checks whether the write was applied, in place of the journal's own check. Required to confirm custom operations
   * (`workspace.call`, `workspace.request`), `tasks.create` and `segments.create`.
   *
   * @default a check for each built-in operation
   */
  readonly find?: FindEffect | undefined
  /**
   * Whether to send the write once more if its effect was not found.
   *
   * **Warning:** This can create duplicates, mostly unnoticed. For example, the service applies the first write after
   * `confirmTimeout`, or a paused process wakes up and sends it.
   *
   * @default false
   */
  readonly resendIfAbsent?: boolean | undefined
}

/** The write of a key, from the function that sends it to its result. */
export class Intent {
  readonly #shared: Shared
  readonly #key: string
  readonly #options: OnceOptions
  #sending: Promise<Reply> | undefined
  #misuse: InvalidArgumentError | undefined
  /** The result of the write, once it was applied. */
  #applied: { readonly id?: string | undefined } | undefined
  /** The record that this process has written for its attempt. Only this process waits for the response. */
  #mine: Stored | undefined
  #hasResent = false
  /** The error of the write, if its outcome is unknown. */
  #failure: RequestError | undefined
  /** Whether the function has ended. */
  #hasEnded = false

  constructor(shared: Shared, key: string, options: OnceOptions) {
    this.#shared = shared
    this.#key = key
    this.#options = options
  }

  /** Runs the function, whose calls pass through `pass`, and returns the result of its write. */
  async run<Data>(task: () => PromiseLike<Data>): Promise<{ readonly id?: string | undefined; readonly data?: Data }> {
    const [ended] = await Promise.allSettled([(async () => task())()])
    this.#hasEnded = true
    const [write] = await Promise.allSettled([this.#sending])
    if (this.#misuse !== undefined) throw this.#misuse
    if (this.#applied !== undefined && write.status === 'rejected') return this.#applied
    if (ended.status === 'rejected') throw ended.reason
    if (write.status === 'rejected') throw write.reason
    if (this.#applied === undefined)
      throw this.#misused(
        'sent no write through the client that it was given',
        'Use that client. Check what was sent through another one: the journal does not know it.',
      )
    return { ...this.#applied, data: ended.value }
  }

  /** Sends a call of the function's client. Reads pass. */
  async pass(call: OutgoingCall, send: Send): Promise<Reply> {
    if (call.operation.method === 'GET') return send(call)
    if (this.#sending !== undefined) {
      const hint = 'Give each write a key of its own. The first one may have been applied: `journal.get` tells.'
      this.#misuse = this.#misused('sent a second write', hint)
      throw this.#misuse
    }
    // `once` has said what became of the key.
    if (this.#hasEnded) throw this.#misused('was sent after its function had ended')
    this.#sending = this.#settle(call, send)
    return this.#sending
  }

  async #settle(call: OutgoingCall, send: Send): Promise<Reply> {
    const write = await describeWrite(call, this.#options.find, this.#shared)
    for (;;) {
      const found = await untilAborted(this.#shared.records.get(this.#key), call.signal)
      if (found !== undefined) this.#checkUse(write, found.record)
      if (found?.record.state === 'applied') {
        this.#applied = { id: found.record.id }
        throw new SupportWorkspaceError(`The write "${this.#key}" is applied.`, { hint: '`once` returns its id.' })
      }
      const isFree = found === undefined || (await this.#confirm(write, found))
      const reply = isFree ? await this.#send(write, send, found) : undefined
      if (reply !== undefined) return reply
    }
  }

  /** Throws if the key belongs to another write. Waits for a write with another body if it might not be applied. */
  #checkUse({ record: { operation, path, place, input } }: Write, found: WriteRecord): void {
    const isApplied = found.state === 'applied'
    if (found.place !== place) {
      const hint = 'Put the organization into the key, for example its id.'
      throw this.#misused('is used by another organization or service', hint)
    }
    if (found.operation !== operation || found.path !== path) {
      const where = found.operation === operation ? ' at another path' : ''
      const fate = isApplied ? 'was applied' : 'may have been applied'
      throw this.#misused(`was another one before (${found.operation}${where}), which ${fate}`)
    }
    if (isApplied && found.input !== input) {
      const hint = 'Keep the body of a key, or ask `journal.get` for the key before you make one.'
      throw this.#misused('was applied, with another body or query', hint)
    }
  }

  /**
   * Returns the reply. Returns undefined if another process has the key, or the outcome has to be looked for.
   *
   * @param repeated the record of an unconfirmed write that is sent again
   */
  async #send(write: Write, send: Send, repeated?: Stored): Promise<Reply | undefined> {
    const { records, clock, stopAfter, unconfirmed } = this.#shared
    if (unconfirmed >= stopAfter) throw stopped(write, stopAfter)
    const isDelete = write.call.operation.method === 'DELETE'
    this.#mine = repeated
    this.#hasResent ||= repeated !== undefined
    /** The entry before the attempt, to restore. Undefined if the entry stays. */
    let before: { readonly stored: Stored | undefined } | undefined
    let isTaken = false
    let isRefused = false
    /** Writing the record, and taking it back, which go on when the call has ended. */
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
      // An earlier write might have been applied, and another process might have confirmed it.
      const next = before.stored && toStored(before.stored.record)
      if (next === undefined) await this.#answer(this.#mine, undefined)
      else await records.replace(this.#key, this.#mine, next)
      this.#mine = next
      before = undefined
    }
    /** Whether the write might have been applied. After a 404, an earlier DELETE might have deleted the object. */
    const isUnknown = (thrown: unknown): thrown is RequestError =>
      thrown instanceof RequestError &&
      (thrown.outcome === 'unknown' || (isDelete && before?.stored !== undefined && thrown instanceof NotFoundError))
    const guard: Guard = async (request, { untilEnd, wasSent }) => {
      // Unless taking back the last attempt has failed.
      if (!isRefused) before = undefined
      isRefused = false
      try {
        await untilEnd(then(take))
        return await request()
      } catch (thrown) {
        isRefused = thrown instanceof RequestError ? !isUnknown(thrown) : !wasSent()
        // The failure of the request matters more than one of the storage.
        if (isRefused) await untilEnd(then(takeBack)).catch(() => {})
        throw thrown
      }
    }
    try {
      const guarded = { ...write.call, [guardKey]: guard }
      const reply = await send(guarded)
      const id = idOf(reply.data)
      if (this.#mine !== undefined)
        await this.#answer(this.#mine, toStored({ ...this.#mine.record, state: 'applied', id }))
      this.#applied = { id }
      this.#shared.unconfirmed = 0
      return reply
    } catch (thrown) {
      await step.catch(() => {})
      if (isTaken) return undefined
      // The storage has failed at that moment, and might work again by now.
      if (isRefused) await takeBack()
      if (this.#mine === undefined || !isUnknown(thrown)) throw thrown
      this.#failure = thrown
      return undefined
    }
  }

  /** Writes what the response of an attempt says, which beats what others have concluded of it. */
  async #answer(mine: Stored, next: Stored | undefined): Promise<void> {
    const { records } = this.#shared
    for (let expected: Stored | undefined = mine; ; ) {
      if (await records.replace(this.#key, expected, next)) return
      const now = await records.get(this.#key)
      // Somebody has decided to send it again.
      if (now !== undefined && now.record.attempt !== mine.record.attempt) return
      expected = now
    }
  }

  /** Checks an unconfirmed write. Returns whether to send it again. */
  async #confirm(write: Write, found: Stored): Promise<boolean> {
    const isOwn = found.record.attempt === this.#mine?.record.attempt
    const doubt = await watch(write, this.#key, found, isOwn, this.#shared)
    if (doubt === undefined) return false
    const { stored, problem, cause } = doubt
    const mayRepeat = write.call.operation.method === 'DELETE' || this.#options.resendIfAbsent === true
    if (problem === absent && mayRepeat && !this.#hasResent) return true
    const unconfirmed = toStored({ ...stored.record, state: 'unconfirmed' })
    const isKnown = stored.record.state === 'unconfirmed'
    if (!isKnown && !(await this.#shared.records.replace(this.#key, stored, unconfirmed))) return false
    if (this.#failure !== undefined) this.#shared.unconfirmed += 1
    throw new UnconfirmedWriteError(this.#key, problem, write.sent, this.#failure, cause)
  }

  #misused(
    problem: string,
    hint = 'Give each write a key of its own, and send it through the client of the function.',
  ): InvalidArgumentError {
    return new InvalidArgumentError('key', `The write "${this.#key}" ${problem}.`, hint)
  }
}

function stopped({ call }: Write, stopAfter: number): RequestError {
  const { id } = call.operation
  return new RequestError(`${id} was not sent, because ${stopAfter} writes in a row are unconfirmed.`, {
    ...{ operation: id, outcome: 'not-sent', remedy: 'retry' },
    hint: 'The service is probably down. Run the job again later.',
  })
}
