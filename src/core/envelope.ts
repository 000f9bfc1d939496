import { isObject, parseObject } from '../shared/json.ts'
import type { PageCursors, Reply } from './call.ts'
import { fieldProblems, isAboutField } from './error-details.ts'
import type { Envelope } from './operation.ts'
import { UnusableResponse } from './response.ts'

/** The content of an envelope. */
export type Unwrapped = Pick<Reply, 'data' | 'cursors'>

const noCursors: PageCursors = { after: null, before: null }

/**
 * Returns the content of an envelope (docs/service.md#paging). Throws `UnusableResponse` if it differs from the
 * documents.
 */
export function unwrap(body: unknown, envelope: Envelope): Unwrapped {
  if (envelope === 'any') return { data: body, cursors: noCursors }
  if (isErrorBody(body)) throw unusable('the body is not what was asked for')
  if (envelope === 'none') return { data: undefined, cursors: noCursors }
  if (!isObject(body)) throw unusable(`expected a JSON object as the body, received ${jsonTypeOf(body)}`)
  if (envelope === 'bare') return { data: body, cursors: noCursors }
  if (!Object.hasOwn(body, 'data')) throw unusable('the body has no `data`')
  const { data } = body
  if (envelope === 'item') {
    if (isObject(data)) return { data, cursors: noCursors }
    throw unusable(`expected an object in \`data\`, received ${jsonTypeOf(data)}`)
  }
  if (!Array.isArray(data)) throw unusable(`expected an array in \`data\`, received ${jsonTypeOf(data)}`)
  return { data, cursors: readCursors(body.page_metadata) }
}

/** Servers accept URLs of 8 or 16 kB. */
const longestCursor = 16_384

/**
 * A cursor that is absent, null or empty means that there is no further page. Three lists in the reference have no
 * `page_metadata`.
 */
function readCursors(metadata: unknown): PageCursors {
  if (metadata === undefined || metadata === null) return noCursors
  if (!isObject(metadata)) throw unusable(`expected an object in \`page_metadata\`, received ${jsonTypeOf(metadata)}`)
  for (const name of ['after', 'before']) {
    const cursor = metadata[name]
    if (cursor === undefined || cursor === null) continue
    if (typeof cursor !== 'string') {
      throw unusable(`expected a string or null in \`page_metadata.${name}\`, received ${jsonTypeOf(cursor)}`)
    }
    if (cursor.length > longestCursor || !cursor.isWellFormed()) {
      throw unusable(`the cursor in \`page_metadata.${name}\` cannot be part of a URL`)
    }
  }
  return { after: (metadata.after as string) || null, before: (metadata.before as string) || null }
}

function unusable(problem: string): UnusableResponse {
  return new UnusableResponse('envelope', problem)
}

/** Whether a body is exactly the documented error body (docs/service.md#errors). */
function isErrorBody(body: unknown): boolean {
  if (!isObject(body) || typeof body.error !== 'string') return false
  return Object.keys(body).every((name) => name === 'error' || name === 'error_description')
}

/** Returns the JSON type of a value. Never the value itself. */
export function jsonTypeOf(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** The code and description of an error body. */
export interface ErrorBody {
  readonly code: string | undefined
  readonly description: string | undefined
  /** The rejected fields and the reasons, if the body lists them. */
  readonly problems: string | undefined
  /** Whether the body is HTML, which comes from a gateway instead of the service. */
  readonly isHtml: boolean
}

/**
 * Parses an error body. Supports the documented form `{ error, error_description }` (docs/service.md#errors). Gateways
 * and other deployments also send `{ code, message }`, `{ error: { code, message } }`, `{ errors: [{ code, detail }]
 * }`, problem+json (RFC 9457), HTML and plain text.
 *
 * @param challenge the `WWW-Authenticate` header, which can name the error as well (RFC 6750, section 3)
 * @param sent the JSON values of the request, which `problems` does not repeat
 */
export function readErrorBody(text: string, challenge: string | null = null, sent: readonly unknown[] = []): ErrorBody {
  const challenged = challenge?.match(/\berror\s*=\s*"?([^",\s]+)/i)?.[1]
  const body = parseObject(text)
  if (body === undefined) {
    return { code: challenged, description: undefined, problems: undefined, isHtml: text.trimStart().startsWith('<') }
  }
  const first: unknown = Array.isArray(body.errors) ? body.errors[0] : undefined
  const inner = [body.error, isObject(first) && !isAboutField(first) ? first : undefined].find(isObject) ?? body
  return {
    isHtml: false,
    problems: fieldProblems(body, sent),
    // The challenge decides about the token, because a gateway might have replaced the body.
    code:
      challenged === 'invalid_token'
        ? challenged
        : firstString(inner.code, body.error, inner.error, challenged, inner.type),
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

function firstString(...values: unknown[]): string | undefined {
  return values.find((value): value is string => typeof value === 'string' && value !== '')
}
