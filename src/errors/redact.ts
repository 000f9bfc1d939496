import { toHex } from '../bytes.ts'

export const placeholder = '[redacted]'

/**
 * Matches tokens of the service (docs/service.md#tokens), and bearer credentials that are long and contain a digit.
 * Text such as `The Bearer token expired` and `Bearer realm="api"` does not match.
 */
const tokenLike = /swot_[\w.~+/=-]+|(?<=\bBearer\s{1,9})(?=[a-z_.~+/-]*\d)[\w.~+/-]{16,}(?![\w.~+/-])(?!="[^"\s])=*/gi

/**
 * Shorter secrets, such as `token` in a test, are not redacted: removing them would garble ordinary words.
 */
const shortestSecret = 8

const longest = 500

/** Longer texts are cut off before they are redacted, because redacting megabytes would block the event loop. */
const longestRead = 100_000

/** Returns untrusted text for a message or a log: without secrets and control characters, up to 500 characters. */
export function redact(text: string, secrets: readonly string[] = []): string {
  const read = cutOff(text)
  // A secret may be wrapped, as base64 in mail is. Without one, the text keeps its lines apart.
  const joined = read.replace(/(?<!\bBearer\s{0,9})\p{Cc}+/giu, '')
  const found = withoutSecrets(joined, secrets)
  const safe = (found === joined ? withoutSecrets(read, secrets) : found).replace(/\p{Cc}+/gu, ' ')
  return safe.length > longest ? `${safe.slice(0, longest)}…` : safe
}

/** Cuts off a very long text after a whole word, because a part of a secret would not be recognized. */
function cutOff(text: string): string {
  if (text.length <= longestRead) return text
  const lastSpace = text.lastIndexOf(' ', longestRead)
  return text.slice(0, lastSpace > 0 ? lastSpace : longestRead)
}

/**
 * Returns the text without the given secrets, whether plain, percent-encoded or in base64, and without anything that
 * looks like a token.
 */
export function withoutSecrets(text: string, secrets: readonly string[] = []): string {
  let safe = text
  for (const secret of secrets) {
    if (secret.length < shortestSecret || text.length < Math.min(secret.length, longestPattern)) continue
    // Plain, in a URL, and in JSON.
    for (const form of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]) {
      safe = safe.replace(literally(form), placeholder)
    }
    safe = withoutHex(safe, secret)
    safe = withoutEscaped(safe, secret)
    safe = withoutBase64(safe, secret)
  }
  return safe.replace(tokenLike, placeholder)
}

/** A longer text is too long for a regular expression. */
const longestPattern = 1_000

/** Matches a text in upper or lower case. For a very long one, matches each word that starts like it. */
function literally(text: string): RegExp {
  const start = text.slice(0, longestPattern).replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
  return new RegExp(text.length > longestPattern ? `${start}\\S*` : start, 'gi')
}

/**
 * Removes words that contain the secret in an unusual form: percent-encoded as `%2f` for `%2F`, escaped as in JSON (`\\/`,
 * `\\u002f`), or as in HTML (`&#x2F;`, `&amp;`).
 */
function withoutEscaped(text: string, secret: string): string {
  if (!/[%\\&]/.test(text)) return text
  return text.replace(/\S+/g, (word) => {
    // Forms encode a space as `+`.
    const readings = [percentDecoded(word), percentDecoded(word.replaceAll('+', ' ')), unescaped(word)]
    return readings.some((reading) => reading.includes(secret)) ? placeholder : word
  })
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function unescaped(text: string): string {
  return text
    .replace(/\\(?:u([0-9a-f]{4})|(["'\\/]))/gi, (_, code, character) => character ?? fromCode(code, 16))
    .replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/gi, (_, hex, code, name) =>
      name === undefined ? fromCode(hex ?? code, hex === undefined ? 10 : 16) : (entities[name.toLowerCase()] ?? ''),
    )
}

function fromCode(digits: string, radix: number): string {
  return String.fromCharCode(Number.parseInt(digits, radix))
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

/** Matches hexadecimal digits, possibly with spaces between them. */
const hexRun = /[0-9a-f](?:[0-9a-f ]*[0-9a-f])?/gi

/** Removes hexadecimal digits that contain the bytes of the secret. */
function withoutHex(text: string, secret: string): string {
  if (text.length < secret.length * 2) return text
  const hex = toHex(new TextEncoder().encode(secret))
  return text.replace(hexRun, (run) =>
    run.length >= hex.length && run.replaceAll(' ', '').toLowerCase().includes(hex) ? placeholder : run,
  )
}

/** Matches base64 and base64url, possibly percent-encoded. */
const base64Run = /(?:[\w+/-]|%2[bf])+(?:=|%3d)*/gi

/** Removes base64 that contains the secret, alone or as a part, such as `id:secret` in HTTP Basic. */
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
 * Returns the base64 of these bytes at each of the three alignments that they can have within a longer value. Omits the
 * characters at both ends that also encode neighboring bytes.
 */
function base64Parts(bytes: Uint8Array): string[] {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  return [0, 1, 2].map((before) => {
    const length = before + bytes.length
    return btoa('\0'.repeat(before) + binary).slice(Math.ceil((before * 8) / 6), Math.floor((length * 8) / 6))
  })
}

/**
 * Returns a copy of an underlying error (of fetch or a token provider) that is safe to expose: name, message, `code` and
 * causes, redacted. The original may hold the request, and with it the token.
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

/** Returns the innermost cause. That of a failed fetch says why: its own message is only "fetch failed". */
export function innermost(error: Error): Error {
  return error.cause instanceof Error ? innermost(error.cause) : error
}

/** Reads a property of an error, whose getter may throw. */
function read(error: object, name: string): unknown {
  try {
    return Reflect.get(error, name)
  } catch {
    return undefined
  }
}

/** Returns a string unchanged, and the type of any other value. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : Object.prototype.toString.call(value)
}

/** Whether a value is an error, including errors of other realms (a test runner's sandbox, a frame). */
export function isError(value: unknown): value is Error {
  return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]'
}

/** Sets the name, and a stack without frames: they would point here, and the original may quote a secret. */
function named(error: Error, name: string): Error {
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  error.stack = `${name}: ${error.message}`
  return error
}

function messageOf(error: unknown): string {
  if (!isError(error)) return textOf(error)
  const message = textOf(read(error, 'message'))
  // If all addresses of a host failed, only the individual errors have a message.
  const errors = read(error, 'errors')
  return message === '' && Array.isArray(errors) ? errors.map(messageOf).join(', ') : message
}
