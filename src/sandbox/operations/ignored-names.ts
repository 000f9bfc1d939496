import { isPlainObject } from '../../shared/json.ts'
import type { RecordedRequest } from '../request-log.ts'

const mostNames = 20
const longestName = 100

/**
 * Returns the names of query parameters and body fields that an operation ignores. Returns up to 20 names, shortened to
 * 100 characters, and leaves their values out.
 *
 * @param parameters the query parameters that the operation reads
 * @param fields the body fields that the operation reads; `undefined` if it reads any field
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
