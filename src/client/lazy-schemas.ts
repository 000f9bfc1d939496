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
  me: /* @__PURE__ */ lazySchema('me'),
  conversation: /* @__PURE__ */ lazySchema('conversation'),
  conversationAssignee: /* @__PURE__ */ lazySchema('conversationAssignee'),
  message: /* @__PURE__ */ lazySchema('message'),
  contact: /* @__PURE__ */ lazySchema('contact'),
  member: /* @__PURE__ */ lazySchema('member'),
  organization: /* @__PURE__ */ lazySchema('organization'),
  organizationSettings: /* @__PURE__ */ lazySchema('organizationSettings'),
  task: /* @__PURE__ */ lazySchema('task'),
  segment: /* @__PURE__ */ lazySchema('segment'),
  user: /* @__PURE__ */ lazySchema('user'),
} as const
