/**
 * A type of the web platform if the compiler knows it (from the DOM library, Node, Bun, Deno or Workers), otherwise the
 * members that this package uses. So a project compiles without the DOM library and `@types/node`.
 */
type Global<Name extends string, Fallback> = typeof globalThis extends {
  [name in Name]: { prototype: infer Instance }
}
  ? Instance
  : Fallback

/** The platform's `AbortSignal`. */
export type WebAbortSignal = Global<
  'AbortSignal',
  {
    readonly aborted: boolean
    readonly reason: unknown
    addEventListener(type: 'abort', listener: () => void): void
    removeEventListener(type: 'abort', listener: () => void): void
  }
>

/** The platform's `Headers`. */
export type WebHeaders = Global<
  'Headers',
  {
    /** Returns the value of a header, or null. */
    get(name: string): string | null
    /** Whether there is a header of this name. */
    has(name: string): boolean
    /** Calls a function with each value and its lower-case name. */
    forEach(callback: (value: string, name: string) => void): void
  }
>

/** The platform's `URL`. */
export type WebURL = Global<
  'URL',
  {
    /** The whole URL as text. */
    readonly href: string
    /** Returns `href`. */
    toString(): string
  }
>

/** The platform's `Request`. */
export type WebRequest = Global<
  'Request',
  {
    /** The absolute URL. */
    readonly url: string
    /** The HTTP method. */
    readonly method: string
    /** The headers, by case-insensitive name. */
    readonly headers: WebHeaders
  }
>

/** The platform's `Response`. */
export type WebResponse = Global<
  'Response',
  {
    /** Whether the status is 200 to 299. */
    readonly ok: boolean
    /** The HTTP status. */
    readonly status: number
    /** The headers, by case-insensitive name. */
    readonly headers: WebHeaders
    /** Reads the body as text. */
    text(): Promise<string>
  }
>

/** The second argument of a `fetch` call, as plain data. */
export interface FetchInit {
  /** The HTTP method in upper case, for example `POST`. */
  readonly method: string
  /** Header names in lower case. Includes `authorization`. */
  readonly headers: Readonly<Record<string, string>>
  /** The body as text. Absent when the request has none. */
  readonly body?: string
  /** Aborts when the caller aborts or a timeout expires. */
  readonly signal: WebAbortSignal
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

/** The type of the platform's own `fetch`. */
export type PlatformFetch = typeof globalThis extends { fetch: infer Fetch extends (...parameters: never[]) => unknown }
  ? Fetch
  : (input: string | WebURL | WebRequest, init?: Readonly<Record<string, unknown>>) => Promise<WebResponse>

/** The method that `await using` calls, if the compiler knows it. */
export type AsyncDisposal = typeof Symbol extends { readonly asyncDispose: infer Key extends symbol }
  ? { readonly [Method in Key]: () => Promise<void> }
  : Record<never, never>
