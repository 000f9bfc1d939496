import type { StandardSchemaV1 } from '@standard-schema/spec'
import { NotLoadedError } from './errors/index.ts'
import type { all } from './schemas/schemas.ts'

export type { Schema } from './schemas/schema-for.ts'

type Schemas = typeof all

let loaded: Schemas | undefined

/**
 * Returns a schema that is loaded when one first validates: the first validation is asynchronous, later ones are
 * synchronous. Most reads need no schema, and a login needs none. Values are returned as they are.
 */
export function lazySchema<Name extends keyof Schemas>(name: Name): Schemas[Name] {
  const check = (schemas: Schemas, value: unknown): StandardSchemaV1.Result<unknown> => {
    const { issues } = schemas[name]['~standard'].validate(value) as StandardSchemaV1.Result<unknown>
    return issues === undefined ? { value } : { issues }
  }
  const validate = (value: unknown) =>
    loaded === undefined ? load().then((schemas) => check(schemas, value)) : check(loaded, value)
  return { '~standard': { version: 1, vendor: 'support-workspace-sdk', validate } } as Schemas[Name]
}

async function load(): Promise<Schemas> {
  try {
    loaded = (await import('./schemas/schemas.ts')).all
    return loaded
  } catch (cause) {
    throw new NotLoadedError('The schemas', cause)
  }
}

/**
 * Standard Schemas of the models, for your own validation or for `defineOperation`. Unknown fields are accepted. Any
 * field except `id` can be null or absent. The first validation is asynchronous, because it loads the schemas.
 *
 * @example
 * const result = await schemas.contact['~standard'].validate(JSON.parse('{ "id": "cnt_1", "blocked": "no" }'))
 * console.log(result.issues?.length) // 1
 */
export const schemas = {
  me: lazySchema('me'),
  conversation: lazySchema('conversation'),
  conversationAssignee: lazySchema('conversationAssignee'),
  message: lazySchema('message'),
  contact: lazySchema('contact'),
  member: lazySchema('member'),
  organization: lazySchema('organization'),
  organizationSettings: lazySchema('organizationSettings'),
  task: lazySchema('task'),
  segment: lazySchema('segment'),
  user: lazySchema('user'),
} as const
