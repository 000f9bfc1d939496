import type { Answer } from '../operation.ts'
import { isObject } from './json-object.ts'

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

/** Takes the data out of its envelope (specification, section 2), or says in a few words what is wrong with it. */
export function unwrap(body: unknown, answer: Answer): Unwrapped | string {
  if (answer === 'any') return { data: body, cursors: noCursors }
  if (isErrorBody(body)) return 'the body is not what was asked for'
  if (answer === 'none') return { data: undefined, cursors: noCursors }
  if (!isObject(body)) return `the body is not a JSON object but ${kindOf(body)}`
  if (answer === 'bare') return { data: body, cursors: noCursors }
  if (!Object.hasOwn(body, 'data')) return 'the body has no `data`'
  const { data } = body
  if (answer === 'item') {
    return isObject(data) ? { data, cursors: noCursors } : `\`data\` is not an object but ${kindOf(data)}`
  }
  if (!Array.isArray(data)) return `\`data\` is not an array but ${kindOf(data)}`
  const cursors = readCursors(body.page_metadata)
  return typeof cursors === 'string' ? cursors : { data, cursors }
}

/** Absent, null and empty all mean the end: the reference's samples of three lists have no `page_metadata` at all. */
function readCursors(metadata: unknown): PageCursors | string {
  if (metadata === undefined || metadata === null) return noCursors
  if (!isObject(metadata)) return `\`page_metadata\` is not an object but ${kindOf(metadata)}`
  for (const name of ['after', 'before']) {
    const cursor = metadata[name]
    if (cursor !== undefined && cursor !== null && typeof cursor !== 'string') {
      return `\`page_metadata.${name}\` is not a string or null but ${kindOf(cursor)}`
    }
  }
  return { after: (metadata.after as string) || null, before: (metadata.before as string) || null }
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
