import type { Grant } from '../data/grants.ts'
import type { Scope } from '../data/scope-catalog.ts'
import type { Member } from '../data/shapes.ts'
import type { Workspace } from '../data/workspace.ts'
import { actorSelfRequired } from '../http-error.ts'
import type { Service } from '../service.ts'

/** One thing that the service can be asked to do, and who may ask. */
export interface ServiceOperation {
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** With `:name` for what varies. */
  readonly path: string
  readonly scope?: Scope
  /** Set where the documents ask for a token that acts as a person. */
  readonly actor?: 'self'
  /** Set where the documents ask that this person holds a certain place in the organization. */
  readonly heldBy?: 'admin' | 'owner'
  readonly handle: (context: OperationContext) => OperationResponse
}

/** A request that is allowed in: whose it is and what it says. */
export interface OperationContext {
  readonly service: Service
  readonly workspace: Workspace
  readonly grant: Grant
  readonly scopes: readonly Scope[]
  /** Who the token acts as; `undefined` for an app's token. */
  readonly person: Member | undefined
  readonly parameter: (name: string) => string
  readonly query: URLSearchParams
  /** The JSON object that was sent; refuses with 400 when there is none. Read last, so that 404 comes before 400. */
  readonly json: () => Record<string, unknown>
}

export interface OperationResponse {
  readonly status: 200 | 201 | 204
  readonly body?: unknown
}

export function ok(data: unknown): OperationResponse {
  return { status: 200, body: { data } }
}

/** That creates answer 201 is inferred (reference, section 4). */
export function created(data: unknown): OperationResponse {
  return { status: 201, body: { data } }
}

/** That deletes answer 204 is inferred (reference, section 4). */
export function noContent(): OperationResponse {
  return { status: 204 }
}

/** Who writes. Refuses like the service does when nobody does, because the token is an app's. */
export function actingPerson(context: OperationContext): Member {
  if (context.person === undefined) throw actorSelfRequired()
  return context.person
}
