import type { StandardSchemaV1 } from '@standard-schema/spec'
import { InvalidArgumentError } from '../errors/index.ts'
import { type Check, checkNames, checkObject, checkOneOf, checkText, mustBe } from '../shared/check-options.ts'
import type { Scope } from '../shared/scopes.ts'
import { namingCall } from './call.ts'

/** How an operation is known, most certain first. `inferred` is a guess by analogy. */
export type Evidence = 'specification' | 'reference' | 'inferred'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/**
 * The HTTP methods of operations.
 *
 * @useDeclaredType
 */
export type Method = (typeof methods)[number]

/**
 * How a successful response is wrapped:
 *
 * - `item` is `{ "data": {…} }`. The call returns the value of `data`.
 * - `list` is `{ "data": […], "page_metadata": {…} }`. The call returns pages.
 * - `bare` is the JSON body itself.
 * - `none` is an empty body. The call returns `undefined`.
 * - `any` is any JSON value, or an empty body.
 */
export type Envelope = 'item' | 'list' | 'bare' | 'none' | 'any'

/** The definition of an operation: method, path and everything else that a call needs. */
export interface Operation {
  /** Name in errors, hooks and drift reports, for example `messages.create`. */
  readonly id: string
  /** The HTTP method, for example `GET`. */
  readonly method: Method
  /** Path below the base URL, with parameters in braces: `/api/oauth/v1/conversations/{conversation_id}/messages`. */
  readonly path: `/${string}`
  /** The required scope, if known. */
  readonly scope?: Scope
  /** `self` if the operation requires an `actor=self` token. */
  readonly actor?: 'self'
  /** The evidence for the operation. Absent for operations that you define. */
  readonly evidence?: Evidence
  /**
   * How a successful response is wrapped.
   *
   * @default 'item'
   */
  readonly envelope?: Envelope
  /** Standard Schema for the request body. The body is sent as the schema returns it. */
  readonly body?: StandardSchemaV1
  /** Standard Schema for the query. The query is sent as the schema returns it. */
  readonly query?: StandardSchemaV1
  /**
   * Standard Schema for the response data, or for one item of a list. For operations that you define, calls return the
   * output of the schema or reject with `UnexpectedResponseError`, in every `validation` mode.
   */
  readonly response?: StandardSchemaV1
}

/**
 * Defines an operation for an endpoint that this package lacks. Call it with `workspace.call`, with the same
 * authorization, retries, errors, validation and paging as built-in operations.
 *
 * @example
 * const listTags = defineOperation({ id: 'tags.list', method: 'GET', path: '/api/oauth/v1/tags', envelope: 'list' })
 * for await (const tag of workspace.call(listTags)) console.log(tag)
 *
 * @throws InvalidArgumentError if a property is invalid, or the path is not a plain path below the base URL.
 */
export function defineOperation<const Definition extends Omit<Operation, 'evidence'>>(
  definition: Definition & NothingElse<Definition>,
): Definition {
  try {
    checkOperation(definition)
    const { evidence, ...checks } = operationChecks
    checkNames(definition, checks, 'an operation')
  } catch (thrown) {
    throw namingCall(thrown, (definition as Partial<Operation> | undefined)?.id)
  }
  return Object.freeze({ ...definition })
}

/** Rejects misspelled properties, which a type parameter would accept. */
type NothingElse<Definition> = {
  readonly [Name in Exclude<keyof Definition, Exclude<keyof Operation, 'evidence'>>]: NoSuchProperty
}
interface NoSuchProperty {
  /** Makes the compiler name the problem. */
  readonly 'no such property': true
}

const operationChecks = {
  method: (name, value) => checkOneOf(name, value, methods),
  path: (_, value) => checkPath(value),
  id: checkText,
  scope: checkText,
  actor: (name, value) => checkOneOf(name, value, ['self']),
  evidence: (_, value) => value,
  envelope: (name, value) => checkOneOf(name, value, ['item', 'list', 'bare', 'none', 'any']),
  body: checkSchema,
  query: checkSchema,
  response: checkSchema,
} satisfies Record<keyof Operation, Check<unknown>>

/** Whether the caller defined an operation. Its schemas can transform what they check. */
export function isCustom(operation: Operation): boolean {
  return operation.evidence === undefined
}

const required = ['id', 'method', 'path']

/** Throws if the value is not an operation. */
export function checkOperation(operation: unknown): asserts operation is Operation {
  checkObject('operation', operation, 'Pass an operation that was made with `defineOperation`.')
  for (const [name, check] of Object.entries(operationChecks)) {
    const value: unknown = Reflect.get(operation, name)
    if (value !== undefined || required.includes(name)) check(name, value)
  }
}

function checkSchema(name: string, schema: unknown): void {
  if (typeof (schema as StandardSchemaV1 | null)?.['~standard']?.validate === 'function') return
  const hint = 'Pass a schema of zod, valibot, arktype or another library of https://standardschema.dev.'
  throw mustBe('a Standard Schema', name, schema, hint)
}

/** Throws if a path could leave the base URL or its prefix. */
export function checkPath(path: unknown): void {
  if (typeof path === 'string' && /^\/(?!\/)[^?#\\\s\p{Cc}]*$/u.test(path)) {
    if (path.split('/').every((segment) => !/^(\.|%2e){1,2}$/i.test(segment))) return
  }
  throw new InvalidArgumentError(
    'path',
    'The path is not a plain path below the base URL.',
    'Begin it with one "/", without "..", query, fragment or backslash; parameters go in braces.',
  )
}

/** The parameter names of a path. */
export type PathParameter<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParameter<Rest>
  : never

/** A query parameter. `undefined` and `null` are omitted. An array repeats the parameter. */
export type QueryValue = string | number | boolean | null | undefined | readonly (string | number | boolean)[]

/** The query of a list ([specification](docs/service.md#paging)). Fields that are null or undefined are omitted. */
export interface ListQuery {
  /**
   * Number of items per page, at least 1. The service's default and maximum are undocumented. To limit the total, use
   * `maxItems`.
   */
  readonly limit?: number | null | undefined
  /** The `after` of a page. The list starts after this point. Cannot be combined with `before`. */
  readonly after?: string | null | undefined
  /** The `before` of a page. The list starts before this point and goes backward, if `direction` is not set. */
  readonly before?: string | null | undefined
}

/** The input of a call: path parameters, query and body. */
export interface OperationInput {
  /** The values of the parameters in the path, by name. They are percent-encoded. */
  readonly path?: Readonly<Record<string, string>> | undefined
  /** The query parameters. */
  readonly query?: object | undefined
  /** The body, which is sent as JSON. */
  readonly body?: unknown
}

type PathPart<Definition extends Operation> = `/${string}` extends Definition['path']
  ? { readonly path?: Readonly<Record<string, string>> | undefined }
  : [PathParameter<Definition['path']>] extends [never]
    ? { readonly path?: undefined }
    : { readonly path: Readonly<Record<PathParameter<Definition['path']>, string>> }

type BodyPart<Definition extends Operation> = Definition extends {
  readonly body: infer Schema extends StandardSchemaV1
}
  ? { readonly body: StandardSchemaV1.InferInput<Schema> }
  : { readonly body?: unknown }

type QueryPart<Definition extends Operation> = Definition extends {
  readonly query: infer Schema extends StandardSchemaV1
}
  ? Record<never, never> extends StandardSchemaV1.InferInput<Schema>
    ? { readonly query?: StandardSchemaV1.InferInput<Schema> | undefined }
    : { readonly query: StandardSchemaV1.InferInput<Schema> }
  : { readonly query?: ListQuery | Readonly<Record<string, QueryValue>> | undefined }

/** The input of a particular operation. */
export type InputOf<Definition extends Operation> = PathPart<Definition> & BodyPart<Definition> & QueryPart<Definition>

/** The data that an operation returns, or one item of its list, as its `response` schema returns it. */
export type OutputOf<Definition extends Operation> = Definition extends { readonly envelope: 'none' }
  ? undefined
  : Definition extends { readonly response: infer Schema extends StandardSchemaV1 }
    ? StandardSchemaV1.InferOutput<Schema>
    : unknown
