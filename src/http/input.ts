import { type Check, checkNames, checkObject, optional, orElse, readOptions } from '../check-options.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import { classNameOf, isObject, isPlainObject, type JsonObject } from '../json.ts'
import { checkPath, type Operation, type OperationInput } from '../operation.ts'
import type { WebAbortSignal } from '../web-types.ts'
import type { CallOptions } from './options.ts'
import { type CallSettings, checkHeaders, checkPositive, checkRetries } from './settings.ts'

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
  /** JSON text. */
  readonly extraBody: string | undefined
  readonly signal: WebAbortSignal | undefined
  readonly settings: CallSettings
}

const inputNames = { path: true, query: true, body: true } satisfies Record<keyof OperationInput, true>

export const callChecks = {
  signal: checkSignal,
  timeout: optional(checkPositive),
  totalTimeout: optional(checkPositive),
  maxRetries: optional(checkRetries),
  headers: optional(checkHeaders),
  extraQuery: orElse({}, copyParameters),
  extraBody: optional((name, value) => toJson(name, checkPlain(name, value))),
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
  const { signal, extraQuery, extraBody, headers, ...settings } = readOptions(options, callChecks, 'a call')
  const { body, path = {}, query = {} } = input
  const given = body === undefined ? extraBody && 'extraBody' : 'body'
  if (operation.method === 'GET' && given !== undefined) {
    throw new InvalidArgumentError(
      given,
      `\`${given}\` cannot be sent with ${operation.id}, which is a GET.`,
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
      headers: headers === undefined ? defaults.headers : { ...defaults.headers, ...headers },
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

function fillPath({ id, path }: Operation, parameters: JsonObject): string {
  const filled = path.replace(/\{([^}]+)\}/g, (_, name: string) => encodeSegment(name, parameters[name]))
  const unknown = Object.keys(parameters).find((name) => !path.includes(`{${name}}`))
  if (unknown !== undefined) {
    throw new InvalidArgumentError(
      unknown,
      `The path of ${id} has no parameter \`${unknown}\`.`,
      'Put it into the path in braces, or leave it out.',
    )
  }
  // A parameter can complete an encoded "..".
  if (filled !== path) checkPath({ id, path: filled as Operation['path'] })
  return filled
}

function encodeSegment(name: string, value: unknown): string {
  // "." and ".." would change the path: URL parsers resolve them even when percent-encoded.
  if (typeof value === 'string' && value !== '' && value !== '.' && value !== '..' && value.isWellFormed()) {
    return encodeURIComponent(value)
  }
  throw new InvalidArgumentError(
    name,
    `The path parameter \`${name}\` is not a valid id.`,
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
  throw new InvalidArgumentError(
    'signal',
    '`signal` must be an AbortSignal.',
    'Pass the `signal` of an AbortController, not the controller.',
  )
}

function checkPlain(name: string, value: unknown): JsonObject {
  if (isPlainObject(value)) return value
  throw new InvalidArgumentError(name, `\`${name}\` must be a plain object.`, plain)
}

/**
 * Returns a value as JSON text, or undefined for undefined. The text is a snapshot that the caller cannot change.
 *
 * @param name the name of the argument
 * @throws InvalidArgumentError if the value contains something that JSON cannot represent. It never quotes the value.
 */
export function toJson(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined
  const paths = new Map<object, string>()
  let text: string | undefined
  try {
    text = JSON.stringify(value, function (this: object, key: string, found: unknown) {
      // The object that a `toJSON` returned may have a `toJSON` too.
      if (key === 'toJSON' && typeof found === 'function') return undefined
      const kind = isInvalidDate(found, key, this) ? 'an invalid Date' : unfitKind(found)
      const isContainer = typeof found === 'object' && found !== null
      if (kind === undefined && !isContainer) return found
      const holder = paths.get(this)
      const path = holder === undefined ? name : `${holder}.${key}`
      if (kind !== undefined) throw refused(path, `is ${kind}, which cannot be sent as JSON`)
      paths.set(found as object, path)
      return found
    })
  } catch (thrown) {
    throw thrown instanceof InvalidArgumentError ? thrown : refused(name, problemOf(thrown))
  }
  if (text === undefined)
    throw refused(name, 'is a value whose `toJSON` returns undefined, which cannot be sent as JSON')
  return text
}

/** Returns the kind of a value that JSON cannot represent. */
function unfitKind(value: unknown): string | undefined {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? undefined : 'not a finite number'
    case 'bigint':
    case 'function':
    case 'symbol':
      return `a ${typeof value}`
    case 'object':
      return value === null || Array.isArray(value) ? undefined : classNameOf(value)
  }
  return undefined
}

/** The `toJSON` of an invalid Date returns null. */
function isInvalidDate(found: unknown, key: string, holder: object): boolean {
  return found === null && Reflect.get(holder, key) instanceof Date
}

/** Returns what is wrong with a value that `JSON.stringify` cannot read, whose getters or `toJSON` may quote a value. */
function problemOf(thrown: unknown): string {
  if (thrown instanceof RangeError) return 'is nested too deeply'
  return thrown instanceof TypeError && /circular|cyclic/i.test(thrown.message)
    ? 'contains a reference to itself'
    : 'cannot be read'
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
    throw refused(
      name,
      thrown instanceof RangeError ? 'is nested too deeply' : 'contains a value that cannot be copied',
    )
  }
}

function refused(name: string, problem: string): InvalidArgumentError {
  return new InvalidArgumentError(
    name,
    `\`${name}\` ${problem}.`,
    'Convert it to plain objects and arrays of strings, finite numbers, booleans and null.',
  )
}
