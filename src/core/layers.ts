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

/** Sends a request, and resolves with its reply. */
export type Next<Request> = (request: Request) => Promise<Reply>
