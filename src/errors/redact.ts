import { toHex } from '../shared/bytes.ts'

export const placeholder = '[redacted]'

/**
 * Matches tokens of the service (docs/service.md#tokens), and bearer credentials that are long and contain a digit.
 * Text such as `The Bearer token expired` and `Bearer realm="api"` does not match.
 */
const tokenLike = /swot_[\w.~+/=-]+|(?<=Bearer\s{1,9})(?=[a-z_.~+/-]*\d)[\w.~+/-]{16,}(?![\w.~+/-])(?!="[^"\s])=*/gi

/**
 * Matches HTTP Basic credentials. Unlike the words in `Basic authentication`, base64 has a digit or a capital inside,
 * and soon: a longer search would take quadratic time in `basic+basic+basic+`.
 */
const basicCredentials =
  /(?<=(?:[Bb]asic|BASIC)(?:[\s:=+"]|%20){1,9})(?=[\w+/%-]{8})[\w+/%-][a-z_+/%-]{0,99}[A-Z\d][\w+/%-]*=*/g

/** Matches characters that could forge a line of a log, or turn the direction of its text. */
const lineBreaks = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu

/**
 * Shorter secrets, such as `token` in a test, are not redacted: removing them would garble ordinary words.
 */
export const shortestSecret = 8

/** A longer secret is recognized by its start: comparing more characters would take too long in a hostile text. */
const longestStart = 100

const longest = 500

/** Longer texts are cut off before they are redacted, because searching more would block the event loop. */
const longestRead = 4_000

/** Returns untrusted text for a message or a log: without secrets and control characters, up to 500 characters. */
export function redact(text: string, secrets: readonly string[] = []): string {
  const read = text.slice(0, longestRead)
  const oneLine = withoutSecrets(read, secrets).replace(lineBreaks, ' ')
  // The end is dropped, because half of a secret cannot be recognized there. A percent-encoded start is three times as
  // long.
  const safe = read === text ? oneLine : oneLine.slice(0, -3 * longestStart) || placeholder
  return safe.length > longest ? `${safe.slice(0, longest)}…` : safe
}

/**
 * Returns the text with a placeholder for each given secret (plain, percent-encoded or in JSON), and for other text
 * that looks like a token or HTTP Basic credentials.
 */
export function withoutSecrets(text: string, secrets: readonly string[] = []): string {
  let safe = text
  // A secret might be the start of another one.
  for (const secret of [...secrets].sort((a, b) => b.length - a.length)) {
    if (secret.length < shortestSecret || text.length < Math.min(secret.length, longestStart)) continue
    // Most texts have nothing encoded, and the longer pattern is slow to compile.
    const forms = /[%+\\]/.test(safe) ? [literally, percentEncoded, inJson] : [literally]
    safe = safe.replaceAll(secret, placeholder).replace(patternOf(secret, forms), placeholder)
  }
  return safe.replace(tokenLike, placeholder).replace(basicCredentials, placeholder)
}

/**
 * Matches a secret in any of the forms, in upper or lower case. For a very long one, matches words that start like it.
 */
function patternOf(secret: string, forms: readonly ((character: string) => string)[]): RegExp {
  const characters = [...secret].slice(0, longestStart)
  const starts = forms.map((form) => characters.map(form).join(''))
  return new RegExp(`(?:${starts.join('|')})${secret.length > longestStart ? '\\S*' : ''}`, 'gi')
}

function literally(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

/**
 * Matches a character with and without encoding, because encoders leave different characters unchanged. Forms encode a
 * space as `+`.
 */
function percentEncoded(character: string): string {
  const bytes = toHex(new TextEncoder().encode(character)).replace(/../g, '%$&')
  return `(?:${literally(character)}|${bytes}${character === ' ' ? '|\\+' : ''})`
}

/** Matches what `JSON.stringify` writes. Other encoders also escape a slash. */
function inJson(character: string): string {
  return character === '/' ? '\\\\?\\/' : literally(JSON.stringify(character).slice(1, -1))
}

/**
 * Returns a copy of an underlying error (of fetch or a token provider) that is safe to expose: name, message, `code`
 * and causes, redacted. The original error can hold the request, and the request holds the token.
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

/** Returns the innermost cause. A failed fetch has only the message "fetch failed", and its cause says why. */
export function innermost(error: Error): Error {
  return error.cause instanceof Error ? innermost(error.cause) : error
}

/** Reads a property of an error. Its getter can throw. */
function read(error: object, name: string): unknown {
  try {
    return Reflect.get(error, name)
  } catch {
    return undefined
  }
}

/** Returns a string unchanged, and the type of any other value. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : tagOf(value)
}

/** Whether a value is an error, including errors of other realms (a test runner's sandbox, a frame). */
export function isError(value: unknown): value is Error {
  return tagOf(value) === '[object Error]'
}

/** Returns what `toString` of objects says. A proxy can be revoked, or its traps can throw. */
function tagOf(value: unknown): string {
  try {
    return value instanceof Error ? '[object Error]' : Object.prototype.toString.call(value)
  } catch {
    return '[object Object]'
  }
}

/**
 * Returns a thrown value if it is an error, and an error about it otherwise.
 *
 * @param name the caller's function that threw it
 */
export function toError(thrown: unknown, name: string): Error {
  return isError(thrown) ? thrown : new Error(`\`${name}\` threw a value that is not an error.`, { cause: thrown })
}

/** Sets the name, and a stack without frames: they would point here, and the original can quote a secret. */
function named(error: Error, name: string): Error {
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  error.stack = `${name}: ${error.message}`
  return error
}

/** @param depth how deep errors can list others, because one can contain itself */
function messageOf(error: unknown, depth = 1): string {
  if (!isError(error)) return textOf(error)
  const message = textOf(read(error, 'message'))
  // If all addresses of a host failed, only the individual errors have a message.
  const errors = read(error, 'errors')
  if (message !== '' || !Array.isArray(errors) || depth === 0) return message
  return errors.map((each) => messageOf(each, depth - 1)).join(', ')
}
