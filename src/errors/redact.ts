export const placeholder = '[redacted]'

/**
 * The service's token form (reference, section 5.3), and a bearer credential quoted in a text: long and with a digit, so
 * that `The Bearer token expired` and `Bearer realm="api"` stay readable.
 */
const tokenLike = /swot_[\w.~+/=-]+|(?<=\bBearer\s+)(?=[a-z_.~+/-]*\d)[\w.~+/-]{16,}(?![\w.~+/-])(?!="[^"\s])=*/gi

/**
 * A shorter "secret" is a test's `token` or `t`: taken out of every word, it would garble codes and protect nothing.
 */
const shortestSecret = 8

const longest = 500

/** Text from outside for a message or a log line: without secrets and control characters, cut at 500 characters. */
export function redact(text: string, secrets: readonly string[] = []): string {
  const safe = withoutSecrets(text, secrets).replace(/\p{Cc}+/gu, ' ')
  return safe.length > longest ? `${safe.slice(0, longest)}…` : safe
}

/**
 * The text without the given secrets, plain, percent-encoded or in base64, and without anything that looks like a
 * token.
 */
export function withoutSecrets(text: string, secrets: readonly string[] = []): string {
  let safe = text
  for (const secret of secrets) {
    if (secret.length < shortestSecret) continue
    // Plain, in a URL, and in JSON.
    for (const form of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]) {
      safe = safe.replaceAll(form, placeholder)
    }
    safe = withoutPercentEncoded(safe, secret)
    safe = withoutBase64(safe, secret)
  }
  return safe.replace(tokenLike, placeholder)
}

/** Removes words that hold the secret in another percent-encoding than JavaScript's: `%2f` for `%2F`, `%5F` for `_`. */
function withoutPercentEncoded(text: string, secret: string): string {
  if (!text.includes('%')) return text
  return text.replace(/\S+/g, (word) => {
    // A form has `+` for a space.
    const readings = [word, word.replaceAll('+', ' ')]
    return readings.some((reading) => percentDecoded(reading).includes(secret)) ? placeholder : word
  })
}

function percentDecoded(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes)
    } catch {
      return escapes
    }
  })
}

/** A run of characters that can be base64 or base64url, also percent-encoded. */
const base64Run = /(?:[\w+/-]|%2[bf])+(?:=|%3d)*/gi

/** Removes each run of base64 that holds the secret, alone or within more, such as `id:secret` in HTTP Basic. */
function withoutBase64(text: string, secret: string): string {
  const shortest = (secret.length * 4) / 3
  if (text.length < shortest) return text
  let parts: readonly string[] | undefined
  return text.replace(base64Run, (run) => {
    if (run.length < shortest) return run
    parts ??= base64Parts(new TextEncoder().encode(secret))
    const base64 = run.replace(/-|%2b/gi, '+').replace(/_|%2f/gi, '/')
    return parts.some((part) => base64.includes(part)) ? placeholder : run
  })
}

/**
 * What base64 makes of these bytes after others. Base64 takes three bytes at a time, so there are three ways to begin.
 * The characters at both ends are left out where they share bits with other bytes.
 */
function base64Parts(bytes: Uint8Array): string[] {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  return [0, 1, 2].map((before) => {
    const length = before + bytes.length
    return btoa('\0'.repeat(before) + binary).slice(Math.ceil((before * 8) / 6), Math.floor((length * 8) / 6))
  })
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
