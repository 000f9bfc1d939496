/** The maximum length of the encoded path, in bytes. The login's cookie has to hold it. */
const longest = 1_024

/** Stands for whatever origin the browser is on. */
const anyOrigin = 'http://origin.invalid'

/**
 * The path to return to after a login, when the text is one that stays on its origin, as a browser would resolve it;
 * else undefined.
 *
 * The text comes from an address, so anybody may have written it. Backslashes, spaces and control characters are refused
 * because browsers rewrite them (WHATWG URL, section 4.4), and the outcome is looked at again because dot segments can
 * uncover a second slash: `/.//evil.example` becomes `//evil.example`.
 */
export function safeReturnTo(text: unknown): string | undefined {
  if (typeof text !== 'string' || text.length > longest) return undefined
  if (!text.startsWith('/') || /[\\\s\p{Cc}]/u.test(text) || !URL.canParse(text, anyOrigin)) return undefined
  const { origin, pathname, search, hash } = new URL(text, anyOrigin)
  const path = pathname + search + hash
  // Encoding can make a text nine times as long.
  return origin === anyOrigin && !pathname.startsWith('//') && path.length <= longest ? path : undefined
}

/** The path and query that a login was started at, without the path to return to; undefined when it cannot be a link. */
export function startPathOf(address: string): string | undefined {
  const { pathname, searchParams } = new URL(address)
  searchParams.delete('return_to')
  return safeReturnTo(searchParams.size === 0 ? pathname : `${pathname}?${searchParams}`)
}

/** A start path that returns to another path. */
export function withReturnTo(startPath: string, returnTo: string): string {
  const { pathname, searchParams } = new URL(startPath, anyOrigin)
  searchParams.set('return_to', returnTo)
  return `${pathname}?${searchParams}`
}
