import { isObject, parseObject } from '../shared/json.ts'

/**
 * Returns the code and description of an error body. Supports the documented form `{ error, error_description }` (docs/service.md#errors). Gateways
 * and other deployments also send `{ code, message }`, `{ error: { code, message } }`, `{ errors: [{ code, detail }]
 * }`, problem+json (RFC 9457), HTML and plain text.
 *
 * @param challenge the `WWW-Authenticate` header, which can name the error as well (RFC 6750, section 3)
 * @param sent the JSON values of the request, which the code does not repeat
 */
export function readErrorBody(text: string, challenge: string | null = null, sent: readonly unknown[] = []) {
  const challenged = challenge?.match(/\berror\s*=\s*"?([^",\s]+)/i)?.[1]
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

export const fieldNames = ['field', 'loc', 'path', 'param', 'name', 'attribute']

/** Returns the texts in a JSON value, in lower case. */
export function stringsOf(value: unknown): string[] {
  const texts: string[] = []
  // Grows while it is read. A recursion would exceed the stack for deep values.
  const left = [value]
  for (const each of left) {
    if (typeof each === 'object' && each !== null) for (const inner of Object.values(each)) left.push(inner)
    else if (typeof each === 'string' && each !== '') texts.push(each.toLowerCase())
  }
  return texts
}
