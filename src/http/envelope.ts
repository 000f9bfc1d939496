import { isObject, parseObject } from '../json.ts'
import type { Envelope } from '../operation.ts'
import { UnusableResponse } from './response.ts'

/** The cursors of a page; null where there is no further page. */
export interface PageCursors {
  readonly after: string | null
  readonly before: string | null
}

/** A body taken out of its envelope. */
export interface Unwrapped {
  readonly data: unknown
  readonly cursors: PageCursors
}

const noCursors: PageCursors = { after: null, before: null }

/** Takes the data out of its envelope (specification, section 2). Throws `UnusableResponse` when it is not as documented. */
export function unwrap(body: unknown, envelope: Envelope): Unwrapped {
  if (envelope === 'any') return { data: body, cursors: noCursors }
  if (isErrorBody(body)) throw unusable('the body is not what was asked for')
  if (envelope === 'none') return { data: undefined, cursors: noCursors }
  if (!isObject(body)) throw unusable(`the body is not a JSON object but ${kindOf(body)}`)
  if (envelope === 'bare') return { data: body, cursors: noCursors }
  if (!Object.hasOwn(body, 'data')) throw unusable('the body has no `data`')
  const { data } = body
  if (envelope === 'item') {
    if (isObject(data)) return { data, cursors: noCursors }
    throw unusable(`\`data\` is not an object but ${kindOf(data)}`)
  }
  if (!Array.isArray(data)) throw unusable(`\`data\` is not an array but ${kindOf(data)}`)
  return { data, cursors: readCursors(body.page_metadata) }
}

/** Absent, null and empty all mean the end: the reference's samples of three lists have no `page_metadata` at all. */
function readCursors(metadata: unknown): PageCursors {
  if (metadata === undefined || metadata === null) return noCursors
  if (!isObject(metadata)) throw unusable(`\`page_metadata\` is not an object but ${kindOf(metadata)}`)
  for (const name of ['after', 'before']) {
    const cursor = metadata[name]
    if (cursor !== undefined && cursor !== null && typeof cursor !== 'string') {
      throw unusable(`\`page_metadata.${name}\` is not a string or null but ${kindOf(cursor)}`)
    }
  }
  return { after: (metadata.after as string) || null, before: (metadata.before as string) || null }
}

function unusable(problem: string): UnusableResponse {
  return new UnusableResponse('envelope', problem)
}

/** The documented error body (reference, section 4) and nothing beside it. */
function isErrorBody(body: unknown): boolean {
  if (!isObject(body) || typeof body.error !== 'string') return false
  return Object.keys(body).every((name) => name === 'error' || name === 'error_description')
}

/** The JSON kind of a value, in a word. Never the value. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** What an error body says. */
export interface ErrorBody {
  readonly code: string | undefined
  readonly description: string | undefined
}

/**
 * Reads the error body that the reference documents, `{ error, error_description }` (section 4), and the shapes that
 * gateways and other deployments use, as the specification does not show one: `{ code, message }`,
 * `{ error: { code, message } }`, `{ errors: [{ code, detail }] }`, problem+json (RFC 9457), and a body that is no JSON.
 *
 * @param challenge the `WWW-Authenticate` header, which names the error where the body does not (RFC 6750, section 3).
 */
export function readErrorBody(text: string, challenge: string | null = null): ErrorBody {
  const challenged = challenge?.match(/\berror\s*=\s*"?([^",\s]+)/i)?.[1]
  const body = parseObject(text)
  if (body === undefined) return { code: challenged, description: undefined }
  const inner = [body.error, Array.isArray(body.errors) ? body.errors[0] : undefined].find(isObject) ?? body
  return {
    // What the challenge says of the token counts, whatever a gateway wrote into the body.
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
