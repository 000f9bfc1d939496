import { type Check, checkFunction, checkNames, checkPlain, mustBe, readOptions } from '../shared/check-options.ts'
import { InvalidArgumentError } from '../shared/errors/index.ts'
import { isObject, type JsonObject, noJson, toJson } from '../shared/json.ts'
import type { WebAbortSignal } from '../shared/web-types.ts'
import { checkHeaders } from './headers.ts'
import { checkPath, type Operation, type OperationInput } from './operation.ts'
import type { BeforeSend, CallOptions } from './options.ts'
import { type CallSettings, checkPositive, checkRetries } from './settings.ts'
import { validateInput } from './validation.ts'

/** A call with copies of its arguments, which the caller cannot change. */
export interface CapturedCall {
  readonly operation: Operation
  /** Whether the caller defined the operation. Its schemas may transform what they check. */
  readonly isOwn: boolean
  /** The path with the values of its parameters. */
  readonly path: string
  /** The values of the parameters in the path, by name. */
  readonly parameters: Readonly<Record<string, string>>
  readonly query: JsonObject
  /** JSON text, or a copy of the value if the caller has a schema for it. */
  readonly body: unknown
  readonly extraQuery: JsonObject
  /** A JSON object. */
  readonly extraBody: JsonObject | undefined
  readonly signal: WebAbortSignal | undefined
  readonly beforeSend: BeforeSend | undefined
  readonly settings: CallSettings
}

const inputNames = { path: true, query: true, body: true } satisfies Record<keyof OperationInput, true>

export const callChecks = {
  signal: checkSignal,
  timeout: checkPositive,
  totalTimeout: checkPositive,
  maxRetries: checkRetries,
  headers: checkHeaders,
  beforeSend: checkFunction<BeforeSend>,
  extraQuery: copyParameters,
  extraBody: (name, value) => JSON.parse(toJson(name, checkPlain(name, value)) as string) as JsonObject,
} satisfies Record<keyof CallOptions, Check<unknown>>

/**
 * Copies and checks the arguments of a call. Must run before the first await.
 *
 * @throws InvalidArgumentError if an argument cannot be sent.
 */
export function captureCall(
  operation: Operation,
  input: OperationInput,
  options: CallOptions = {},
  { isOwn, defaults }: { readonly isOwn: boolean; readonly defaults: CallSettings },
): CapturedCall {
  checkPlain('input', input)
  checkNames(input, inputNames, 'the input of a call')
  checkPlain('options', options)
  const {
    signal,
    beforeSend,
    extraQuery = {},
    extraBody,
    headers = {},
    ...settings
  } = readOptions(options, callChecks, 'a call')
  const { body, path = {}, query = {} } = input
  const given = body === undefined ? extraBody && 'extraBody' : 'body'
  if (operation.method === 'GET' && given !== undefined) {
    throw new InvalidArgumentError(
      given,
      `\`${given}\` cannot be sent with a GET.`,
      'Pass the parameters in the query.',
    )
  }
  return {
    operation,
    isOwn,
    path: fillPath(operation, checkPlain('path', path)),
    parameters: { ...path },
    query: isOwn && operation.query ? copyValue('query', checkPlain('query', query)) : copyParameters('query', query),
    body: isOwn && operation.body ? copyValue('body', body) : toJson('body', body),
    extraQuery,
    extraBody,
    signal,
    beforeSend,
    settings: {
      timeout: settings.timeout ?? defaults.timeout,
      totalTimeout: settings.totalTimeout ?? defaults.totalTimeout,
      maxRetries: settings.maxRetries ?? defaults.maxRetries,
      headers: [...defaults.headers, headers],
    },
  }
}

/** Copies query parameters. Values that a URL cannot represent are rejected when the URL is built. */
function copyParameters(name: string, query: unknown): JsonObject {
  const copies = Object.entries(checkPlain(name, query)).map(([parameter, value]) => [
    parameter,
    Array.isArray(value) ? [...value] : value,
  ])
  return Object.fromEntries(copies)
}

function fillPath({ path }: Operation, parameters: JsonObject): string {
  const filled = path.replace(/\{([^}]+)\}/g, (_, name: string) => encodeSegment(name, parameters[name]))
  const unknown = Object.keys(parameters).find((name) => !path.includes(`{${name}}`))
  if (unknown !== undefined) {
    throw new InvalidArgumentError(
      unknown,
      `The path has no parameter \`${unknown}\`.`,
      'Put it into the path in braces, or leave it out.',
    )
  }
  // A parameter can complete an encoded "..".
  if (filled !== path) checkPath(filled as Operation['path'])
  return filled
}

function encodeSegment(name: string, value: unknown): string {
  // "." and ".." would change the path: URL parsers resolve them even when percent-encoded.
  if (typeof value === 'string' && value !== '' && value !== '.' && value !== '..' && value.isWellFormed()) {
    return encodeURIComponent(value)
  }
  throw mustBe(
    'an id',
    name,
    value,
    'Pass the id as the service returned it: a non-empty string other than "." or "..".',
  )
}

/** Checks an optional AbortSignal, possibly of another realm or package. */
export function checkSignal(_: string, signal: unknown): WebAbortSignal | undefined {
  if (signal === undefined || signal === null) return undefined
  if (
    isObject(signal) &&
    typeof signal.aborted === 'boolean' &&
    typeof signal.addEventListener === 'function' &&
    typeof signal.removeEventListener === 'function'
  )
    return signal as unknown as WebAbortSignal
  throw mustBe('an AbortSignal', 'signal', signal, 'Pass the `signal` of an AbortController, not the controller.')
}

/**
 * Returns a copy of a value for the caller's schema, which may expect a Date or a Map.
 *
 * @param name the name of the argument
 * @throws InvalidArgumentError if it contains something that cannot be copied, such as a function.
 */
function copyValue<Value>(name: string, value: Value): Value {
  try {
    return structuredClone(value)
  } catch (thrown) {
    throw noJson(name, thrown instanceof RangeError ? 'is nested too deeply' : 'contains a value that cannot be copied')
  }
}

/** What each attempt of a call sends, but for the headers. */
export interface PreparedRequest {
  readonly url: string
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
  const { operation, path, extraQuery } = call
  const [query, body] = await Promise.all([checkQuery(call), checkBody(call)])
  const { after, before } = call.query
  const cursor = after ?? before ?? undefined
  return {
    url: baseUrl.href.replace(/\/$/, '') + path + encodeQuery(addExtraQuery(query, extraQuery)),
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
  const checked = await validateInput(operation.query, structuredClone(isList ? parameters : query), 'query')
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
  const input = isOwn ? structuredClone(body) : body && JSON.parse(body as string)
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
