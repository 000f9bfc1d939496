/** The maximum length of the encoded path, in bytes. It has to fit in the login's cookie. */
const maxLength = 1_024

/** A base for parsing paths. The real origin does not matter. */
const anyOrigin = 'http://origin.invalid'

/**
 * Returns the path to return to after a login if it stays on its origin when a browser resolves it; otherwise undefined.
 *
 * The text comes from a URL that anyone can write. Backslashes, spaces and control characters are rejected because
 * browsers rewrite them (WHATWG URL, section 4.4). The resolved path is checked again because dot segments can expose a
 * second slash: `/.//evil.example` becomes `//evil.example`.
 */
export function safeReturnTo(text: unknown): string | undefined {
  if (typeof text !== 'string' || text.length > maxLength) return undefined
  if (!text.startsWith('/') || /[\\\s\p{Cc}]/u.test(text) || !URL.canParse(text, anyOrigin)) return undefined
  const { origin, pathname, search, hash } = new URL(text, anyOrigin)
  const path = pathname + search + hash
  // Encoding can make the text nine times as long.
  return origin === anyOrigin && !pathname.startsWith('//') && path.length <= maxLength ? path : undefined
}

/** Returns the path and query of the login's start without `return_to`; undefined if it cannot be a link. */
export function startPathOf(url: string): string | undefined {
  const { pathname, searchParams } = new URL(url)
  searchParams.delete('return_to')
  return safeReturnTo(`${pathname}?${searchParams}`)
}

/** Adds `return_to` to the path of a login's start. */
export function withReturnTo(startPath: string, returnTo: string): string {
  const { pathname, searchParams } = new URL(startPath, anyOrigin)
  searchParams.set('return_to', returnTo)
  return `${pathname}?${searchParams}`
}
