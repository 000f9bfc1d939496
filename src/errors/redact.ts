const placeholder = '[redacted]'

/**
 * The service's token form (reference, section 5.3), and a bearer credential quoted in a text: long and with a digit, so
 * that `The Bearer token expired` and `Bearer realm="api"` stay readable.
 */
const tokenLike = /swot_[\w.~+/=-]+|(?<=\bBearer\s+)(?=[a-z_.~+/-]*\d)[\w.~+/-]{16,}(?![\w.~+/-])(?!="[^"\s])=*/gi

/** A shorter "secret" is a test's `token` or `t`: taken out of every word, it would garble codes and protect nothing. */
const shortestSecret = 8

const longest = 500

/** Text from outside for a message or a log line: without secrets and control characters, cut at 500 characters. */
export function redact(text: string, secrets: readonly string[] = []): string {
  const safe = withoutSecrets(text, secrets).replace(/\p{Cc}+/gu, ' ')
  return safe.length > longest ? `${safe.slice(0, longest)}…` : safe
}

/** The text without the given secrets and without anything that looks like a token. */
export function withoutSecrets(text: string, secrets: readonly string[] = []): string {
  let safe = text
  for (const secret of secrets) {
    if (secret.length < shortestSecret) continue
    safe = safe.replaceAll(secret, placeholder).replaceAll(encodeURIComponent(secret), placeholder)
  }
  return safe.replace(tokenLike, placeholder)
}

/**
 * A copy of an error from below (fetch, a token provider) that is safe to hand out: name, message, `code` and its own
 * causes. The original may hold the live request, and with it the token.
 */
export function safeCause(error: unknown, secrets: readonly string[] = [], depth = 4): Error {
  if (!isError(error)) return named(new Error(redact(messageOf(error), secrets)), 'Error')
  const cause = error.cause === undefined || depth === 0 ? undefined : safeCause(error.cause, secrets, depth - 1)
  const copy = new Error(redact(messageOf(error), secrets), cause && { cause })
  const { code } = error as { code?: unknown }
  if (typeof code === 'string') Object.assign(copy, { code: redact(code, secrets) })
  return named(copy, redact(error.name, secrets))
}

/** Whether it is an error, also one of another realm (a test runner's sandbox, a frame). */
export function isError(value: unknown): value is Error {
  return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]'
}

/** Its stack would point here, which helps nobody; the original's may quote a secret in its first line. */
function named(error: Error, name: string): Error {
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  error.stack = `${name}: ${error.message}`
  return error
}

function messageOf(error: unknown): string {
  if (!isError(error)) return typeof error === 'string' ? error : Object.prototype.toString.call(error)
  // Where each address of a host was tried, only the single errors say what happened.
  const { errors } = error as { errors?: unknown }
  return error.message === '' && Array.isArray(errors) ? errors.map(messageOf).join(', ') : error.message
}
