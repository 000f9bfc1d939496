import type { SupportWorkspace } from '../client/index.ts'
import type { Guard, Operation, OutgoingCall, Reply } from '../core/index.ts'
import { InvalidArgumentError, RequestError, SupportWorkspaceError } from '../errors/index.ts'
import { untilAborted } from '../shared/abort.ts'
import type { FindEffect } from './effects.ts'
import { type Doubt, UnconfirmedWriteError } from './journal-errors.ts'
import type { WriteRecord } from './records.ts'
import { type Before, Sending } from './sending.ts'
import { watch } from './watch.ts'
import { describeWrite, type Shared, type Write } from './write.ts'

type Send = (call: OutgoingCall) => Promise<Reply>

/** The options of `journal.once`. */
export interface OnceOptions {
  /**
   * The last look before the write is sent, for example whether the customer has written again. Runs before each
   * attempt and after every wait: token, headers, permit of the rate limiter, `before`, record, request. If more than a
   * second passes from its start until the record is written, it runs again, up to three times more.
   *
   * If it throws, the write is not sent. `once` rejects with the same error and the key is free, unless an earlier
   * attempt of this key might have been applied: then the write stays unconfirmed, with the error as its `cause`.
   *
   * Its client reads past caches and without your middleware, and sends each request once, without waiting for the
   * rate limiter. If the service refuses one of them with a 429, the write waits as if it had been refused itself.
   */
  readonly before?: ((client: SupportWorkspace) => unknown) | undefined
  /**
   * The id of the message that a new message answers. When the journal confirms the write, a text counts only if it is
   * newer than that message, so that the same text from before the question is not taken for the reply.
   */
  readonly answers?: string | undefined
  /**
   * The ids of messages that were there before the write, so that none of them is its effect.
   *
   * @internal
   */
  readonly known?: readonly string[] | undefined
  /**
   * Called with the record of an attempt of another process before the journal checks it. Throws to leave it alone.
   *
   * @internal
   */
  readonly beforeCheck?: ((found: Pick<WriteRecord, 'attempt'>) => void) | undefined
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
    around: (request, attempt) => this.#sender?.around(request, attempt) ?? request(),
  }
  readonly #shared: Shared
  readonly #key: string
  readonly #options: OnceOptions & { readonly before?: Before | undefined }
  #sending: Promise<Reply> | undefined
  /** Of the call that sends the write. The object is the same if a middleware outside the journal repeats the call. */
  #operation: Operation | undefined
  #misuse: SupportWorkspaceError | undefined
  /** The result of the write. Undefined until the write is applied. */
  #applied: { readonly id?: string | undefined } | undefined
  /** Sends the write and keeps its record. Undefined until the key is free. */
  #sender: Sending | undefined
  #hasResent = false
  /** The error of this process's attempt, if its outcome is unknown. */
  #failure: RequestError | undefined
  /** Whether the function has resolved or rejected. */
  #hasEnded = false
  /** Whether the write has resolved or rejected. */
  #hasSettled = false

  constructor(shared: Shared, key: string, options: OnceOptions) {
    this.#shared = shared
    this.#key = key
    this.#options = options
  }

  /** Runs the function, whose calls go through the guard, and returns the result of its write. */
  async run<Data>(task: () => PromiseLike<Data>): Promise<{ readonly id?: string | undefined; readonly data?: Data }> {
    const [ended] = await Promise.allSettled([(async () => task())()])
    this.#hasEnded = true
    const isLeft = !this.#hasSettled
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
    // Its error would end the process, for example when the next run finds that the write was applied.
    if (isLeft) throw this.#leftOpen('did not await its write', 'Await it.')
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
    this.#sending = this.#settle(call, send).finally(() => {
      this.#hasSettled = true
    })
    return this.#sending
  }

  async #settle(call: OutgoingCall, send: Send): Promise<Reply> {
    const { records } = this.#shared
    const describe = () => describeWrite(call, this.#options, this.#shared)
    let write = await describe()
    for (;;) {
      const found = await untilAborted(records.get(this.#key), call.signal)
      if (found !== undefined) this.#checkUse(write, found)
      else if (this.#failure !== undefined) {
        // Somebody has resolved the write as absent. Only the next `once` sends it.
        throw this.#unconfirmed(write, { reason: 'removed', problem: 'its record was removed' })
      }
      if (found?.state === 'applied') {
        this.#applied = { id: found.id }
        throw new SupportWorkspaceError(`The write "${this.#key}" is applied.`, { hint: '`once` returns its id.' })
      }
      const isFree = found === undefined || (await this.#confirm(write, found))
      const reply = isFree ? await this.#send(write, send, found) : undefined
      if (reply !== undefined) return reply
      write = await describe()
    }
  }

  /**
   * Sends the write and returns the reply. Returns undefined if the record has to be read again.
   *
   * @param repeated the record of an unconfirmed write that is sent again
   */
  async #send(write: Write, send: Send, repeated: WriteRecord | undefined): Promise<Reply | undefined> {
    const { stopAfter, unconfirmed } = this.#shared
    if (unconfirmed >= stopAfter) throw stopped(write, stopAfter)
    this.#hasResent ||= repeated !== undefined
    this.#sender = new Sending(this.#shared, this.#key, write, this.#options.before, repeated)
    const sent = await this.#sender.send(() => send(write.call))
    if (sent === 'outdated') return undefined
    if ('declined' in sent) {
      const reason = repeated === undefined ? 'unclear' : 'absent'
      const doubt = {
        reason,
        problem: 'it was not sent again, for the reason in `cause`',
        cause: sent.declined,
      } as const
      return this.#leave(write, this.#sender.stored as WriteRecord, doubt)
    }
    if ('failure' in sent) {
      this.#failure = sent.failure
      return undefined
    }
    this.#applied = { id: sent.id }
    this.#shared.unconfirmed = 0
    return sent.reply
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
      const elsewhere = found.operation === operation ? ' at another path' : ''
      const fate = isApplied ? 'was applied' : 'may have been applied'
      const hint = 'Ask `journal.get` for the key before you choose what to write to.'
      throw this.#misused(`was another one before (${found.operation}${elsewhere}), which ${fate}`, elsewhere && hint)
    }
    if (isApplied && found.input !== input) {
      const hint = 'Keep the body of a key, or call `journal.get` first.'
      throw this.#misused('was applied, with another body or query', hint, 'write')
    }
  }

  /** Checks whether a write was applied. Returns true to send it, false to read its record again. */
  async #confirm(write: Write, found: WriteRecord): Promise<boolean> {
    const isOwn = found.attempt === this.#sender?.stored?.attempt
    if (isOwn && this.#shared.isHasty) {
      await this.#leave(write, found, { reason: 'unclear', problem: 'its response was lost' })
      return false
    }
    if (!isOwn) this.#options.beforeCheck?.(found)
    const doubt = await watch(write, this.#key, found, isOwn, this.#shared)
    if (doubt === undefined) return false
    const mayRepeat = write.call.operation.method === 'DELETE' || this.#options.resendIfAbsent === true
    if (doubt.reason === 'absent' && mayRepeat && !this.#hasResent) return true
    await this.#leave(write, doubt.stored, doubt)
    return false
  }

  /** Leaves a write unconfirmed. Returns if its record has changed meanwhile. */
  async #leave(write: Write, stored: WriteRecord, doubt: Doubt): Promise<undefined> {
    const unconfirmed: WriteRecord = { ...stored, state: 'unconfirmed' }
    const isKnown = stored.state === 'unconfirmed'
    if (!isKnown && !(await this.#shared.records.replace(this.#key, stored, unconfirmed))) return
    if (this.#failure !== undefined) this.#shared.unconfirmed += 1
    throw this.#unconfirmed(write, doubt)
  }

  #unconfirmed({ sent }: Write, doubt: Doubt): UnconfirmedWriteError {
    return new UnconfirmedWriteError(this.#key, doubt, sent, this.#failure)
  }

  #misused(problem: string, hint = '', argument: 'key' | 'write' = 'key'): InvalidArgumentError {
    const usual = 'Use a separate key for each write, and send it through the given client.'
    return new InvalidArgumentError(argument, `The write "${this.#key}" ${problem}.`, hint || usual)
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
