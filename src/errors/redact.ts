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
    // As it is, in a URL, and in JSON.
    for (const form of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]) {
      safe = safe.replaceAll(form, placeholder)
    }
  }
  return safe.replace(tokenLike, placeholder)
}

/**
 * A copy of an error from below (fetch, a token provider) that is safe to hand out: name, message, `code` and its own
 * causes. The original may hold the live request, and with it the token.
 */
export function safeCause(error: unknown, secrets: readonly string[] = [], depth = 4): Error {
  const message = redact(messageOf(error), secrets)
  if (!isError(error)) return named(new Error(message), 'Error')
  const inner = read(error, 'cause')
  const cause = inner === undefined || depth === 0 ? undefined : safeCause(inner, secrets, depth - 1)
  const copy = new Error(message, cause && { cause })
  const code = read(error, 'code')
  if (typeof code === 'string') Object.assign(copy, { code: redact(code, secrets) })
  return named(copy, redact(textOf(read(error, 'name')), secrets))
}

/** An error of somebody's own can have a getter that throws. */
function read(error: object, name: string): unknown {
  try {
    return Reflect.get(error, name)
  } catch {
    return undefined
  }
}

/** Its text, or the kind of value that stands where a text should. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : Object.prototype.toString.call(value)
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
  if (!isError(error)) return textOf(error)
  const message = textOf(read(error, 'message'))
  // Where each address of a host was tried, only the single errors say what happened.
  const errors = read(error, 'errors')
  return message === '' && Array.isArray(errors) ? errors.map(messageOf).join(', ') : message
}
