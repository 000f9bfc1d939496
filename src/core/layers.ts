import type { ResponseInfo } from '../errors/index.ts'

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

/** The next layer, or the innermost function. */
export type Next<Request> = (request: Request) => Promise<Reply>

/** A function that passes a request on, possibly changed, and sees the reply or the failure. */
export type Layer<Request> = (request: Request, next: Next<Request>) => Promise<Reply>

/** Returns a function that passes a request through the layers, from the first to the last, and then sends it. */
export function compose<Request>(layers: readonly Layer<Request>[], innermost: Next<Request>): Next<Request> {
  return layers.reduceRight<Next<Request>>((next, layer) => (request) => layer(request, next), innermost)
}
