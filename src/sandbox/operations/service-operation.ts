import type { Grant } from '../data/grants.ts'
import type { Scope } from '../data/scope-catalog.ts'
import type { Member } from '../data/shapes.ts'
import type { Workspace } from '../data/workspace.ts'
import { actorSelfRequired } from '../http-error.ts'
import type { Service } from '../service.ts'

/** An operation of the API, and what a token needs to call it. */
export interface ServiceOperation {
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path with `:name` for each parameter. */
  readonly path: string
  readonly scope?: Scope
  /** Set if the documents require a token that acts as a person. */
  readonly actor?: 'self'
  /** Set if the documents require that this person is an admin or the owner. */
  readonly requiredRole?: 'admin' | 'owner'
  readonly handle: (context: OperationContext) => OperationResponse
}

/** An authorized request, as an operation receives it. */
export interface OperationContext {
  readonly service: Service
  readonly workspace: Workspace
  readonly grant: Grant
  readonly scopes: readonly Scope[]
  /** The person that the token acts as; `undefined` for an app's token. */
  readonly person: Member | undefined
  readonly parameter: (name: string) => string
  readonly query: URLSearchParams
  /** Returns the JSON body. Throws a 400 if it is not an object. Call it last, so that 404 comes before 400. */
  readonly json: () => Record<string, unknown>
}

export interface OperationResponse {
  readonly status: 200 | 201 | 204
  readonly body?: unknown
}

export function ok(data: unknown): OperationResponse {
  return { status: 200, body: { data } }
}

/** Status 201 after a create is inferred (docs/service.md#errors). */
export function created(data: unknown): OperationResponse {
  return { status: 201, body: { data } }
}

/** Status 204 after a delete is inferred (docs/service.md#errors). */
export function noContent(): OperationResponse {
  return { status: 204 }
}

/** Returns the person that the token acts as. Throws a 422 for an app's token. */
export function actingPerson(context: OperationContext): Member {
  if (context.person === undefined) throw actorSelfRequired()
  return context.person
}
