import type { RecordedRequest } from '../request-log.ts'
import { isPlainObject } from '../schema.ts'

const mostNames = 20
const longestName = 100

/**
 * Returns the names of query parameters and of body fields that an operation does not read: up to 20, shortened to 100
 * characters, and never a value.
 *
 * @param parameters the query parameters that it reads
 * @param fields the fields of the body that it reads; `undefined` if it reads any
 */
export function ignoredNames(
  { query, body }: Pick<RecordedRequest, 'query' | 'body'>,
  parameters: readonly string[],
  fields: object | undefined,
): string[] {
  const ofQuery = Object.keys(query).filter((name) => !parameters.includes(name))
  const ofBody = isPlainObject(body) && fields ? Object.keys(body).filter((name) => !Object.hasOwn(fields, name)) : []
  return [...ofQuery, ...ofBody].slice(0, mostNames).map((name) => name.slice(0, longestName))
}
