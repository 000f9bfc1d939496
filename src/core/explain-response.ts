import type { Remedy, UnexpectedResponseReason } from '../errors/index.ts'
import { redact } from '../errors/redact.ts'
import { actorHint } from '../shared/actor.ts'
import { isObject, parseObject } from '../shared/json.ts'
import type { CallRecord } from './call-record.ts'
import { fieldNames, stringsOf } from './error-body.ts'
import type { UnusableResponse } from './response.ts'
import { seconds } from './retry.ts'

/** An error response. */
interface ErrorResponse {
  /** The name of its error. */
  readonly kind: string
  readonly status: number
  readonly remedy: Remedy
  /** The body, as far as it was read. */
  readonly text: string
  /** The JSON values of the request, which `problems` does not repeat. */
  readonly sent: readonly unknown[]
  /** The requested delay, in milliseconds. */
  readonly retryAfter: number | undefined
}

/**
 * Returns what an error response tells a person: the next step, the rejected fields and their reasons if the body lists
 * them, and the body. Its class, code, outcome and remedy tell a program what to do.
 */
export function explainErrorResponse(record: CallRecord, response: ErrorResponse) {
  const { status, text, sent } = response
  const { secrets } = record
  const body = parseObject(text)
  const problems = body && (status === 400 || status === 422) ? fieldProblems(body, sent) : undefined
  // The prefix is documented (docs/service.md#tokens).
  const isForeign = status === 401 && !secrets.some((secret) => secret.startsWith('swot_'))
  const step = hintOf(record, response)
  // HTML comes from a gateway instead of the service.
  const about = text.trimStart().startsWith('<')
    ? 'The response is HTML, so a proxy or another server sent it. '
    : isForeign
      ? 'Tokens of the service begin with `swot_`, and this one does not. '
      : ''
  return { hint: about + step, problems: problems && redact(problems, secrets), details: errorDetails(text, secrets) }
}

function hintOf({ call: { operation } }: CallRecord, { kind, status, remedy, retryAfter }: ErrorResponse): string {
  const { method, path, scope, evidence } = operation
  if (kind === 'InsufficientScopeError') {
    const missing = scope === undefined ? 'the missing scope' : `"${scope}"`
    return `Log in again and ask for ${missing} in addition to the scopes you already have; a role without admin rights may not get it.`
  }
  const hint = hints[kind] ?? (remedy === 'retry' ? 'Try again later.' : otherHint)
  const hasId = path.includes('{')
  if (evidence === 'inferred' && (kind === 'NotFoundError' || status === 405)) {
    const first = kind === 'NotFoundError' && hasId ? `${hint} ` : ''
    return `${first}The path ${method} ${path} is inferred, not documented: if yours differs, describe it with \`defineOperation\` and call it with \`workspace.call\`.`
  }
  if (kind === 'NotFoundError' && !hasId) return 'Check `baseUrl`: the service has no such path.'
  return remedy === 'retry' && retryAfter ? `Try again after ${seconds(retryAfter)}.` : hint
}

const hints: Readonly<Record<string, string>> = {
  ActorSelfRequiredError: actorHint,
  CursorRejectedError:
    'The service no longer accepts the cursor: it may have expired, or belong to another list or query. How long a cursor is valid is not documented. Read the list from its start: leave out `resumeFrom`, `after` and `before`.',
  AlreadyExistsError: 'Look for the existing one, which may differ from what was sent. That it exists is inferred.',
  BadRequestError: 'Check the arguments of the call.',
  AuthenticationError:
    'Log in again for a new token. A login page does that (docs/login.md), and for a script `npx --no -- support-workspace-sdk login`.',
  PermissionDeniedError: 'The token or its user lacks the permission. Use one that has it.',
  NotFoundError: 'Check the id, and that it belongs to the organization of the token.',
  UnprocessableError: 'Check the fields of the body. The service rejected their values.',
  RateLimitError: 'Call less often, or raise `maxRetries`.',
}

const otherHint = 'Check the documentation of the service for this status.'

/** Returns the next step for a response that cannot be used. */
export function explainUnusable({ reason, message }: UnusableResponse): string {
  return message.endsWith('HTML') ? htmlHint : unusableHints[reason]
}

const htmlHint = 'Make sure that `baseUrl` is the API, and that no proxy or login page responds instead.'

const unusableHints: Readonly<Record<UnexpectedResponseReason, string>> = {
  redirect: 'Redirects are not followed, to protect the token. Set `baseUrl` to the final address of the service.',
  'not-json': 'The response may have been cut off. If that happens often, check the proxies on the way.',
  envelope:
    'Make sure that `baseUrl` is the API. If you defined the operation, correct its `envelope`. If the service has changed, update this package.',
  schema:
    'If you defined the operation, correct its `response` schema. Otherwise use `validation: "observe"` to accept the data as sent, and report the mismatch.',
  'too-large': 'Request fewer items with `limit`, or raise `maxResponseBytes`.',
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
    const kept = typeof value === 'string' ? redact(value, secrets).slice(0, longestText) : value
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
function fieldProblems(body: Readonly<Record<string, unknown>>, sent: readonly unknown[]): string | undefined {
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
  return reason.length > longestReason ? '' : reason.replace(/[.\s]+$/, '').trim()
}

/** Returns the texts in a JSON value, and the words of short ones such as names, in lower case. */
function textsOf(value: unknown): string[] {
  return stringsOf(value).flatMap((text) =>
    text.length > 100 ? [text] : [text, ...text.split(/[^\p{L}]+/u).filter((word) => word.length > 2)],
  )
}
