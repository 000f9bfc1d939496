import type { StandardSchemaV1 } from '@standard-schema/spec'
import { InvalidArgumentError } from '../errors/index.ts'
import { isObject, type JsonObject, toJson } from '../shared/json.ts'
import { isPromise } from './call-clock.ts'
import { type CapturedCall, isGiven, type PreparedCall } from './input.ts'
import { isCustom } from './operation.ts'
import { type Warn, warnOfUndocumented } from './undocumented.ts'
import { validateInput } from './validation.ts'

/**
 * Validates the input of a call with the schemas of its operation. Returns a promise if a schema is asynchronous.
 *
 * @param warn called with a warning for each undocumented name
 * @throws InvalidArgumentError
 */
export function prepareCall(call: CapturedCall, warn: Warn): PreparedCall | Promise<PreparedCall> {
  const { operation, signal } = call
  // A call that was aborted before it was made is not sent.
  const body = operation.body === undefined || signal?.aborted ? call.body : checkBody(operation.body, call, warn)
  if (!isCustom(operation)) warnOfUndocumented(operation, 'query', call.query, warn)
  return isPromise(body) ? Promise.resolve(body).then((text) => withQuery(call, text)) : withQuery(call, body)
}

function withQuery(call: CapturedCall, body: unknown): PreparedCall | Promise<PreparedCall> {
  const { operation, signal, extraQuery, extraBody, ...rest } = call
  const complete = (query: unknown): PreparedCall => ({
    ...rest,
    operation,
    signal,
    query: addExtraQuery(query as JsonObject, extraQuery),
    body: extraBody === undefined ? (body as string | undefined) : addExtraBody(body as string | undefined, extraBody),
  })
  const query = operation.query === undefined || signal?.aborted ? call.query : checkQuery(operation.query, call)
  return isPromise(query) ? Promise.resolve(query).then(complete) : complete(query)
}

/** Validates the query without the cursors, which a custom schema might reject. */
function checkQuery(schema: StandardSchemaV1, { operation, query }: CapturedCall): unknown {
  const isList = operation.envelope === 'list'
  const { after, before, ...parameters } = query
  return validateInput(schema, isList ? parameters : query, 'query', (checked) => {
    if (isObject(checked)) return { ...checked, ...(isList && { after, before }) }
    throw new InvalidArgumentError(
      'query',
      'The `query` schema did not return an object.',
      'Return the query parameters by name.',
    )
  })
}

/** Validates the body. Returns it as JSON text. */
function checkBody(schema: StandardSchemaV1, { operation, body }: CapturedCall, warn: Warn): unknown {
  if (isCustom(operation)) return validateInput(schema, body, 'body', (checked) => toJson('body', checked))
  // Only a schema of the caller transforms the body.
  const value: unknown = body && JSON.parse(body as string)
  return validateInput(schema, value, 'body', () => {
    warnOfUndocumented(operation, 'body', value, warn)
    return body
  })
}

function addExtraBody(body: string | undefined, extra: JsonObject): string {
  const given: unknown = JSON.parse(body ?? '{}')
  if (!isObject(given)) {
    throw new InvalidArgumentError(
      'extraBody',
      '`extraBody` can only be added to a body that is an object.',
      'Put its fields into the body.',
    )
  }
  checkRepeated('extraBody', extra, (name) => Object.hasOwn(given, name))
  return JSON.stringify({ ...given, ...extra })
}

function addExtraQuery(query: JsonObject, extra: JsonObject): JsonObject {
  checkRepeated('extraQuery', extra, (name) => Object.hasOwn(query, name) && isGiven(query[name]))
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

/**
 * Returns the URL of a call.
 *
 * @throws InvalidArgumentError if a query parameter cannot be written into it.
 */
export function urlOf({ path, query }: PreparedCall, baseUrl: URL): string {
  return baseUrl.href.replace(/\/$/, '') + path + encodeQuery(query)
}

function encodeQuery(query: JsonObject): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const single of Array.isArray(value) ? value : [value]) {
      if (isGiven(single)) parameters.append(name, encodeValue(name, single))
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
