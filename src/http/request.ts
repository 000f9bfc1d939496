import { InvalidArgumentError } from '../errors/index.ts'
import { isObject, type JsonObject } from '../json.ts'
import { checkPath, type ListQuery, type Operation } from '../operation.ts'
import { copyJson, isPlainObject } from './copy-json.ts'
import { type CapturedInput, copyFields } from './input.ts'
import type { CallSettings } from './settings.ts'
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
export function prepareRequest(
  operation: Operation,
  input: CapturedInput,
  baseUrl: URL,
  settings: CallSettings,
): PreparedRequest | Promise<PreparedRequest> {
  const build = ([query, body]: [JsonObject, unknown]) =>
    buildRequest(operation, { ...input, query, body }, baseUrl, settings)
  const query = checkQuery(operation, input.query)
  // The check of the body may throw now.
  if (query instanceof Promise) query.catch(() => {})
  const body = checkBody(operation, input.body)
  if (query instanceof Promise || body instanceof Promise) return Promise.all([query, body]).then(build)
  return build([query, body])
}

function buildRequest(
  operation: Operation,
  input: CapturedInput,
  baseUrl: URL,
  { headers }: CallSettings,
): PreparedRequest {
  const query = addFields('extraQuery', input.query, input.extraQuery)
  const body = addToBody(input.body, input.extraBody)
  return {
    operation,
    url: buildUrl(baseUrl, operation, input.path, query),
    headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
    // Undefined stays undefined.
    body: JSON.stringify(body),
    cursor: operation.envelope === 'list' ? cursorIn(input.query) : undefined,
  }
}

function cursorIn({ after, before }: ListQuery): string | undefined {
  const cursor = after ?? before ?? undefined
  return cursor === undefined ? undefined : String(cursor)
}

/** Validates the query. Cursors are excluded, because a custom schema may not know them. */
function checkQuery(operation: Operation, query: JsonObject): JsonObject | Promise<JsonObject> {
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
  const own = copyFields('query', isList ? parameters : query)
  const checked = validateInput(operation.query, own, operation, 'query')
  return checked instanceof Promise ? checked.then(conclude) : conclude(checked)
}

/** Validates the body. Only custom schemas transform it. */
function checkBody(operation: Operation, body: unknown): unknown {
  if (operation.body === undefined) return body
  const isOwn = operation.evidence === undefined
  const conclude = (checked: unknown): unknown => (isOwn ? copyJson(checked, ['body']) : body)
  // A schema of the caller may change its input, and each page needs the original.
  const input = isOwn ? copyJson(body, ['body']) : body
  const checked = validateInput(operation.body, input, operation, 'body')
  return checked instanceof Promise ? checked.then(conclude) : conclude(checked)
}

function addToBody(body: unknown, extra: JsonObject | undefined): unknown {
  if (extra === undefined) return body
  if (body === undefined) return extra
  if (isPlainObject(body)) return addFields('extraBody', body, extra)
  throw new InvalidArgumentError(
    'extraBody',
    '`extraBody` can only be added to a body that is an object.',
    'Put its fields into the body.',
  )
}

function addFields(argument: 'extraQuery' | 'extraBody', given: JsonObject, extra: JsonObject): JsonObject {
  const names = Object.keys(extra)
  if (names.length === 0) return given
  const place = argument === 'extraQuery' ? 'query' : 'body'
  // A query parameter that is null or undefined is omitted, so nothing is overridden.
  const isSent = (name: string) =>
    Object.hasOwn(given, name) && (place === 'body' || (given[name] !== null && given[name] !== undefined))
  const repeated = names.find(isSent)
  if (repeated === undefined) return Object.fromEntries([...Object.entries(given), ...Object.entries(extra)])
  throw new InvalidArgumentError(
    `${argument}.${repeated}`,
    `\`${repeated}\` is in both \`${argument}\` and the ${place}.`,
    `Pass it once, in the ${place} if the operation documents it.`,
  )
}

/** Builds the URL of a call from the base URL, the path with its parameters, and the query. */
function buildUrl(baseUrl: URL, operation: Operation, path: CapturedInput['path'], query: JsonObject): string {
  const filled = fillPath(operation.path, path)
  // A parameter can complete an encoded "..".
  if (filled !== operation.path) checkPath({ id: operation.id, path: filled })
  return baseUrl.href.replace(/\/$/, '') + filled + encodeQuery(query)
}

function fillPath(path: Operation['path'], parameters: Readonly<Record<string, string>>): Operation['path'] {
  return path.replace(/\{([^}]+)\}/g, (_, name: string) => encodeSegment(name, parameters[name])) as Operation['path']
}

function encodeSegment(name: string, value: unknown): string {
  // "." and ".." would change the path: URL parsers resolve them even when percent-encoded.
  if (typeof value !== 'string' || value === '' || value === '.' || value === '..' || !value.isWellFormed()) {
    throw new InvalidArgumentError(
      name,
      `The path parameter \`${name}\` is not a valid id.`,
      'Pass the id as the service returned it: a non-empty string other than "." or "..".',
    )
  }
  return encodeURIComponent(value)
}

function encodeQuery(query: Readonly<Record<string, unknown>>): string {
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
  if (!usable) {
    throw new InvalidArgumentError(
      name,
      `The query parameter \`${name}\` cannot be written into a URL.`,
      'Pass a string, a finite number, a boolean, or a list of them.',
    )
  }
  return String(value)
}
