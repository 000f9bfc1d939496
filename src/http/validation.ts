import type { StandardSchemaV1 } from '@standard-schema/spec'
import { InvalidArgumentError } from '../errors/index.ts'
import type { Operation } from '../operation.ts'
import { kindOf } from './envelope.ts'

/**
 * What is done with an answer that differs from its schema:
 *
 * - `observe`: it comes back as it was sent, and `onDrift` hears of the difference.
 * - `strict`: the call throws `UnexpectedResponseError`.
 * - `off`: nothing is looked at. The envelope (`data`, `page_metadata`) is checked all the same.
 */
export type ValidationMode = 'observe' | 'strict' | 'off'

/** One difference between an answer and its schema. Kinds only, never a value. */
export interface Drift {
  /** The operation's id. */
  readonly operation: string
  /** Where in the item: field names and indexes. */
  readonly path: readonly (string | number)[]
  /** The kind that the schema expects, for example `string`; `unknown` when the schema does not say. */
  readonly expected: string
  /** The kind that came: `string`, `number`, `boolean`, `object`, `array`, `null` or `missing`. */
  readonly received: string
}

/** The value as its schema gives it, or the differences. */
export async function validate(
  schema: StandardSchemaV1,
  value: unknown,
  operation: string,
): Promise<{ readonly value: unknown } | { readonly drifts: readonly Drift[] }> {
  try {
    const validated = schema['~standard'].validate(value)
    const result = validated instanceof Promise ? await validated : validated
    if (result.issues === undefined) return { value: result.value }
    return { drifts: result.issues.map((issue) => toDrift(issue, value, operation)) }
  } catch {
    // A schema of the caller's own met what it was not made for.
    return { drifts: [toDrift({ message: '' }, value, operation)] }
  }
}

/** The value as its schema gives it. Throws an `InvalidArgumentError` that names the first field that does not fit. */
export async function validateInput(
  schema: StandardSchemaV1,
  value: unknown,
  operation: Operation,
  argument: 'body' | 'query',
): Promise<unknown> {
  const result = await validate(schema, value, operation.id)
  if ('value' in result) return result.value
  const [drift] = result.drifts
  const field = [argument, ...(drift?.path ?? [])].join('.')
  throw new InvalidArgumentError(
    field,
    `\`${field}\` of ${operation.id} does not fit: expected ${drift?.expected}, got ${drift?.received}.`,
    `Pass the ${argument} as the operation documents it.`,
  )
}

function toDrift(issue: StandardSchemaV1.Issue, root: unknown, operation: string): Drift {
  const path = (issue.path ?? []).map((segment) => {
    const key = typeof segment === 'object' ? segment.key : segment
    return typeof key === 'symbol' ? String(key) : key
  })
  let value: unknown = root
  for (const key of path) value = (value as Record<string | number, unknown> | null | undefined)?.[key]
  return { operation, path, expected: expectedKind(issue), received: kindOf(value) }
}

/** Schema libraries put the expected kind on the issue. Anything but one plain word could quote the payload. */
function expectedKind(issue: StandardSchemaV1.Issue): string {
  const { expected } = issue as { expected?: unknown }
  return typeof expected === 'string' && /^[a-z]+$/i.test(expected) ? expected.toLowerCase() : 'unknown'
}
