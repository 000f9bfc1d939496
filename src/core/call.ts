import type { ResponseInfo } from '../errors/index.ts'
import type { Reply } from './layers.ts'
import { trace } from './trace.ts'

/** The result of a call together with its response. */
export interface WithResponse<Data> {
  /** The data that `await` returns. */
  readonly data: Data
  /** Status, headers and request id of the response. */
  readonly response: ResponseInfo
}

/**
 * A promise of the response data. `withResponse()` also returns status, headers and request id.
 *
 * Rejects with a `RequestError`, which has a class for each kind of failure, with an `InvalidArgumentError` if an
 * argument is invalid, or with the reason of an aborted `signal`. The stack of an error leads to the line that awaits
 * the call.
 *
 * @example
 * const organization = await workspace.organization.get()
 * const { data, response } = await workspace.organization.get().withResponse()
 */
export class Call<Data> implements Promise<Data> {
  /** The id of the operation, for example `organization.get`. */
  readonly operation: string
  readonly #start: () => Promise<Reply<Data>>
  #reply: Promise<Reply<Data>> | undefined

  /**
   * @internal
   * @param start sends the request. Called once, when the result is first requested.
   */
  constructor(operation: string, start: () => Promise<Reply<Data>>) {
    this.operation = operation
    this.#start = start
  }

  /** @internal Creates a call and sends its request immediately. */
  static started<Data>(operation: string, start: () => Promise<Reply<Data>>): Call<Data> {
    const call = new Call(operation, start)
    call.#reply = start()
    return call
  }

  /** Returns the data together with status, headers and request id of the response. */
  withResponse(): Promise<WithResponse<Data>> {
    return this.#receive(({ data, response }) => ({ data, response }))
  }

  /** Handles the data or a rejection, like `then` of any promise. Usually called by `await`. */
  // biome-ignore lint/suspicious/noThenProperty: a call is awaitable by design
  then<Fulfilled = Data, Rejected = never>(
    onFulfilled?: ((data: Data) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    return this.#receive(({ data }) => data).then(onFulfilled, onRejected)
  }

  /** Handles a rejection, like `catch` of any promise. */
  catch<Rejected = never>(
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Data | Rejected> {
    return this.then(undefined, onRejected)
  }

  /** Runs a callback when the call has ended, like `finally` of any promise. */
  finally(onFinally?: (() => void) | null): Promise<Data> {
    return this.then().finally(onFinally)
  }

  async #receive<Result>(use: (reply: Reply<Data>) => Result): Promise<Result> {
    try {
      this.#reply ??= this.#start()
      return use(await this.#reply)
    } catch (thrown) {
      throw trace(thrown, this.operation)
    }
  }

  /** @hidden */
  get [Symbol.toStringTag](): string {
    return 'Call'
  }
}
