import type { ResponseInfo } from './errors/index.ts'

/** What a call came to, with the facts of its answer. */
export interface WithResponse<Data> {
  readonly data: Data
  /** Status, headers and request id of the answer. */
  readonly response: ResponseInfo
}

/**
 * A call in flight. It is a promise of the data; `withResponse()` gives status, headers and request id beside it.
 *
 * @example
 * const member = await workspace.members.get(id)
 * const { data, response } = await workspace.members.get(id).withResponse()
 */
export class Call<Data> implements Promise<Data> {
  readonly #start: () => Promise<WithResponse<Data>>
  #result: Promise<WithResponse<Data>> | undefined

  /** Nothing is sent before somebody asks for the result. */
  constructor(start: () => Promise<WithResponse<Data>>) {
    this.#start = start
  }

  /** Sends the request now, whether or not anybody will ask for the result. */
  static started<Data>(start: () => Promise<WithResponse<Data>>): Call<Data> {
    const call = new Call(start)
    void call.withResponse()
    return call
  }

  /** The data together with status, headers and request id of the answer. */
  withResponse(): Promise<WithResponse<Data>> {
    this.#result ??= this.#start()
    return this.#result
  }

  // biome-ignore lint/suspicious/noThenProperty: being awaitable is what a call is for
  then<Fulfilled = Data, Rejected = never>(
    onFulfilled?: ((data: Data) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    return this.withResponse()
      .then(({ data }) => data)
      .then(onFulfilled, onRejected)
  }

  catch<Rejected = never>(
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Data | Rejected> {
    return this.then(undefined, onRejected)
  }

  finally(onFinally?: (() => void) | null): Promise<Data> {
    return this.then().finally(onFinally)
  }

  get [Symbol.toStringTag](): string {
    return 'Call'
  }
}
