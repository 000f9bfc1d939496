import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Log } from './logging.ts'
import type { Operation } from './operation.ts'

/** A schema of this package for a body. It knows the documented fields once it has validated, unless none are documented. */
export interface BodySchema extends StandardSchemaV1 {
  readonly documentedNames?: () => readonly string[] | undefined
}

const listNames = ['limit', 'after', 'before']

/** What was warned of. Bounded, because names can be data. */
const warned = new Set<string>()
const mostWarnings = 100

/** Warns of query parameters and body fields that no document has, once for each: the service most likely ignores them. */
export function warnOfUndocumented(
  { id, envelope, body }: Operation,
  argument: 'query' | 'body',
  given: unknown,
  warn: Log | undefined,
): void {
  const known =
    argument === 'body' ? (body as BodySchema | undefined)?.documentedNames?.() : envelope === 'list' ? listNames : []
  if (known === undefined || warn === undefined) return
  for (const name of Object.keys(given ?? {})) {
    const what = `${id}: \`${name.slice(0, 40)}\` in the ${argument}`
    if (known.includes(name) || warned.size >= mostWarnings || warned.has(what)) continue
    warned.add(what)
    const extra = argument === 'query' ? 'extraQuery' : 'extraBody'
    warn('warn', `${what} is not documented, and the service may ignore it. Pass it in \`${extra}\` if it does not.`)
  }
}
