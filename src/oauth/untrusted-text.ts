import { redact } from '../errors/redact.ts'

/**
 * Returns text written by the service or by the sender of a callback, safe for a message: one line of at most 500
 * characters, without the given secrets. Undefined if nothing is left.
 */
export function untrustedText(text: string | null | undefined, secrets: readonly string[]): string | undefined {
  if (text === null || text === undefined) return undefined
  const line = redact(text, secrets).trim()
  return line === '' ? undefined : line
}

/** Encodes text as `application/x-www-form-urlencoded`. `-`, `.`, `_` and `*` stay unchanged. */
export function formEncode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}

/** Returns ": code: description", as far as they are known. */
export function quote(code: string | undefined, description: string | undefined): string {
  const words = [code, description?.replace(/[.\s]+$/, '')].filter((part) => part !== undefined && part !== '')
  return words.length === 0 ? '' : `: ${words.join(': ')}`
}
