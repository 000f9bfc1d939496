/** A longer one would crowd the cookie. */
const longest = 512

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
  return origin === anyOrigin && !pathname.startsWith('//') ? pathname + search + hash : undefined
}
