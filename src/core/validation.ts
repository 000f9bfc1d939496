import type { StandardSchemaV1 } from '@standard-schema/spec'
import { InvalidArgumentError } from '../errors/index.ts'
import { notify } from '../shared/notify.ts'
import { isCustom, type Operation } from './operation.ts'
import type { ClientOptions, Drift } from './options.ts'
import { jsonTypeOf, UnusableResponse } from './response.ts'

/** How a client checks responses. */
type ValidationSettings = Pick<ClientOptions, 'validation' | 'onDrift'>

/** A mismatch of a single value. */
interface Mismatch extends Pick<Drift, 'expected' | 'received'> {
  readonly path: readonly (string | number)[]
}

/** The output of a schema. Undefined if there are mismatches. */
interface Validated {
  readonly value: unknown
  readonly mismatches: readonly Mismatch[]
}

/** The part of an issue that is safe to read. Its message can quote the payload. */
type Issue = Pick<StandardSchemaV1.Issue, 'path'>

/**
 * Checks a value. If the schema is synchronous, so is the check, because a list checks each item. Throws or rejects
 * only if a schema of this package could not be loaded.
 */
function checkWithSchema(schema: StandardSchemaV1, value: unknown): Validated | Promise<Validated> {
  const conclude = (result: StandardSchemaV1.Result<unknown>): Validated => {
    if (result.issues === undefined) return { value: result.value, mismatches: [] }
    const issues = result.issues.length > 0 ? result.issues : [{}]
    return { value: undefined, mismatches: issues.map((issue) => toMismatch(issue, value)) }
  }
  // A custom schema can throw. A schema of this package, which only `lazySchema` makes, throws if it was not loaded.
  const fail = (thrown: unknown): Validated => {
    if (schema['~standard'].vendor === 'support-workspace-sdk') throw thrown
    return conclude({ issues: [] })
  }
  try {
    const result = schema['~standard'].validate(value)
    return 'then' in result ? Promise.resolve(result).then(conclude).catch(fail) : conclude(result)
  } catch (thrown) {
    return fail(thrown)
  }
}

/**
 * Passes the output of a schema on. Returns a promise if the schema is asynchronous.
 *
 * @throws InvalidArgumentError that names the first invalid field
 */
export function validateInput<Result>(
  schema: StandardSchemaV1,
  input: unknown,
  argument: 'body' | 'query',
  use: (output: unknown) => Result,
): Result | Promise<Result> {
  const conclude = ({ value, mismatches: [first] }: Validated): Result => {
    if (first === undefined) return use(value)
    const field = [argument, ...first.path].join('.')
    throw new InvalidArgumentError(
      field,
      `\`${field}\` is invalid: expected ${first.expected}, received ${first.received}.`,
      `Pass the ${argument} as the operation documents it.`,
    )
  }
  const checked = checkWithSchema(schema, input)
  return checked instanceof Promise ? checked.then(conclude) : conclude(checked)
}

function toMismatch(issue: Issue, root: unknown): Mismatch {
  const path = (issue.path ?? []).map((segment) => {
    const key = typeof segment === 'object' ? segment.key : segment
    return typeof key === 'symbol' ? String(key) : key
  })
  let value: unknown = root
  for (const key of path) value = (value as Record<string | number, unknown> | null | undefined)?.[key]
  return { path, expected: expectedKind(issue), received: jsonTypeOf(value) }
}

/**
 * Returns the expected type, which schema libraries add to the issue. Other texts are dropped, because they could quote
 * the payload.
 */
function expectedKind(issue: Issue): string {
  const { expected } = issue as { expected?: unknown }
  const kind = typeof expected === 'string' ? expected.toLowerCase() : ''
  return kinds.test(kind) ? kind : 'unknown'
}

const kinds = /^(string|number|int|integer|bigint|boolean|object|record|array|tuple|set|map|date|null|undefined)$/

/** Whether to validate the responses of an operation. Without `onDrift`, the `observe` mode skips the check. */
function isValidated(operation: Operation, { validation, onDrift }: ValidationSettings): boolean {
  if (operation.response === undefined || operation.envelope === 'none') return false
  if (isCustom(operation)) return true
  return validation === 'strict' || (validation === 'observe' && onDrift !== undefined)
}

/**
 * Validates the data of a response, depending on the validation mode of the client. Returns the data, or throws
 * `UnusableResponse`.
 */
export async function validateResponse(
  operation: Operation,
  data: unknown,
  settings: ValidationSettings,
): Promise<unknown> {
  if (!isValidated(operation, settings)) return data
  const { id, envelope, response } = operation
  // The result type of a custom operation is the output of its schema, in every mode.
  const outputs: unknown[] | undefined = isCustom(operation) ? [] : undefined
  const isFinal = settings.validation === 'strict' || outputs !== undefined
  const drifts = new Map<string, Drift>()
  let invalid = 0
  // The checks run one after the other, because the first can load the schemas, and a page might have millions of
  // items.
  for (const value of envelope === 'list' ? (data as unknown[]) : [data]) {
    let checked: Validated
    try {
      const result = checkWithSchema(response as StandardSchemaV1, value)
      checked = result instanceof Promise ? await result : result
    } catch {
      if (isFinal) throw new UnusableResponse('schema', 'the schemas of this package could not be loaded')
      return data
    }
    const [first] = checked.mismatches
    if (first !== undefined && isFinal) {
      const where = first.path.length === 0 ? 'the body' : `\`${first.path.join('.')}\``
      throw new UnusableResponse('schema', `expected ${first.expected} in ${where}, received ${first.received}`)
    }
    if (first !== undefined) invalid += 1
    if (invalid > mostInvalid) break
    countDrifts(drifts, id, checked.mismatches)
    outputs?.push(checked.value)
  }
  for (const drift of drifts.values()) notify(settings.onDrift, drift)
  if (outputs === undefined) return data
  return envelope === 'list' ? outputs : outputs[0]
}

/** Maximum number of invalid items to count, because more take long and add no information. */
const mostInvalid = 1_000

/** Adds mismatches to the drift of their field. */
function countDrifts(drifts: Map<string, Drift>, operation: string, mismatches: readonly Mismatch[]): void {
  for (const { expected, received, ...mismatch } of mismatches) {
    const path = mismatch.path.map((key) => (typeof key === 'number' ? '*' : key))
    const name = JSON.stringify(path)
    const drift = drifts.get(name) ?? { operation, path, expected, received, count: 0 }
    drifts.set(name, { ...drift, count: drift.count + 1 })
  }
}
