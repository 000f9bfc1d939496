import { redact } from '../errors/redact.ts'

/**
 * Text that the service or the callback's sender wrote, fit for a message: one line, at most 500 characters, without
 * the secrets of this login.
 */
export function outsideText(text: string | null | undefined, secrets: readonly string[]): string | undefined {
  if (text === null || text === undefined) return undefined
  // Longest first: a secret that is part of another must not leave the rest of it behind.
  const ordered = [...secrets].sort((a, b) => b.length - a.length)
  // A line break would let the sender forge lines of a log.
  const line = redact(text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' '), ordered).trim()
  return line === '' ? undefined : line
}

/** "code: description", as far as they are known, after a colon. */
export function quote(code: string | undefined, description: string | undefined): string {
  const words = [code, description?.replace(/[.\s]+$/, '')].filter((part) => part !== undefined && part !== '')
  return words.length === 0 ? '' : `: ${words.join(': ')}`
}
