import { redact } from '../errors/redact.ts'

/**
 * Text that the service or the callback's sender wrote, fit for a message: one line, at most 500 characters, without
 * the secrets of this login (as `everyForm` gives them).
 */
export function untrustedText(text: string | null | undefined, secrets: readonly string[]): string | undefined {
  if (text === null || text === undefined) return undefined
  // A line break would let the sender forge lines of a log.
  const line = redact(text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' '), secrets).trim()
  return line === '' ? undefined : line
}

/**
 * Secrets as they may be quoted: plain, as a form encodes them, within JSON. `redact` finds each of these also when it is
 * percent-encoded or in base64.
 * Longest first: a secret that is part of another must not leave the rest of it behind.
 */
export function encodedForms(secrets: readonly string[]): readonly string[] {
  const forms = secrets.flatMap((secret) => [secret, formEncode(secret), JSON.stringify(secret).slice(1, -1)])
  return [...new Set(forms)].sort((a, b) => b.length - a.length)
}

/** Text as `application/x-www-form-urlencoded` has it. `-`, `.`, `_` and `*` stay as they are. */
export function formEncode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}

/** "code: description", as far as they are known, after a colon. */
export function quote(code: string | undefined, description: string | undefined): string {
  const words = [code, description?.replace(/[.\s]+$/, '')].filter((part) => part !== undefined && part !== '')
  return words.length === 0 ? '' : `: ${words.join(': ')}`
}
