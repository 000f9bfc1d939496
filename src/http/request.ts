import { InvalidArgumentError } from '../errors/index.ts'
import { isObject, type JsonObject, toJson } from '../json.ts'
import type { Operation } from '../operation.ts'
import type { HeaderSource } from './headers.ts'
import { type CapturedCall, copyQuery, copyValue } from './input.ts'
import { validateInput } from './validation.ts'

/** A request as plain values, which each attempt sends. */
export interface PreparedRequest {
  readonly operation: Operation
  readonly url: string
  readonly headers: readonly HeaderSource[]
  /** JSON text, if there is a body. */
  readonly body: string | undefined
  /** The cursor of the page, if the request is for a list and has one. */
  readonly cursor: string | undefined
}

/**
 * Validates the input of a call with the schemas of its operation, and builds the request.
 *
 * @throws InvalidArgumentError
 */
export async function prepareRequest(call: CapturedCall, baseUrl: URL): Promise<PreparedRequest> {
  const { operation, path, extraQuery, settings } = call
  const [query, body] = await Promise.all([checkQuery(call), checkBody(call)])
  const { after, before } = call.query
  const cursor = after ?? before ?? undefined
  return {
    operation,
    url: baseUrl.href.replace(/\/$/, '') + path + encodeQuery(addExtraQuery(query, extraQuery)),
    headers: body === undefined ? settings.headers : [{ 'content-type': 'application/json' }, ...settings.headers],
    body,
    cursor: operation.envelope === 'list' && cursor !== undefined ? String(cursor) : undefined,
  }
}

/** Validates the query. Cursors are excluded, because a custom schema may not know them. */
async function checkQuery({ operation, query }: CapturedCall): Promise<JsonObject> {
  if (operation.query === undefined) return query
  const isList = operation.envelope === 'list'
  const { after, before, ...parameters } = query
  // A schema may change its input, and each page needs the original.
  const own = copyQuery('query', isList ? parameters : query)
  const checked = await validateInput(operation.query, own, 'query')
  if (isObject(checked)) return { ...checked, ...(isList && { after, before }) }
  throw new InvalidArgumentError(
    'query',
    'The `query` schema did not return an object.',
    'Return the query parameters by name.',
  )
}

/** Validates the body. Returns it as JSON text. */
async function checkBody({ operation, body, isOwn, extraBody }: CapturedCall): Promise<string | undefined> {
  if (operation.body === undefined) return addExtraBody(body as string | undefined, extraBody)
  // A schema of the caller may change its input, and each page needs the original.
  const input = isOwn ? copyValue('body', body) : body && JSON.parse(body as string)
  const checked = await validateInput(operation.body, input, 'body')
  // Only a schema of the caller transforms the body.
  return addExtraBody(isOwn ? toJson('body', checked) : (body as string | undefined), extraBody)
}

/** Adds the fields of `extraBody` to the text, so that numbers of any precision stay as they are. */
function addExtraBody(body: string | undefined, extra: JsonObject | undefined): string | undefined {
  if (extra === undefined) return body
  const added = JSON.stringify(extra)
  if (body === undefined || body === '{}') return added
  const given: unknown = JSON.parse(body)
  if (!isObject(given)) {
    throw new InvalidArgumentError(
      'extraBody',
      '`extraBody` can only be added to a body that is an object.',
      'Put its fields into the body.',
    )
  }
  checkRepeated('extraBody', extra, (name) => Object.hasOwn(given, name))
  return added === '{}' ? body : `${body.slice(0, -1)},${added.slice(1)}`
}

function addExtraQuery(query: JsonObject, extra: JsonObject): JsonObject {
  // A query parameter that is null or undefined is omitted, so nothing is overridden.
  checkRepeated('extraQuery', extra, (name) => Object.hasOwn(query, name) && (query[name] ?? undefined) !== undefined)
  return { ...query, ...extra }
}

function checkRepeated(
  argument: 'extraQuery' | 'extraBody',
  extra: JsonObject,
  isGiven: (name: string) => boolean,
): void {
  const name = Object.keys(extra).find(isGiven)
  if (name === undefined) return
  const place = argument === 'extraQuery' ? 'query' : 'body'
  throw new InvalidArgumentError(
    `${argument}.${name}`,
    `\`${name}\` is in both \`${argument}\` and the ${place}.`,
    `Pass it once, in the ${place} if the operation documents it.`,
  )
}

function encodeQuery(query: JsonObject): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const single of Array.isArray(value) ? value : [value]) {
      if (single !== undefined && single !== null) parameters.append(name, encodeValue(name, single))
    }
  }
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}

function encodeValue(name: string, value: unknown): string {
  const usable =
    typeof value === 'boolean' || Number.isFinite(value) || (typeof value === 'string' && value.isWellFormed())
  if (usable) return String(value)
  throw new InvalidArgumentError(
    name,
    `The query parameter \`${name}\` cannot be written into a URL.`,
    'Pass a string, a finite number, a boolean, or a list of them.',
  )
}
