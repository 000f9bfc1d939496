import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Operation } from './operation.ts'

/** A schema of this package for a body. After its first validation it knows the documented fields, if there are any. */
export interface BodySchema extends StandardSchemaV1 {
  readonly documentedNames?: () => readonly string[] | undefined
}

/** Warns once of each thing. */
export type Warn = (message: string) => void

const listNames = ['limit', 'after', 'before']

/** Warns of query parameters and body fields that no document has: the service most likely ignores them. */
export function warnOfUndocumented(
  { id, envelope, body }: Operation,
  argument: 'query' | 'body',
  given: unknown,
  warn: Warn,
): void {
  const known =
    argument === 'body' ? (body as BodySchema | undefined)?.documentedNames?.() : envelope === 'list' ? listNames : []
  if (known === undefined) return
  for (const name of Object.keys(given ?? {})) {
    if (known.includes(name)) continue
    const what = `${id}: \`${name.slice(0, 40)}\` in the ${argument}`
    const extra = argument === 'query' ? 'extraQuery' : 'extraBody'
    warn(`${what} is not documented, and the service may ignore it. Pass it in \`${extra}\` if it does not.`)
  }
}
