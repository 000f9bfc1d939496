import type { StandardSchemaV1 } from '@standard-schema/spec'
import { InvalidArgumentError } from '../errors/index.ts'
import type { Operation } from '../operation.ts'
import { kindOf } from './envelope.ts'
import { notify } from './hooks.ts'
import { UnusableResponse } from './response.ts'

/**
 * What to do with a response that does not match its schema:
 *
 * - `observe`: the data is returned as sent, and `onDrift` is called for each mismatch.
 * - `strict`: the call rejects with `UnexpectedResponseError`.
 * - `off`: the schema is not checked. The envelope (`data`, `page_metadata`) always is.
 *
 * Applies to built-in operations. Operations that you define always return the output of their `response` schema, or
 * reject.
 */
export type ValidationMode = 'observe' | 'strict' | 'off'

/** A mismatch between a response and its schema. Contains types, never values. */
export interface Drift {
  /** The id of the operation. */
  readonly operation: string
  /** The path of the field within an item, with `*` for an index. Empty for the item itself. */
  readonly path: readonly string[]
  /** The expected type, for example `string`, or `unknown` if the schema does not report it. */
  readonly expected: string
  /**
   * The received type: `string`, `number`, `boolean`, `object`, `array`, `null` or `missing`. The first one, if they
   * differ.
   */
  readonly received: string
  /** Number of mismatches of the field in this response, usually one per item of a list. */
  readonly count: number
}

/** How a client checks responses. */
interface ValidationSettings {
  readonly validation: ValidationMode
  readonly onDrift: ((drift: Drift) => void) | undefined
}

/** A mismatch of a single value. */
export interface Mismatch extends Omit<Drift, 'path' | 'count'> {
  readonly path: readonly (string | number)[]
}

/** Returns the output of the schema, or the mismatches. */
export async function validate(
  schema: StandardSchemaV1,
  value: unknown,
  operation: string,
): Promise<{ readonly value: unknown } | { readonly mismatches: readonly Mismatch[] }> {
  try {
    const validated = schema['~standard'].validate(value)
    const result = 'then' in validated ? await validated : validated
    if (result.issues === undefined) return { value: result.value }
    const issues = result.issues.length > 0 ? result.issues : [{ message: '' }]
    return { mismatches: issues.map((issue) => toMismatch(issue, value, operation)) }
  } catch {
    // A custom schema may throw.
    return { mismatches: [toMismatch({ message: '' }, value, operation)] }
  }
}

/** Returns the output of the schema. Throws an `InvalidArgumentError` that names the first invalid field. */
export async function validateInput(
  schema: StandardSchemaV1,
  value: unknown,
  operation: Operation,
  argument: 'body' | 'query',
): Promise<unknown> {
  const result = await validate(schema, value, operation.id)
  if ('value' in result) return result.value
  const [mismatch] = result.mismatches
  const field = [argument, ...(mismatch?.path ?? [])].join('.')
  throw new InvalidArgumentError(
    field,
    `\`${field}\` of ${operation.id} is invalid: expected ${mismatch?.expected}, received ${mismatch?.received}.`,
    `Pass the ${argument} as the operation documents it.`,
  )
}

function toMismatch(issue: StandardSchemaV1.Issue, root: unknown, operation: string): Mismatch {
  const path = (issue.path ?? []).map((segment) => {
    const key = typeof segment === 'object' ? segment.key : segment
    return typeof key === 'symbol' ? String(key) : key
  })
  let value: unknown = root
  for (const key of path) value = (value as Record<string | number, unknown> | null | undefined)?.[key]
  return { operation, path, expected: expectedKind(issue), received: kindOf(value) }
}

/** Returns the expected type, which schema libraries add to the issue. Anything unknown could quote the payload. */
function expectedKind(issue: StandardSchemaV1.Issue): string {
  const { expected } = issue as { expected?: unknown }
  const kind = typeof expected === 'string' ? expected.toLowerCase() : ''
  return kinds.has(kind) ? kind : 'unknown'
}

const kinds = new Set(
  'string number int integer bigint boolean object record array tuple set map date null undefined'.split(' '),
)

/**
 * Validates the data of a response with the schema of its operation, depending on the validation mode of the client.
 * Returns the data, or throws `UnusableResponse`.
 */
export async function validateResponse(
  operation: Operation,
  data: unknown,
  settings: ValidationSettings,
): Promise<unknown> {
  const schema = operation.response
  if (schema === undefined || operation.envelope === 'none' || !isWanted(operation, settings)) return data
  const mismatches: Mismatch[] = []
  const checked =
    operation.envelope === 'list'
      ? await Promise.all((data as unknown[]).map((item) => check(operation, schema, item, mismatches)))
      : await check(operation, schema, data, mismatches)
  const [first] = mismatches
  // The result type of a custom operation is the output of its schema, in every mode.
  if (first !== undefined && (settings.validation === 'strict' || isOwn(operation))) {
    const where = first.path.length === 0 ? 'the body' : `\`${first.path.join('.')}\``
    throw new UnusableResponse('schema', `expected ${first.expected} in ${where}, received ${first.received}`)
  }
  for (const drift of toDrifts(mismatches)) notify(() => settings.onDrift?.(drift))
  return checked
}

/** Whether to validate. Observing without `onDrift` would be wasted. */
function isWanted(operation: Operation, { validation, onDrift }: ValidationSettings): boolean {
  if (isOwn(operation)) return true
  return validation === 'strict' || (validation === 'observe' && onDrift !== undefined)
}

function isOwn({ evidence }: Operation): boolean {
  return evidence === undefined
}

async function check(
  operation: Operation,
  schema: StandardSchemaV1,
  value: unknown,
  mismatches: Mismatch[],
): Promise<unknown> {
  const result = await validate(schema, value, operation.id)
  if ('mismatches' in result) {
    mismatches.push(...result.mismatches)
    return value
  }
  // Only custom schemas transform the data.
  return isOwn(operation) ? result.value : value
}

/** Returns one drift per field, with the number of mismatches. */
function toDrifts(mismatches: readonly Mismatch[]): Drift[] {
  const drifts = new Map<string, Drift>()
  for (const mismatch of mismatches) {
    const path = mismatch.path.map((key) => (typeof key === 'number' ? '*' : key))
    const name = JSON.stringify(path)
    const count = (drifts.get(name)?.count ?? 0) + 1
    drifts.set(name, { ...(drifts.get(name) ?? mismatch), path, count })
  }
  return [...drifts.values()]
}
