import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Operation } from '../operation.ts'
import type { AttemptResult } from './attempt-result.ts'
import { unexpectedFailure } from './failure.ts'
import { watch } from './hooks.ts'
import type { Settings } from './settings.ts'
import { type Drift, validate } from './validation.ts'

/** Holds an answer against the operation's schema, as the client's validation mode says. */
export async function checkReply(
  operation: Operation,
  success: Extract<AttemptResult, { success: unknown }>['success'],
  settings: Settings,
): Promise<AttemptResult> {
  const schema = operation.response
  if (schema === undefined || operation.answer === 'none' || !isWanted(operation, settings)) return { success }
  const drifts: Drift[] = []
  const data =
    operation.answer === 'list'
      ? await Promise.all(
          (success.data as unknown[]).map((item, index) => check(operation, schema, item, [index], drifts)),
        )
      : await check(operation, schema, success.data, [], drifts)
  const [first] = drifts
  if (first !== undefined && settings.validation === 'strict') {
    const where = first.path.length === 0 ? 'the body' : `\`${first.path.join('.')}\``
    const what = `${where} should be ${first.expected} and is ${first.received}`
    return { failure: unexpectedFailure(operation, success.response, 'schema', what) }
  }
  for (const drift of drifts) watch(() => settings.onDrift?.(drift))
  return { success: { ...success, data } }
}

/** Observing is work for nothing when nobody listens, unless the schema is the caller's own and may give another value. */
function isWanted(operation: Operation, { validation, onDrift }: Settings): boolean {
  if (validation === 'off') return false
  return validation === 'strict' || onDrift !== undefined || operation.evidence === undefined
}

async function check(
  operation: Operation,
  schema: StandardSchemaV1,
  value: unknown,
  at: number[],
  drifts: Drift[],
): Promise<unknown> {
  const result = await validate(schema, value, operation.id)
  if ('drifts' in result) {
    drifts.push(...result.drifts.map((drift) => ({ ...drift, path: [...at, ...drift.path] })))
    return value
  }
  // The built-in schemas only look. A schema of the caller's own may transform, and its type says what it gives.
  return operation.evidence === undefined ? result.value : value
}
