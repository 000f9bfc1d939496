import type { StandardSchemaV1 } from '@standard-schema/spec'
import { InvalidArgumentError } from '../errors/index.ts'
import {
  type Check,
  type Checked,
  checkNames,
  checkPlain,
  checkPositive,
  checkRetries,
  mustBe,
  readOptions,
} from '../shared/check-options.ts'
import { isObject, type JsonObject, noJson, toJson } from '../shared/json.ts'
import { isPromise } from './call-clock.ts'
import { checkHeaders, type HeaderSource } from './headers.ts'
import { checkOperation, checkPath, isCustom, type Operation, type OperationInput } from './operation.ts'
import type { CallOptions } from './options.ts'
import { validateInput } from './validation.ts'

/** A call with copies of its arguments, which the caller cannot change. Each attempt adds its headers. */
export interface PreparedCall {
  readonly operation: Operation
  /** The path with the values of its parameters. */
  readonly path: string
  /** The values of the parameters in the path, by name. */
  readonly parameters: Readonly<Record<string, string>>
  readonly query: JsonObject
  /** JSON text, if there is a body. */
  readonly body: string | undefined
  readonly signal: AbortSignal | undefined
  readonly timeout: number
  readonly totalTimeout: number
  readonly maxRetries: number
  /** The headers of the call, which are added to the headers of the client. */
  readonly headers: HeaderSource
  /** The page number of a list, starting at 1. */
  readonly page?: number | undefined
  /**
   * When the call was made, or the page of a list was asked for, in milliseconds of `performance.now()`. Undefined if a
   * middleware sends it later.
   */
  readonly startedAt?: number | undefined
}

/** A call whose schemas have been called, and may be under way. */
export interface CapturedCall {
  /** The call with the query that the caller passed, and without a body. */
  readonly call: PreparedCall
  /** The call as the schemas have returned it. A promise if a schema is asynchronous. */
  readonly checked: PreparedCall | Promise<PreparedCall>
}

const inputNames = { path: true, query: true, body: true } satisfies Record<keyof OperationInput, true>

export const callChecks = {
  signal: checkSignal,
  timeout: checkPositive,
  totalTimeout: checkPositive,
  maxRetries: checkRetries,
  headers: checkHeaders,
  extraQuery: copyParameters,
  extraBody: (name, value) => JSON.parse(toJson(name, checkPlain(name, value)) as string) as JsonObject,
} satisfies Record<keyof CallOptions, Check<unknown>>

const noParameters = /* @__PURE__ */ Object.freeze({})

/** Checked options of a call. */
type CheckedCallOptions = Partial<Checked<typeof callChecks>>

export function readCallOptions(options: CallOptions | undefined): CheckedCallOptions {
  return options === undefined ? {} : readOptions(checkPlain('options', options), callChecks, 'a call')
}

/**
 * Copies and checks the arguments of a call. Must run before the first await.
 *
 * @throws InvalidArgumentError if an argument cannot be sent, or a schema rejects it.
 */
export function captureCall(
  operation: Operation,
  input: OperationInput,
  { signal, extraQuery, extraBody, headers = noParameters, ...given }: CheckedCallOptions,
  defaults: Pick<PreparedCall, 'timeout' | 'totalTimeout' | 'maxRetries'>,
): CapturedCall {
  if (isCustom(operation)) checkCustom(operation, input)
  const { body, path = noParameters } = input
  // A getter can return another value each time, so that the path would differ from the parameters.
  const parameters = { ...path }
  if (operation.method === 'GET') checkNoBody(body === undefined ? extraBody && 'extraBody' : 'body')
  const call: PreparedCall = {
    operation,
    path: fillPath(operation, parameters),
    parameters,
    query: input.query === undefined ? noParameters : copyParameters('query', input.query),
    body: undefined,
    signal,
    timeout: given.timeout ?? defaults.timeout,
    totalTimeout: given.totalTimeout ?? defaults.totalTimeout,
    maxRetries: given.maxRetries ?? defaults.maxRetries,
    headers,
  }
  const complete = (query: JsonObject, text: string | undefined): PreparedCall => ({
    ...call,
    query: extraQuery === undefined ? query : { ...query, ...extraQuery },
    body: extraBody === undefined ? text : addExtraBody(text, extraBody),
  })
  // A call that was aborted before it was made is not sent, so its schemas are not called.
  const schemas: Pick<Operation, 'body' | 'query'> = signal?.aborted ? {} : operation
  const text = schemas.body === undefined ? toJson('body', body) : checkBody(schemas.body, operation, body)
  const query = schemas.query === undefined ? call.query : checkQuery(schemas.query, call)
  if (!isPromise(text) && !isPromise(query)) return { call, checked: complete(query, text) }
  const checked = Promise.all([query, text]).then((both) => complete(...both))
  // A list might never be read.
  checked.catch(() => {})
  return { call, checked }
}

function checkCustom(operation: Operation, input: OperationInput): void {
  checkOperation(operation)
  checkPlain('input', input)
  checkNames(input, inputNames, 'the input of a call')
  for (const name of ['path', 'query'] as const) if (input[name] !== undefined) checkPlain(name, input[name])
}

/** @param given the name of the argument that contains a body, if there is one */
export function checkNoBody(given: string | undefined): void {
  if (given === undefined) return
  throw new InvalidArgumentError(given, `\`${given}\` cannot be sent with a GET.`, 'Pass the parameters in the query.')
}

/** Copies query parameters. Values that a URL cannot represent are rejected when the URL is built. */
export function copyParameters(name: string, query: unknown): JsonObject {
  const copies = Object.entries(checkPlain(name, query)).map(([parameter, value]) => [
    parameter,
    Array.isArray(value) ? [...value] : value,
  ])
  return Object.fromEntries(copies)
}

/** Whether a query parameter is sent. A parameter that is null or undefined is omitted. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

function fillPath({ path }: Operation, parameters: JsonObject): string {
  const filled = path.replace(/\{([^{}]+)\}/g, (_, name: string) => encodeSegment(name, parameters[name]))
  const unknown = Object.keys(parameters).find((name) => !path.includes(`{${name}}`))
  if (unknown !== undefined) {
    throw new InvalidArgumentError(
      unknown,
      `The path has no parameter \`${unknown}\`.`,
      'Put it into the path in braces, or leave it out.',
    )
  }
  // A parameter can complete an encoded "..".
  if (filled !== path) checkPath(filled)
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
export function checkSignal(_: string, signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal === null) return undefined
  if (
    isObject(signal) &&
    typeof signal.aborted === 'boolean' &&
    typeof signal.addEventListener === 'function' &&
    typeof signal.removeEventListener === 'function'
  )
    return signal as unknown as AbortSignal
  throw mustBe('an AbortSignal', 'signal', signal, 'Pass the `signal` of an AbortController, not the controller.')
}

/** Returns a copy of a value for a schema of the caller, which can expect a Date or a Map. */
function copyValue<Value>(name: string, value: Value): Value {
  try {
    return structuredClone(value)
  } catch (thrown) {
    throw noJson(name, thrown instanceof RangeError ? 'is nested too deeply' : 'contains a value that cannot be copied')
  }
}

type OrPromise<Value> = Value | Promise<Value>

/** Validates the query without the cursors, which a custom schema might reject. */
function checkQuery(schema: StandardSchemaV1, { operation, query }: PreparedCall): OrPromise<JsonObject> {
  const isList = operation.envelope === 'list'
  const { after, before, ...filters } = query
  return validateInput(schema, isList ? filters : query, 'query', (checked) => {
    if (isObject(checked)) return { ...checked, ...(isList && { after, before }) }
    throw new InvalidArgumentError(
      'query',
      'The `query` schema did not return an object.',
      'Return the query parameters by name.',
    )
  })
}

/** Validates the body. Returns it as JSON text. Only a schema of the caller transforms the body. */
function checkBody(schema: StandardSchemaV1, operation: Operation, body: unknown): OrPromise<string | undefined> {
  if (isCustom(operation)) {
    return validateInput(schema, copyValue('body', body), 'body', (checked) => toJson('body', checked))
  }
  const text = toJson('body', body)
  return validateInput(schema, text && JSON.parse(text), 'body', () => text)
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
  return JSON.stringify({ ...given, ...extra })
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
