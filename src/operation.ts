import type { StandardSchemaV1 } from '@standard-schema/spec'
import { InvalidArgumentError } from './errors/index.ts'
import type { Scope } from './scopes.ts'

/** Where the knowledge of an operation comes from, best first. `inferred` ones are guesses by analogy. */
export type Evidence = 'specification' | 'reference' | 'inferred'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** The HTTP methods that an operation may have. */
export type Method = (typeof methods)[number]

/**
 * How a successful response is wrapped:
 *
 * - `item`: `{ "data": {…} }`, the call gives what `data` holds.
 * - `list`: `{ "data": […], "page_metadata": {…} }`, the call pages.
 * - `bare`: the JSON body itself.
 * - `none`: no body; the call gives `undefined`.
 * - `any`: any JSON value, or nothing at all.
 */
export type Envelope = 'item' | 'list' | 'bare' | 'none' | 'any'

/** An endpoint as data. Everything that a call needs to know of it. */
export interface Operation {
  /** The name of the operation in errors, hooks and reports, for example `messages.create`. */
  readonly id: string
  readonly method: Method
  /** Below the base URL, with its parameters in braces: `/api/oauth/v1/conversations/{conversation_id}/messages`. */
  readonly path: `/${string}`
  /** The scope that it needs, when that is known. */
  readonly scope?: Scope
  /** `self` when only an `actor=self` token may call it. */
  readonly actor?: 'self'
  /** How sure the operation is. Absent on one of your own. */
  readonly evidence?: Evidence
  /**
   * How a successful response is wrapped.
   *
   * @default 'item'
   */
  readonly envelope?: Envelope
  /** Checks the request body before it is sent: any Standard Schema. What the schema returns is sent. */
  readonly body?: StandardSchemaV1
  /** Checks the query before it is sent: any Standard Schema. What the schema returns is sent. */
  readonly query?: StandardSchemaV1
  /**
   * Describes the response, or one item of a list: any Standard Schema. On an operation of your own, a call returns what
   * the schema returns, or rejects with an `UnexpectedResponseError`, whatever the client's `validation` mode.
   */
  readonly response?: StandardSchemaV1
}

/**
 * Describes an endpoint that this package lacks, so that `workspace.call` can call it: same authorization, retries,
 * errors, validation and paging as the built-in ones.
 *
 * @example
 * const listTags = defineOperation({ id: 'tags.list', method: 'GET', path: '/api/oauth/v1/tags', envelope: 'list' })
 * for await (const tag of workspace.call(listTags)) console.log(tag)
 *
 * @throws InvalidArgumentError when `id` or `method` cannot be used, or the path is not a plain path below the base URL.
 */
export function defineOperation<const Definition extends Omit<Operation, 'evidence'>>(
  definition: Definition & NothingElse<Definition>,
): Definition {
  checkOperation(definition)
  return Object.freeze({ ...definition })
}

/** A misspelt property would be lost in silence, because a type parameter takes any. */
type NothingElse<Definition> = {
  readonly [Name in Exclude<keyof Definition, Exclude<keyof Operation, 'evidence'>>]: NoSuchProperty
}
interface NoSuchProperty {
  readonly 'no such property': true
}

/** Refuses what is no operation. */
export function checkOperation(operation: unknown): asserts operation is Operation {
  const { id, method, path } = (operation ?? {}) as Operation
  if (typeof id !== 'string' || id === '') {
    throw new InvalidArgumentError(
      'operation',
      'The operation has no `id`.',
      'Pass an operation that was made with `defineOperation`.',
    )
  }
  if (!methods.includes(method)) {
    throw new InvalidArgumentError(
      'method',
      `The method of operation "${id}" is not supported.`,
      `Use one of: ${methods.join(', ')}.`,
    )
  }
  checkPath({ id, path })
  const { actor, envelope } = operation as Operation
  if (actor !== undefined && actor !== 'self') {
    throw new InvalidArgumentError(
      'actor',
      `The \`actor\` of operation "${id}" is not supported.`,
      'Pass "self", or leave it out.',
    )
  }
  if (envelope !== undefined && !envelopes.includes(envelope)) {
    throw new InvalidArgumentError(
      'envelope',
      `The \`envelope\` of operation "${id}" is not supported.`,
      `Use one of: ${envelopes.join(', ')}.`,
    )
  }
  for (const name of ['body', 'query', 'response'] as const) {
    const schema = (operation as Operation)[name]
    if (schema === undefined || typeof schema?.['~standard']?.validate === 'function') continue
    throw new InvalidArgumentError(
      name,
      `The \`${name}\` schema of operation "${id}" is not a Standard Schema.`,
      'Pass a schema of zod, valibot, arktype or another library of https://standardschema.dev.',
    )
  }
}

const envelopes: readonly Envelope[] = ['item', 'list', 'bare', 'none', 'any']

/** Refuses a path that could lead away from the base URL, or out of its prefix. */
export function checkPath({ id, path }: Pick<Operation, 'id' | 'path'>): void {
  if (typeof path === 'string' && /^\/(?!\/)[^?#\\\s]*$/.test(path)) {
    if (path.split('/').every((segment) => !/^(\.|%2e){1,2}$/i.test(segment))) return
  }
  throw new InvalidArgumentError(
    'path',
    `The path of operation "${id}" is not a plain path below the base URL.`,
    'Begin it with one "/", without "..", query, fragment or backslash; parameters go in braces.',
  )
}

/** The names in braces of a path. */
export type PathParameter<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParameter<Rest>
  : never

/** A value that a query can hold. `undefined` and `null` are left out; a list repeats its parameter. */
export type QueryValue = string | number | boolean | null | undefined | readonly (string | number | boolean)[]

/** The query of a list (specification, section 4). A field that is null or undefined is left out. */
export interface ListQuery {
  /**
   * Number of items per page, at least 1. The service's default and maximum are not documented. To limit the total, use
   * `maxItems`.
   */
  readonly limit?: number | null | undefined
  /** Cursor of a page's `after`: starts after this point. Cannot be combined with `before`. */
  readonly after?: string | null | undefined
  /** Cursor of a page's `before`: starts before this point and, unless `direction` is set, walks backward. */
  readonly before?: string | null | undefined
}

/** What a call of an operation takes, beside its options. */
export interface OperationInput {
  readonly path?: Readonly<Record<string, string>> | undefined
  readonly query?: object | undefined
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

/** The input of one operation: its path parameters by name, its body and its query. */
export type InputOf<Definition extends Operation> = PathPart<Definition> & BodyPart<Definition> & QueryPart<Definition>

/** What a call of one operation returns: its item, or one item of its list, as its `response` schema returns it. */
export type OutputOf<Definition extends Operation> = Definition extends { readonly envelope: 'none' }
  ? undefined
  : Definition extends { readonly response: infer Schema extends StandardSchemaV1 }
    ? StandardSchemaV1.InferOutput<Schema>
    : unknown
