import { InvalidArgumentError } from '../errors/index.ts'
import type { JsonObject } from '../json.ts'
import { checkPath, type Operation } from '../operation.ts'
import { copyJson, isPlainObject } from './copy-json.ts'
import type { CapturedInput } from './input.ts'
import type { CallSettings } from './settings.ts'
import { validateInput } from './validation.ts'

/** A request, kept as values so that each attempt builds its own. */
export interface PreparedRequest {
  readonly operation: Operation
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The body as JSON; undefined when there is none. */
  readonly body: string | undefined
}

/** Checks the input of a call against the schemas of its operation and builds the request. */
export async function prepareRequest(
  operation: Operation,
  input: CapturedInput,
  baseUrl: URL,
  { headers }: CallSettings,
): Promise<PreparedRequest> {
  const query = addFields('extraQuery', await checkQuery(operation, input.query), input.extraQuery)
  const body = addToBody(await checkBody(operation, input.body), input.extraBody)
  return {
    operation,
    url: buildUrl(baseUrl, operation, input.path, query),
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  }
}

/** The query as its schema returns it. The cursors belong to the SDK: a caller's schema need not know them. */
async function checkQuery(operation: Operation, query: JsonObject): Promise<JsonObject> {
  if (operation.query === undefined) return query
  const isList = operation.envelope === 'list'
  const { after, before, ...parameters } = query
  const checked = await validateInput(operation.query, isList ? parameters : query, operation, 'query')
  return { ...(checked as JsonObject), ...(isList && { after, before }) }
}

/** The body as its schema returns it. The built-in schemas only check. */
async function checkBody(operation: Operation, body: unknown): Promise<unknown> {
  if (operation.body === undefined) return body
  const checked = await validateInput(operation.body, body, operation, 'body')
  return operation.evidence === undefined ? copyJson(checked, ['body']) : body
}

function addToBody(body: unknown, extra: JsonObject | undefined): unknown {
  if (extra === undefined || body === undefined) return body ?? extra
  if (isPlainObject(body)) return addFields('extraBody', body, extra)
  throw new InvalidArgumentError(
    'extraBody',
    '`extraBody` can only be added to a body that is an object.',
    'Put its fields into the body.',
  )
}

function addFields(argument: 'extraQuery' | 'extraBody', given: JsonObject, extra: JsonObject): JsonObject {
  const place = argument === 'extraQuery' ? 'query' : 'body'
  // A query parameter of null or undefined is not sent, so nothing is overridden.
  const isSent = (name: string) =>
    Object.hasOwn(given, name) && (place === 'body' || (given[name] !== null && given[name] !== undefined))
  const repeated = Object.keys(extra).find(isSent)
  if (repeated === undefined) return Object.fromEntries([...Object.entries(given), ...Object.entries(extra)])
  throw new InvalidArgumentError(
    `${argument}.${repeated}`,
    `\`${repeated}\` is in both \`${argument}\` and the ${place}.`,
    `Pass it once, in the ${place} if the operation documents it.`,
  )
}

/** The address of a call: base URL, path with its parameters encoded, query. */
function buildUrl(baseUrl: URL, operation: Operation, path: CapturedInput['path'], query: JsonObject): string {
  checkPath(operation)
  return baseUrl.href.replace(/\/$/, '') + fillPath(operation.path, path) + encodeQuery(query)
}

function fillPath(path: string, parameters: Readonly<Record<string, string>>): string {
  return path.replace(/\{([^}]+)\}/g, (_, name: string) => encodeSegment(name, parameters[name]))
}

function encodeSegment(name: string, value: unknown): string {
  // "." and ".." would climb out of the path: a URL parser folds them even when they are percent-encoded.
  if (typeof value !== 'string' || value === '' || value === '.' || value === '..' || !value.isWellFormed()) {
    throw new InvalidArgumentError(
      name,
      `The path parameter \`${name}\` is not a usable id.`,
      'Pass the id as the service gave it: a string that is not empty, "." or "..".',
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
    typeof value === 'boolean' ||
    (typeof value === 'number' && Number.isFinite(value)) ||
    (typeof value === 'string' && value.isWellFormed())
  if (!usable) {
    throw new InvalidArgumentError(
      name,
      `The query parameter \`${name}\` cannot be written into a URL.`,
      'Pass a string, a finite number, a boolean, or a list of them.',
    )
  }
  return String(value)
}
