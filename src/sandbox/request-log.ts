/** A request that the sandbox received. */
export interface RecordedRequest {
  /** Method in upper case, for example `POST`. */
  readonly method: string
  /** Percent-encoded path, without the query. */
  readonly path: string
  /** Decoded query parameters. A parameter that was sent more than once is an array. */
  readonly query: Record<string, string | string[]>
  /** Headers with lower-case names. Secrets are not redacted. */
  readonly headers: Record<string, string>
  /**
   * The body: parsed JSON, a form as an object, or other content as text, such as JSON that is nested more than 100
   * levels deep. `undefined` for an empty body and for a body that is too large, which gets a 413.
   */
  readonly body: unknown
  /** Status of the response; `undefined` while in flight, or if the connection was dropped before the headers. */
  readonly status: number | undefined
  /** Time of arrival in milliseconds since the epoch, on the sandbox's clock. */
  readonly at: number
  /** The service's name for the operation, such as `listConversations`; `undefined` for an unknown path. */
  readonly operation: string | undefined
  /** Scope that the operation requires; `undefined` if it requires none. */
  readonly scope: string | undefined
  /** Actor of the access token; `undefined` without a valid token. */
  readonly actor: 'app' | 'self' | undefined
  /**
   * The injected fault, such as `status=503` or `drop=after-effect`, or `rate limit` for a request above `rateLimit`.
   * `undefined` for a normal response.
   */
  readonly fault: string | undefined
  /**
   * Names of the query parameters and body fields that the operation ignored, because no document has them. Up to 20,
   * and up to 100 characters of each. The response has them in `x-sandbox-ignored`.
   */
  readonly ignored: readonly string[]
}

/** A record that is filled in while the request is handled. */
export type OpenRecord = { -readonly [Key in keyof RecordedRequest]: RecordedRequest[Key] }

/** A recorded request, and details that only the console shows. */
export interface LogEntry {
  /** Number of the request, counted from 1. */
  readonly id: number
  readonly request: OpenRecord
  /** Number of bytes of the bodies that are kept. */
  bodyBytes: number
  /** Time from the arrival to the response in milliseconds; `undefined` while in flight. */
  duration?: number
  /** Up to 16,384 characters of the request body. Only captured for a console. `undefined` for an empty body. */
  requestBody?: string | undefined
  /** The response body, captured like `requestBody`. */
  responseBody?: string | undefined
}

/** The most recent requests, up to a number of them and of bytes in their bodies. */
export class RequestLog {
  /** The entries, oldest first. */
  readonly entries: LogEntry[] = []
  /** The requests of the entries, in the same order. */
  readonly requests: RecordedRequest[] = []
  readonly #limits: { readonly requests: number; readonly bodyBytes: number }
  readonly #listeners: ((request: RecordedRequest) => void)[] = []
  #bodyBytes = 0
  #lastId = 0

  /** Keeps requests up to these limits, so that a sandbox that runs for days does not fill the memory. */
  constructor(limits: { requests: number; bodyBytes: number }) {
    this.#limits = limits
  }

  /** Adds a request that is not handled yet. */
  add(request: OpenRecord): LogEntry {
    this.#lastId += 1
    const entry: LogEntry = { id: this.#lastId, request, bodyBytes: 0 }
    this.entries.push(entry)
    this.requests.push(request)
    this.#removeOldest()
    return entry
  }

  /** Counts a body of an entry, unless the entry was removed while its request was handled. */
  count(entry: LogEntry, body: string | undefined): void {
    if (body === undefined || entry.id < (this.entries[0]?.id ?? Number.POSITIVE_INFINITY)) return
    const bytes = Buffer.byteLength(body)
    entry.bodyBytes += bytes
    this.#bodyBytes += bytes
    this.#removeOldest()
  }

  /** Removes the oldest entries that exceed the limits, and always keeps the newest one. */
  #removeOldest(): void {
    const { requests, bodyBytes } = this.#limits
    while (this.entries.length > requests || (this.#bodyBytes > bodyBytes && this.entries.length > 1)) {
      this.#bodyBytes -= this.entries.shift()?.bodyBytes ?? 0
      this.requests.shift()
    }
  }

  clear(): void {
    this.entries.splice(0)
    this.requests.splice(0)
    this.#bodyBytes = 0
  }

  /** Tells the listeners that a request was handled. */
  finish({ request }: LogEntry): void {
    for (const listener of this.#listeners) listener(request)
  }

  onFinish(listener: (request: RecordedRequest) => void): void {
    this.#listeners.push(listener)
  }
}
