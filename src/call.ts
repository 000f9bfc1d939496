import type { ResponseInfo } from './errors/index.ts'

/** The result of a call together with its response. */
export interface WithResponse<Data> {
  /** What `await` returns. */
  readonly data: Data
  /** Status, headers and request id of the response. */
  readonly response: ResponseInfo
}

/**
 * A promise of the response data. `withResponse()` also returns status, headers and request id.
 *
 * Rejects with a `RequestError`, which has a class for each kind of failure, with an `InvalidArgumentError` if an argument
 * is invalid, or with the reason of an aborted `signal`.
 *
 * @example
 * const organization = await workspace.organization.get()
 * const { data, response } = await workspace.organization.get().withResponse()
 */
export class Call<Data> implements Promise<Data> {
  readonly #start: () => Promise<WithResponse<Data>>
  #result: Promise<WithResponse<Data>> | undefined

  /** @param start sends the request. Called once, when the result is first requested. */
  constructor(start: () => Promise<WithResponse<Data>>) {
    this.#start = start
  }

  /** Creates a call and sends its request immediately. */
  static started<Data>(start: () => Promise<WithResponse<Data>>): Call<Data> {
    const call = new Call(start)
    void call.withResponse()
    return call
  }

  /** Returns the data together with status, headers and request id of the response. */
  withResponse(): Promise<WithResponse<Data>> {
    this.#result ??= this.#start()
    return this.#result
  }

  /** Handles the data or a rejection, like `then` of any promise. Usually called by `await`. */
  // biome-ignore lint/suspicious/noThenProperty: a call is awaitable by design
  then<Fulfilled = Data, Rejected = never>(
    onFulfilled?: ((data: Data) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    return this.withResponse()
      .then(({ data }) => data)
      .then(onFulfilled, onRejected)
  }

  /** Handles a rejection, like `catch` of any promise. */
  catch<Rejected = never>(
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Data | Rejected> {
    return this.then(undefined, onRejected)
  }

  /** Runs a callback when the call settles, like `finally` of any promise. */
  finally(onFinally?: (() => void) | null): Promise<Data> {
    return this.then().finally(onFinally)
  }

  /** @hidden */
  get [Symbol.toStringTag](): string {
    return 'Call'
  }
}
