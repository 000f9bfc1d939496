import { checkNames } from '../check-options.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import { isObject, type JsonObject } from '../json.ts'
import type { Operation, OperationInput, QueryValue } from '../operation.ts'
import { copyJson, isPlainObject } from './copy-json.ts'
import type { CallOptions } from './options.ts'

type Options = Pick<CallOptions, 'signal' | 'extraQuery' | 'extraBody'>

/** Copies of the arguments of a call, which the caller cannot change. */
export interface CapturedInput {
  readonly path: Readonly<Record<string, string>>
  readonly query: JsonObject
  readonly body: unknown
  readonly extraQuery: Readonly<Record<string, QueryValue>>
  readonly extraBody: JsonObject | undefined
}

const inputNames = { path: true, query: true, body: true } satisfies Record<keyof OperationInput, true>

/**
 * Copies the arguments of a call. Must run before the first await.
 *
 * @throws InvalidArgumentError if an argument cannot be sent.
 */
export function captureInput(operation: Operation, input: OperationInput, options: Options = {}): CapturedInput {
  checkObject('input', input)
  checkNames(input, inputNames, 'the input of a call')
  checkObject('options', options)
  checkSignal(options.signal)
  const body = copyJson(input.body, ['body'])
  const extraBody = options.extraBody === undefined ? undefined : copyExtraBody(options.extraBody)
  if (operation.method === 'GET' && (body !== undefined || extraBody !== undefined)) {
    const argument = body === undefined ? 'extraBody' : 'body'
    throw new InvalidArgumentError(
      argument,
      `\`${argument}\` cannot be sent with ${operation.id}, which is a GET.`,
      'Pass the parameters in the query.',
    )
  }
  return {
    path: copyFields('path', input.path) as CapturedInput['path'],
    query: copyFields('query', input.query),
    body,
    extraQuery: copyFields('extraQuery', options.extraQuery) as CapturedInput['extraQuery'],
    extraBody,
  }
}

function copyExtraBody(extraBody: unknown): JsonObject {
  checkPlain('extraBody', extraBody)
  return copyJson(extraBody, ['extraBody']) as JsonObject
}

/** Copies own fields. Values that a URL cannot represent are rejected when the URL is built. */
export function copyFields(argument: string, fields: unknown = {}): JsonObject {
  checkPlain(argument, fields)
  return Object.fromEntries(
    Object.entries(fields as object).map(([name, value]: [string, unknown]) => [
      name,
      typeof value === 'object' ? copyJson(value, [argument, name]) : value,
    ]),
  )
}

/** Checks an optional AbortSignal, possibly of another realm or package. */
export function checkSignal(signal: unknown): void {
  if (signal === undefined || signal === null) return
  if (
    isObject(signal) &&
    typeof signal.aborted === 'boolean' &&
    typeof signal.addEventListener === 'function' &&
    typeof signal.removeEventListener === 'function'
  )
    return
  throw new InvalidArgumentError(
    'signal',
    '`signal` must be an AbortSignal.',
    'Pass the `signal` of an AbortController, not the controller.',
  )
}

function checkPlain(argument: string, value: unknown): void {
  checkObject(argument, isPlainObject(value) ? value : undefined)
}

function checkObject(argument: string, value: unknown): void {
  if (isObject(value)) return
  throw new InvalidArgumentError(
    argument,
    `\`${argument}\` must be a plain object.`,
    'Pass an object literal, or leave it out.',
  )
}
