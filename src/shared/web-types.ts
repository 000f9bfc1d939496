/** The second argument of a `fetch` call, as plain data. */
export interface FetchInit {
  /** The HTTP method in upper case, for example `POST`. */
  readonly method: string
  /** Header names in lower case. Includes `authorization`. */
  readonly headers: Readonly<Record<string, string>>
  /** The body as text. Absent when the request has none. */
  readonly body?: string
  /** Aborts when the caller aborts or a timeout expires. */
  readonly signal: AbortSignal
  /** Always `manual`: the token must not follow a redirect. */
  readonly redirect: 'manual'
}

/** The part of a `Response` that the client reads. `body`, when it is a stream, is read instead of `text()`. */
export interface FetchResponse {
  /** The HTTP status. */
  readonly status: number
  /** The headers, by case-insensitive name. */
  readonly headers: {
    /** Returns the value of a header, or null. */
    get(name: string): string | null
    /** Calls a function with each value and its lower-case name. */
    forEach(callback: (value: string, name: string) => void): void
  }
  /** Reads the body as text. */
  text(): Promise<string>
}

/**
 * A function that sends a request and returns its response: the platform's `fetch`, the `fetch` of undici or
 * node-fetch, or your wrapper. The SDK calls it with a URL string and plain data.
 */
export type WebFetch = (url: string, init: FetchInit) => Promise<FetchResponse>

/** The method that `await using` calls, if the compiler knows it. */
export type AsyncDisposal = typeof Symbol extends { readonly asyncDispose: infer Key extends symbol }
  ? { readonly [Method in Key]: () => Promise<void> }
  : Record<never, never>
