import { redact } from '../errors/redact.ts'
import { isObject, parseObject } from '../shared/json.ts'

/**
 * Returns the code and description of an error body. Supports the documented form `{ error, error_description }`
 * (docs/service.md#errors). Gateways and other deployments also send `{ code, message }`, `{ error: { code, message } }`,
 * `{ errors: [{ code, detail }] }`, problem+json (RFC 9457), HTML and plain text.
 *
 * @param challenge the `WWW-Authenticate` header, which can name the error as well (RFC 6750, section 3). It is without
 *   secrets: what a code ends with would hide the half of one.
 * @param sent the JSON values of the request, which the code does not repeat
 */
export function readErrorBody(text: string, challenge: string, sent: readonly unknown[] = []) {
  const challenged = challenge.match(/\berror\s*=\s*"?([^",\s]+)/i)?.[1]
  const body = parseObject(text)
  if (body === undefined) return { code: challenged, description: undefined }
  const first: unknown = Array.isArray(body.errors) ? body.errors[0] : undefined
  const inner = [body.error, isObject(first) && !isAboutField(first) ? first : undefined].find(isObject) ?? body
  // The challenge decides about the token, because a gateway might have replaced the body.
  const code =
    challenged === 'invalid_token'
      ? challenged
      : firstString(inner.code, body.error, inner.error, challenged, inner.type)
  // A code that repeats a text of the request is a value, unless it has the form of a code, such as `already_exists`.
  const lower = code?.toLowerCase() ?? ''
  const isCode = /^[a-z]+(_[a-z]+)*$/.test(lower)
  const isSent =
    !documented.has(lower) &&
    sent.flatMap(stringsOf).some((value) => value === lower || (!isCode && lower.includes(value)))
  return {
    code: isSent ? undefined : code,
    description: firstString(
      body.error_description,
      inner.error_description,
      inner.message,
      inner.description,
      inner.detail,
      inner.title,
    ),
  }
}

/** The codes of the service (docs/service.md#errors), which a program acts on. */
const documented: ReadonlySet<string> = new Set([
  'actor_self_required',
  'forbidden',
  'insufficient_scope',
  'invalid_request',
  'invalid_token',
])

function firstString(...values: unknown[]): string | undefined {
  return values.find((value): value is string => typeof value === 'string' && value !== '')
}

/** Whether an entry of a list of errors is about a field, so that its code is not the code of the response. */
function isAboutField(entry: Readonly<Record<string, unknown>>): boolean {
  return fieldNames.some((name) => name in entry)
}

const fieldNames = ['field', 'loc', 'path', 'param', 'name', 'attribute']

/** Returns the texts in a JSON value, in lower case. */
function stringsOf(value: unknown): string[] {
  const texts: string[] = []
  // Grows while it is read. A recursion would exceed the stack for deep values.
  const left = [value]
  for (const each of left) {
    if (typeof each === 'object' && each !== null) for (const inner of Object.values(each)) left.push(inner)
    else if (typeof each === 'string' && each !== '') texts.push(each.toLowerCase())
  }
  return texts
}

/** Bounds of the details, in levels, characters of a string, and characters of JSON in all. */
const deepest = 4
const longestText = 200
const longestDetails = 2_000
/** Bounds of the message. */
const mostProblems = 3
const longestReason = 80

/** Returns the body of an error response without secrets and shortened. Undefined if the body is not JSON. */
export function errorDetails(text: string, secrets: readonly string[]): unknown {
  let left = longestDetails
  const shorten = (value: unknown, depth: number): unknown => {
    // A number can repeat a secret as well, for example a cursor.
    const isSecret = typeof value === 'number' && redact(String(value), secrets) !== String(value)
    const isText = typeof value === 'string' || isSecret
    const kept = isText ? redact(String(value), secrets).slice(0, longestText) : value
    if (!isObject(kept) && !Array.isArray(kept)) {
      left -= (JSON.stringify(kept) ?? '').length + 1
      return left < 0 ? undefined : kept
    }
    left -= 3
    if (depth === 0) return Array.isArray(kept) ? [] : {}
    const entries: [string, unknown][] = []
    for (const [key, inner] of Object.entries(kept)) {
      const name = redact(key, secrets).slice(0, longestText)
      if (!Array.isArray(kept)) left -= JSON.stringify(name).length + 1
      const short = left < 0 ? undefined : shorten(inner, depth - 1)
      if (short === undefined) break
      entries.push([name, short])
    }
    // `fromEntries` makes a plain property of a key such as `__proto__`.
    return Array.isArray(kept) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries)
  }
  try {
    return shorten(JSON.parse(text), deepest)
  } catch {
    return undefined
  }
}

/**
 * Returns the rejected fields of an error body and the reasons, at most three, for a message: "email: is invalid". Knows
 * `errors` by field, as a list of texts and as a list of objects, `detail` of FastAPI, and `invalid-params` of RFC 9457.
 *
 * @param sent the JSON values of the request. A reason that repeats one of them is left out.
 */
export function fieldProblems(text: string, sent: readonly unknown[]): string | undefined {
  const body = parseObject(text) ?? {}
  const values = new Set(sent.flatMap(textsOf))
  const listed = [body.errors, body.detail, body['invalid-params']].find(
    (each) => isObject(each) || Array.isArray(each),
  )
  const pairs = Array.isArray(listed)
    ? listed.map((each) => (isObject(each) ? pairOf(each) : (['', each] as const)))
    : Object.entries(isObject(listed) ? listed : {}).map(([field, reason]) => [field, reason] as const)
  const problems = pairs.slice(0, mostProblems).map(([field, reason]) => {
    const name = nameOf(field, values)
    const why = reasonOf(Array.isArray(reason) ? reason[0] : reason, values)
    return [name, why].filter((part) => part !== '').join(': ')
  })
  return problems.filter((problem) => problem !== '').join('; ') || undefined
}

const reasonNames = ['msg', 'message', 'reason', 'code', 'detail', 'type']

function pairOf(entry: Readonly<Record<string, unknown>>): readonly [field: unknown, reason: unknown] {
  const field = fieldNames.map((name) => entry[name]).find((each) => each !== undefined)
  return [field, reasonNames.map((name) => entry[name]).find((each) => typeof each === 'string')]
}

/** A key can be a value of a customer, such as an email address, so the message has only keys that look like names. */
function nameOf(field: unknown, values: ReadonlySet<string>): string {
  const isPart = (part: unknown) => (typeof part === 'string' && part !== 'body') || typeof part === 'number'
  const name = Array.isArray(field) ? field.filter(isPart).join('.') : field
  if (typeof name !== 'string' || !/^[a-z_][\w.[\]-]{0,59}$/i.test(name)) return ''
  return [name, ...name.split(/[.[\]]+/)].some((part) => values.has(part.toLowerCase())) ? '' : name
}

/**
 * Returns a reason, unless it has a value: one that was sent, a quoted one, an address or a number. The apostrophe of
 * "can't be blank" is no quotation mark.
 */
function reasonOf(reason: unknown, values: ReadonlySet<string>): string {
  if (typeof reason !== 'string' || /["`@“”„«»\d\p{Cc}]|(?<!n)['‘’]|['‘’](?!t\b)/u.test(reason)) return ''
  const lower = reason.toLowerCase()
  const words = new Set(lower.split(/[^\p{L}]+/u))
  for (const value of values) if (words.has(value) || (value.length > 3 && lower.includes(value))) return ''
  return reason.length > longestReason ? '' : reason.trim()
}

/** Returns the texts in a JSON value, and the words of short ones such as names, in lower case. */
function textsOf(value: unknown): string[] {
  return stringsOf(value).flatMap((text) =>
    text.length > 100 ? [text] : [text, ...text.split(/[^\p{L}]+/u).filter((word) => word.length > 2)],
  )
}
