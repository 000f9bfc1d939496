import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Models } from './generated/models.ts'

type Loaded = typeof import('./schemas/validate.ts')

/** The schema of a model, as a Standard Schema. Returns values unchanged, including unknown fields. */
export type Schema<Model> = StandardSchemaV1<Model, Model>

let loaded: Loaded | undefined

/**
 * Returns a schema that is loaded by the first validation, because most programs only read and log in, which needs no
 * schema. The first validation is asynchronous, and later ones are synchronous. Values are returned unchanged.
 */
export function lazySchema<Name extends keyof Models>(name: Name): Schema<Models[Name]> {
  const validate = (value: unknown) =>
    loaded === undefined ? load().then((module) => module.validate(name, value)) : loaded.validate(name, value)
  return { '~standard': { version: 1, vendor: 'support-workspace-sdk', validate } } as Schema<Models[Name]>
}

/** Returns the schema of a body, which knows the names of its documented fields. */
export function lazyBodySchema<Name extends keyof Models>(name: Name): Schema<Models[Name]> {
  return Object.assign(lazySchema(name), { documentedNames: () => loaded?.documentedNames(name) })
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
