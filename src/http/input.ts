import { type Check, checkNames, checkObject, mustBe, readOptions } from '../check-options.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import { isObject, isPlainObject, type JsonObject, noJson, toJson } from '../json.ts'
import { checkPath, type Operation, type OperationInput } from '../operation.ts'
import type { WebAbortSignal } from '../web-types.ts'
import { checkHeaders } from './headers.ts'
import type { CallOptions } from './options.ts'
import { type CallSettings, checkPositive, checkRetries } from './settings.ts'

/** A call with copies of its arguments, which the caller cannot change. */
export interface CapturedCall {
  readonly operation: Operation
  /** Whether the caller defined the operation. Its schemas may transform what they check. */
  readonly isOwn: boolean
  /** The path with the values of its parameters. */
  readonly path: string
  readonly query: JsonObject
  /** JSON text, or a copy of the value if the caller has a schema for it. */
  readonly body: unknown
  readonly extraQuery: JsonObject
  /** A JSON object. */
  readonly extraBody: JsonObject | undefined
  readonly signal: WebAbortSignal | undefined
  readonly settings: CallSettings
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

const plain = 'Pass an object literal, or leave it out.'

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
  checkObject('input', input, plain)
  checkNames(input, inputNames, 'the input of a call')
  checkPlain('options', options)
  const { signal, extraQuery = {}, extraBody, headers, ...settings } = readOptions(options, callChecks, 'a call')
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
    query: isOwn && operation.query ? copyQuery('query', query) : copyParameters('query', query),
    body: isOwn && operation.body ? copyValue('body', body) : toJson('body', body),
    extraQuery,
    extraBody,
    signal,
    settings: {
      timeout: settings.timeout ?? defaults.timeout,
      totalTimeout: settings.totalTimeout ?? defaults.totalTimeout,
      maxRetries: settings.maxRetries ?? defaults.maxRetries,
      headers: headers === undefined ? defaults.headers : [...defaults.headers, headers],
    },
  }
}

/** Copies a query for the caller's schema. */
export function copyQuery(name: string, query: object): JsonObject {
  return copyValue(name, checkPlain(name, query)) as JsonObject
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

function checkPlain(name: string, value: unknown): JsonObject {
  if (isPlainObject(value)) return value
  throw mustBe('a plain object', name, value, plain)
}

/**
 * Returns a copy of a value for the caller's schema, which may expect a Date or a Map.
 *
 * @param name the name of the argument
 * @throws InvalidArgumentError if it contains something that cannot be copied, such as a function.
 */
export function copyValue(name: string, value: unknown): unknown {
  try {
    return structuredClone(value)
  } catch (thrown) {
    throw noJson(name, thrown instanceof RangeError ? 'is nested too deeply' : 'contains a value that cannot be copied')
  }
}
