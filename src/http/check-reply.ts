import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Operation } from '../operation.ts'
import type { AttemptResult } from './attempt-result.ts'
import { unexpectedFailure } from './failure.ts'
import { watch } from './hooks.ts'
import type { Settings } from './settings.ts'
import { type Drift, type Mismatch, validate } from './validation.ts'

/** Checks a response against the operation's schema, as the client's validation mode says. */
export async function checkReply(
  operation: Operation,
  success: Extract<AttemptResult, { success: unknown }>['success'],
  settings: Settings,
): Promise<AttemptResult> {
  const schema = operation.response
  if (schema === undefined || operation.answer === 'none' || !isWanted(operation, settings)) return { success }
  const mismatches: Mismatch[] = []
  const data =
    operation.answer === 'list'
      ? await Promise.all((success.data as unknown[]).map((item) => check(operation, schema, item, mismatches)))
      : await check(operation, schema, success.data, mismatches)
  const [first] = mismatches
  // The type of an operation of the caller's own says that its schema has been applied, whatever the mode is.
  if (first !== undefined && (settings.validation === 'strict' || isOwn(operation))) {
    const where = first.path.length === 0 ? 'the body' : `\`${first.path.join('.')}\``
    const what = `${where} should be ${first.expected} and is ${first.received}`
    return { failure: unexpectedFailure(operation, success.response, 'schema', what) }
  }
  for (const drift of toDrifts(mismatches)) watch(() => settings.onDrift?.(drift))
  return { success: { ...success, data } }
}

/** Observing is wasted when nobody listens. */
function isWanted(operation: Operation, { validation, onDrift }: Settings): boolean {
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
  // The built-in schemas only look. A schema of the caller's own may transform.
  return isOwn(operation) ? result.value : value
}

/** One drift for each field that differs, however many items it differs in. */
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
