import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Operation } from './operation.ts'

/**
 * A schema of this package for a body. After the first validation, it knows the documented fields, if there are any.
 */
export interface BodySchema extends StandardSchemaV1 {
  readonly documentedNames?: () => readonly string[] | undefined
}

/** Logs a warning, once for each message. */
export type Warn = (message: string) => void

/** Only lists have a query. */
const queryNames = ['limit', 'after', 'before']

/** Warns of undocumented query parameters and body fields, because the service most likely ignores them. */
export function warnOfUndocumented(
  { id, body }: Operation,
  argument: 'query' | 'body',
  given: unknown,
  warn: Warn,
): void {
  const known = argument === 'query' ? queryNames : (body as BodySchema).documentedNames?.()
  if (known === undefined) return
  for (const name of Object.keys(given ?? {})) {
    if (known.includes(name)) continue
    const what = `${id}: \`${name.slice(0, 40)}\` in the ${argument}`
    const extra = argument === 'query' ? 'extraQuery' : 'extraBody'
    warn(`${what} is not documented, and the service may ignore it. Pass it in \`${extra}\` if it does not.`)
  }
}
