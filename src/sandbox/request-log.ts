/** A request that the sandbox received. */
export interface RecordedRequest {
  /** HTTP method in upper case. */
  readonly method: string
  /** Percent-encoded path, without the query. */
  readonly path: string
  /** Decoded query parameters. A parameter that was sent more than once is an array. */
  readonly query: Record<string, string | string[]>
  /** Headers with lower-case names. Secrets are not redacted. */
  readonly headers: Record<string, string>
  /**
   * Parsed JSON, a form as an object, or other content as text, such as JSON that is nested more than 100 levels deep.
   * `undefined` for an empty body and for one that is too large, which gets a 413.
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
  /** Actor of the access token; `undefined` without a valid one. */
  readonly actor: 'app' | 'self' | undefined
  /**
   * What the sandbox injected: a fault, such as `status=503` or `drop=after-effect`, or `rate limit`. `undefined` for a
   * normal response.
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

/** A recorded request, and what only the console shows of it. */
export interface LogEntry {
  /** Counts up from 1. */
  readonly id: number
  readonly request: OpenRecord
  /** Estimated bytes that the entry occupies in memory. */
  bytes: number
  /** Time from the arrival to the response in milliseconds; `undefined` while in flight. */
  duration?: number
  /** The headers of the response. Only captured for a console. */
  responseHeaders?: Record<string, string>
  /** The valid token of the request, shortened. */
  token?: string
  organization?: string
  /**
   * Up to 16,384 characters of the bodies, with tokens and codes shortened. Only captured for a console. `undefined`
   * for an empty body.
   */
  requestBody?: string | undefined
  responseBody?: string | undefined
}

/**
 * The most recent requests, up to a number and a size in memory. Tells listeners about each request that was handled.
 */
export class RequestLog {
  /** Oldest first. */
  readonly entries: LogEntry[] = []
  /** The requests of the entries, in the same order. */
  readonly requests: RecordedRequest[] = []
  readonly #limits: { readonly requests: number; readonly bytes: number }
  readonly #listeners: ((request: RecordedRequest) => void)[] = []
  #bytes = 0
  #lastId = 0

  /** Keeps requests up to these limits, so that a sandbox that runs for days does not fill the memory. */
  constructor(limits: { requests: number; bytes: number }) {
    this.#limits = limits
  }

  /** Adds a request that is not handled yet. */
  add(request: OpenRecord): LogEntry {
    this.#lastId += 1
    const entry: LogEntry = { id: this.#lastId, request, bytes: 0 }
    this.entries.push(entry)
    this.requests.push(request)
    this.grow(entry, request)
    return entry
  }

  /** Counts what an entry holds. Removes the oldest entries that exceed the limits, and always keeps the newest one. */
  grow(entry: LogEntry, held: unknown): void {
    const bytes = sizeOf(held)
    entry.bytes += bytes
    // An entry that was removed while its request was handled no longer counts.
    if (entry.id < (this.entries[0]?.id ?? Number.POSITIVE_INFINITY)) return
    this.#bytes += bytes
    while (
      this.entries.length > this.#limits.requests ||
      (this.#bytes > this.#limits.bytes && this.entries.length > 1)
    ) {
      this.#bytes -= this.entries.shift()?.bytes ?? 0
      this.requests.shift()
    }
  }

  clear(): void {
    this.entries.splice(0)
    this.requests.splice(0)
    this.#bytes = 0
  }

  /** Tells the listeners that a request was handled. */
  finish({ request }: LogEntry): void {
    for (const listener of this.#listeners) listener(request)
  }

  onFinish(listener: (request: RecordedRequest) => void): void {
    this.#listeners.push(listener)
  }
}

/** Estimates the bytes that a value occupies in memory. */
function sizeOf(value: unknown): number {
  // Text with characters beyond Latin-1 takes two bytes for each.
  if (typeof value === 'string') return 24 + value.length * (/[^\0-\xff]/.test(value) ? 2 : 1)
  if (typeof value !== 'object' || value === null) return 8
  let bytes = 100
  for (const [name, inner] of Object.entries(value)) bytes += 50 + name.length + sizeOf(inner)
  return bytes
}

/** Shortens access tokens and authorization codes in a text, so that the console does not reveal them. */
export function shortenTokens(text: string): string {
  return text.replace(/\b(swot|code)_([\w-]{4})[\w.-]+/g, '$1_$2…')
}
