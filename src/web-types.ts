/**
 * The web platform's types, where the reader's compiler knows them (DOM, Node, Bun, Deno, Workers), and the few members
 * that this package needs where it does not. So neither the DOM library nor `@types/node` is forced on anybody.
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
    get(name: string): string | null
    has(name: string): boolean
    forEach(callback: (value: string, name: string) => void): void
  }
>

/** The platform's `URL`. */
export type WebURL = Global<'URL', { readonly href: string; toString(): string }>

/** The platform's `Request`. */
export type WebRequest = Global<
  'Request',
  { readonly url: string; readonly method: string; readonly headers: WebHeaders }
>

/** The platform's `Response`. */
export type WebResponse = Global<
  'Response',
  { readonly ok: boolean; readonly status: number; readonly headers: WebHeaders; text(): Promise<string> }
>

/** A function that sends a `Request` and gives its `Response`: the platform's `fetch`, or one that you wrap around it. */
export type WebFetch = (request: WebRequest) => Promise<WebResponse>

/** The type of the platform's own `fetch`. */
export type PlatformFetch = typeof globalThis extends { fetch: infer Fetch extends (...parameters: never[]) => unknown }
  ? Fetch
  : (input: string | WebURL | WebRequest, init?: Readonly<Record<string, unknown>>) => Promise<WebResponse>

/** What `await using` needs, where the reader's compiler knows it. */
export type AsyncDisposal = typeof Symbol extends { readonly asyncDispose: infer Key extends symbol }
  ? { readonly [Method in Key]: () => Promise<void> }
  : Record<never, never>
