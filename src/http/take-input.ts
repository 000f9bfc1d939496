import { InvalidArgumentError } from '../errors/index.ts'
import { isObject, type JsonObject } from '../json.ts'
import type { Operation, OperationInput, QueryValue } from '../operation.ts'
import { isPlainObject, takeJson } from './copy-json.ts'
import type { CallOptions } from './options.ts'
import { validateInput } from './validation.ts'

type Options = Pick<CallOptions, 'signal' | 'extraQuery' | 'extraBody'>

/** The arguments of a call as they were when it was made: copies that the caller cannot change. */
export interface TakenInput {
  readonly path: Readonly<Record<string, string>>
  readonly query: JsonObject
  readonly body: unknown
  readonly extraQuery: Readonly<Record<string, QueryValue>>
  readonly extraBody: JsonObject | undefined
}

/** What goes into the request. */
export interface CheckedInput {
  readonly path: Readonly<Record<string, string>>
  readonly query: JsonObject
  /** The body as JSON; undefined when there is none. */
  readonly body: string | undefined
}

/**
 * Copies the arguments of a call. Must run before anything is awaited.
 *
 * @throws InvalidArgumentError when an argument cannot be sent.
 */
export function takeInput(operation: Operation, input: OperationInput, options: Options = {}): TakenInput {
  checkObject('input', input)
  checkObject('options', options)
  checkSignal(options.signal)
  const body = takeJson(input.body, ['body'])
  const extraBody = options.extraBody === undefined ? undefined : takeExtraBody(options.extraBody)
  if (operation.method === 'GET' && (body !== undefined || extraBody !== undefined)) {
    const argument = body === undefined ? 'extraBody' : 'body'
    throw new InvalidArgumentError(
      argument,
      `\`${argument}\` cannot be sent with ${operation.id}, which is a GET.`,
      'Pass the parameters in the query.',
    )
  }
  return {
    path: takeFields('path', input.path) as TakenInput['path'],
    query: takeFields('query', input.query),
    body,
    extraQuery: takeFields('extraQuery', options.extraQuery) as TakenInput['extraQuery'],
    extraBody,
  }
}

/** Checks the arguments against the operation's schemas and adds the undocumented ones. */
export async function checkInput(operation: Operation, taken: TakenInput): Promise<CheckedInput> {
  const query = await checkQuery(operation, taken.query)
  const body = addToBody(await checkBody(operation, taken.body), taken.extraBody)
  return {
    path: taken.path,
    query: add('extraQuery', query, taken.extraQuery),
    body: body === undefined ? undefined : JSON.stringify(body),
  }
}

/** The query as its schema returns it. The cursors belong to the SDK: a caller's schema need not know them. */
async function checkQuery(operation: Operation, query: JsonObject): Promise<JsonObject> {
  if (operation.query === undefined) return query
  const isList = operation.answer === 'list'
  const { after, before, ...parameters } = query
  const checked = await validateInput(operation.query, isList ? parameters : query, operation, 'query')
  return { ...(checked as JsonObject), ...(isList && { after, before }) }
}

/** The body as its schema returns it. The built-in schemas only check. */
async function checkBody(operation: Operation, body: unknown): Promise<unknown> {
  if (operation.body === undefined) return body
  const checked = await validateInput(operation.body, body, operation, 'body')
  return operation.evidence === undefined ? takeJson(checked, ['body']) : body
}

function addToBody(body: unknown, extra: JsonObject | undefined): unknown {
  if (extra === undefined || body === undefined) return body ?? extra
  if (isPlainObject(body)) return add('extraBody', body, extra)
  throw new InvalidArgumentError(
    'extraBody',
    '`extraBody` can only be added to a body that is an object.',
    'Put its fields into the body.',
  )
}

function add(argument: 'extraQuery' | 'extraBody', given: JsonObject, extra: JsonObject): JsonObject {
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

function takeExtraBody(extraBody: unknown): JsonObject {
  checkPlain('extraBody', extraBody)
  return takeJson(extraBody, ['extraBody']) as JsonObject
}

/** The own fields. What a URL cannot carry is refused when the URL is built. */
function takeFields(argument: string, fields: unknown = {}): JsonObject {
  checkPlain(argument, fields)
  return Object.fromEntries(
    Object.entries(fields as object).map(([name, value]: [string, unknown]) => [
      name,
      typeof value === 'object' ? takeJson(value, [argument, name]) : value,
    ]),
  )
}

function checkSignal(signal: unknown): void {
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
