import { InvalidArgumentError } from '../errors/index.ts'
import { isObject, type JsonObject } from '../json.ts'
import type { Operation } from '../operation.ts'
import { type CapturedCall, copyQuery, copyValue, toJson } from './input.ts'
import { validateInput } from './validation.ts'

/** A request as plain values, which each attempt sends. */
export interface PreparedRequest {
  readonly operation: Operation
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON text, if there is a body. */
  readonly body: string | undefined
  /** The cursor of the page, if the request is for a list and has one. */
  readonly cursor: string | undefined
}

/**
 * Validates the input of a call with the schemas of its operation, and builds the request. Synchronous if the schemas are.
 */
export function prepareRequest(call: CapturedCall, baseUrl: URL): PreparedRequest | Promise<PreparedRequest> {
  const query = checkQuery(call)
  // The check of the body may throw now.
  if (query instanceof Promise) query.catch(() => {})
  const body = checkBody(call)
  if (query instanceof Promise || body instanceof Promise) {
    return Promise.all([query, body]).then(([checkedQuery, text]) => buildRequest(call, checkedQuery, text, baseUrl))
  }
  return buildRequest(call, query, body, baseUrl)
}

function buildRequest(call: CapturedCall, query: JsonObject, text: string | undefined, baseUrl: URL): PreparedRequest {
  const { operation, path, extraQuery, settings } = call
  const body = addExtraBody(text, call.extraBody)
  const { after, before } = call.query
  const cursor = after ?? before ?? undefined
  return {
    operation,
    url: baseUrl.href.replace(/\/$/, '') + path + encodeQuery(addExtraQuery(query, extraQuery)),
    headers: body === undefined ? settings.headers : { 'content-type': 'application/json', ...settings.headers },
    body,
    cursor: operation.envelope === 'list' && cursor !== undefined ? String(cursor) : undefined,
  }
}

/** Validates the query. Cursors are excluded, because a custom schema may not know them. */
function checkQuery({ operation, query }: CapturedCall): JsonObject | Promise<JsonObject> {
  if (operation.query === undefined) return query
  const isList = operation.envelope === 'list'
  const { after, before, ...parameters } = query
  const conclude = (checked: unknown): JsonObject => {
    if (isObject(checked)) return { ...checked, ...(isList && { after, before }) }
    throw new InvalidArgumentError(
      'query',
      `The \`query\` schema of ${operation.id} did not return an object.`,
      'Return the query parameters by name.',
    )
  }
  // A schema may change its input, and each page needs the original.
  const own = copyQuery('query', isList ? parameters : query)
  const checked = validateInput(operation.query, own, operation, 'query')
  return checked instanceof Promise ? checked.then(conclude) : conclude(checked)
}

/** Validates the body. Returns it as JSON text. */
function checkBody({ operation, body, isOwn }: CapturedCall): string | undefined | Promise<string | undefined> {
  // Only a schema of the caller transforms the body.
  const conclude = (checked: unknown) => (isOwn ? toJson('body', checked) : text)
  const text = body as string | undefined
  if (operation.body === undefined) return text
  // A schema of the caller may change its input, and each page needs the original.
  const input = isOwn ? copyValue('body', body) : text && JSON.parse(text)
  const checked = validateInput(operation.body, input, operation, 'body')
  return checked instanceof Promise ? checked.then(conclude) : conclude(checked)
}

/** Adds the fields of `extraBody` to the text, so that numbers of any precision stay as they are. */
function addExtraBody(body: string | undefined, extra: string | undefined): string | undefined {
  if (extra === undefined || body === undefined) return body ?? extra
  const given: unknown = JSON.parse(body)
  if (!isObject(given)) {
    throw new InvalidArgumentError(
      'extraBody',
      '`extraBody` can only be added to a body that is an object.',
      'Put its fields into the body.',
    )
  }
  const names = Object.keys(JSON.parse(extra))
  checkRepeated(
    'extraBody',
    names.find((name) => Object.hasOwn(given, name)),
  )
  if (names.length === 0) return body
  return Object.keys(given).length === 0 ? extra : `${body.slice(0, -1)},${extra.slice(1)}`
}

function addExtraQuery(query: JsonObject, extra: JsonObject): JsonObject {
  const names = Object.keys(extra)
  if (names.length === 0) return query
  // A query parameter that is null or undefined is omitted, so nothing is overridden.
  checkRepeated(
    'extraQuery',
    names.find((name) => Object.hasOwn(query, name) && (query[name] ?? undefined) !== undefined),
  )
  return Object.fromEntries([...Object.entries(query), ...Object.entries(extra)])
}

function checkRepeated(argument: 'extraQuery' | 'extraBody', name: string | undefined): void {
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
