import type { all } from './schemas/schemas.ts'

type Loaded = typeof import('./schemas/validate.ts')

export type { Schema } from './schemas/schema-for.ts'

type Schemas = typeof all

let loaded: Loaded | undefined

/**
 * Returns a schema that loads the schemas when it first validates. The first validation is therefore asynchronous, and
 * later validations are synchronous. Lazy, because most reads and all logins work without schemas. Values are returned
 * unchanged.
 */
export function lazySchema<Name extends keyof Schemas>(name: Name): Schemas[Name] {
  const validate = (value: unknown) =>
    loaded === undefined ? load().then((module) => module.validate(name, value)) : loaded.validate(name, value)
  return { '~standard': { version: 1, vendor: 'support-workspace-sdk', validate } } as Schemas[Name]
}

/** Returns the schema of a body, which knows the names of its documented fields. */
export function lazyBodySchema<Name extends keyof Schemas>(name: Name): Schemas[Name] {
  return { ...lazySchema(name), documentedNames: () => loaded?.documentedNames(name) }
}

async function load(): Promise<Loaded> {
  loaded = await import('./schemas/validate.ts')
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
