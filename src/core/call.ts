import { InvalidArgumentError, isSupportWorkspaceError, type ResponseInfo } from '../errors/index.ts'
import { withoutSecrets } from '../errors/redact.ts'

/** The cursors of a page. */
export interface PageCursors {
  /** The cursor of the next page. */
  readonly after: string | null
  /** The cursor of the previous page. */
  readonly before: string | null
}

/** The result of a call. */
export interface Reply<Data = unknown> {
  /** The data of the response. For a list, the items of the page. Undefined if the operation returns none. */
  readonly data: Data
  /** The cursors of a page. Both are null for operations other than lists. */
  readonly cursors: PageCursors
  /** Status, headers and request id of the response. */
  readonly response: ResponseInfo
}

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
export interface Call<Data> extends Promise<Data> {
  /** Returns the data together with status, headers and request id of the response. */
  withResponse(): Promise<WithResponse<Data>>
}

/** Makes the promise of the caller from a reply that is under way. */
export function callOf<Data>(reply: Promise<Reply<Data>>): Call<Data> {
  const call = reply.then(({ data }) => data)
  const withResponse = async (): Promise<WithResponse<Data>> => {
    const data = await call
    const { response } = await reply
    return { data, response }
  }
  return Object.defineProperty(call, 'withResponse', { value: withResponse }) as Call<Data>
}

/** Errors that name their call. One can pass through another call, for example as the reason of a signal. */
const named = /* @__PURE__ */ new WeakSet<object>()

/**
 * Returns what a call rejects with. An error of this package gets its stack here, from which V8 finds the line of the
 * caller, and an error about an argument names the operation. Browsers from before 2025 keep the original stack.
 */
export function namingCall(thrown: unknown, operation: unknown): unknown {
  if (!isSupportWorkspaceError(thrown) || named.has(thrown) || !Object.isExtensible(thrown)) return thrown
  named.add(thrown)
  if (thrown instanceof InvalidArgumentError && typeof operation === 'string' && operation !== '') {
    Reflect.set(thrown, 'message', `${withoutSecrets(operation)}: ${thrown.message}`)
  }
  Reflect.get(Error, 'captureStackTrace')?.(thrown, namingCall)
  return thrown
}
