import type { all } from './schemas/schemas.ts'
import type { validate } from './schemas/validate.ts'

export type { Schema } from './schemas/schema-for.ts'

type Schemas = typeof all

let loaded: typeof validate | undefined

/**
 * Returns a schema that is loaded when one first validates: the first validation is asynchronous, later ones are
 * synchronous. Most reads need no schema, and a login needs none. Values are returned as they are.
 */
export function lazySchema<Name extends keyof Schemas>(name: Name): Schemas[Name] {
  const validate = (value: unknown) =>
    loaded === undefined ? load().then((check) => check(name, value)) : loaded(name, value)
  return { '~standard': { version: 1, vendor: 'support-workspace-sdk', validate } } as Schemas[Name]
}

async function load(): Promise<typeof validate> {
  loaded = (await import('./schemas/validate.ts')).validate
  return loaded
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
