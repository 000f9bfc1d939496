const placeholder = '[redacted]'

/** The service's token prefix (reference, section 5.3), and any bearer credential quoted in a text. */
const tokenLike = /\bswot_[\w.~+/=-]+|(?<=\bBearer\s)[\w.~+/=-]+/g

const longest = 500

/** The text without the given secrets and without anything that looks like a token, cut at 500 characters. */
export function redact(text: string, secrets: readonly string[] = []): string {
  let safe = text
  for (const secret of secrets) {
    if (secret !== '') safe = safe.replaceAll(secret, placeholder).replaceAll(encodeURIComponent(secret), placeholder)
  }
  safe = safe.replace(tokenLike, placeholder)
  return safe.length > longest ? `${safe.slice(0, longest)}…` : safe
}

/**
 * A copy of an error from below (fetch, a token provider) that is safe to hand out: name, message, `code` and its own
 * causes. The original may hold the live request, and with it the token.
 */
export function safeCause(error: unknown, secrets: readonly string[] = [], depth = 4): Error {
  const copy = new Error(redact(messageOf(error), secrets))
  if (error instanceof Error) {
    Object.defineProperty(copy, 'name', { value: redact(error.name, secrets), configurable: true, writable: true })
    const code = (error as { code?: unknown }).code
    if (typeof code === 'string') Object.assign(copy, { code: redact(code, secrets) })
    if (error.cause !== undefined && depth > 0) copy.cause = safeCause(error.cause, secrets, depth - 1)
  }
  // The stack would point here, which helps nobody; the original's may quote a secret in its first line.
  copy.stack = `${copy.name}: ${copy.message}`
  return copy
}

function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message
  return typeof error === 'string' ? error : Object.prototype.toString.call(error)
}
