import { redact } from '../errors/redact.ts'

/**
 * Returns text written by the service or by the sender of a callback, safe for a message: one line of at most 500
 * characters, without the given secrets (in the forms of `encodedForms`). Undefined if nothing is left.
 */
export function untrustedText(text: string | null | undefined, secrets: readonly string[]): string | undefined {
  if (text === null || text === undefined) return undefined
  // A line break would let the sender forge log lines.
  const line = redact(text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' '), secrets).trim()
  return line === '' ? undefined : line
}

/**
 * Returns the secrets plain and form-encoded. `redact` also finds each of these inside JSON, percent-encoded or in base64.
 * Longest first, so that a secret that is part of another one leaves no rest.
 */
export function encodedForms(secrets: readonly string[]): readonly string[] {
  const forms = secrets.flatMap((secret) => [secret, formEncode(secret)])
  return [...new Set(forms)].sort((a, b) => b.length - a.length)
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
