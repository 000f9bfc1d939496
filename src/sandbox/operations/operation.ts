// src/sandbox/operations holds the API that an access token gives access to. It must not import the sandbox's logins,
// faults or server.

import type { Context } from 'hono'
import type { Check } from '../../shared/check-options.ts'
import type { AppEnv, Method, Operation, Route } from '../app-env.ts'
import type { Collection } from '../data/collection.ts'
import type { Grant } from '../data/grants.ts'
import type { OrganizationData } from '../data/organization-data.ts'
import { limitScopesToRole, type Scope } from '../data/scope-catalog.ts'
import type { Member, User } from '../data/shapes.ts'
import {
  actorSelfRequired,
  badRequest,
  bearerToken,
  forbidden,
  HttpError,
  notFound,
  type RequestBody,
  readJsonObject,
  validationFailed,
} from '../http.ts'
import type { RecordedRequest } from '../request-log.ts'
import type { SandboxData } from '../sandbox-data.ts'
import type { SandboxSettings } from '../sandbox-options.ts'
import { ignoredNames } from './ignored-names.ts'

/** An authorized request: the app or person that the token acts as, and the parameters of the path. */
export interface Caller {
  readonly sandbox: SandboxData
  readonly data: OrganizationData
  readonly grant: Grant
  readonly scopes: readonly Scope[]
  /** The person that the token acts as; `undefined` for an app's token. */
  readonly person: Member | undefined
  readonly parameters: Readonly<Record<string, string>>
}

type Item = { id: string }

/** The checks of the fields of a body. */
type Checks<Fields> = { readonly [Name in keyof Fields]: Check<Fields[Name]> }

interface OperationDefinition<Found, RequiredFields, OptionalFields> {
  /** Method and path below `/api/oauth/v1`. */
  readonly route: Route
  readonly scope?: Scope
  /** Set if the documents require a token that acts as a person. */
  readonly actor?: 'self'
  /** Set if the documents require that this person is an admin or the owner. */
  readonly role?: 'admin' | 'owner'
  /** Finds the item of the request, before the body is checked. Throws a 404 or a 403. */
  readonly find?: (caller: Caller) => Found
  /** Fields that the JSON body must have. */
  readonly required?: Checks<RequiredFields>
  /** Fields that it can have. */
  readonly optional?: Checks<OptionalFields>
  /** Set if any JSON object is stored, whatever its fields. */
  readonly isOpen?: true
  /** Returns the list that a request reads a page of. */
  readonly list?: (call: Caller & { found: Found }) => Collection<Item>
  /** Returns the data of the response. By default it assigns the body to the found item, and returns the item. */
  readonly handle?: (call: Caller & { found: Found; body: RequiredFields & Partial<OptionalFields> }) => unknown
  /** Whether the response is the data itself, instead of an object with `data`. */
  readonly unwrapped?: boolean
}

// The statuses after a create and a delete are inferred (docs/service.md#errors).
const statuses = { GET: 200, PATCH: 200, POST: 201, DELETE: 204 } as const

/** Returns an operation that checks the token, the scope, the actor, the role, the path and the body, in this order. */
export function operation<Found = undefined, RequiredFields = unknown, OptionalFields = unknown>(
  definition: OperationDefinition<Found, RequiredFields, OptionalFields>,
): Operation {
  const { scope, find, required = {}, optional = {}, isOpen, list, handle = assign, unwrapped } = definition
  const [method, path] = definition.route.split(' ') as [Method, string]
  const fields = { ...required, ...optional }
  const readsBody = isOpen || Object.keys(fields).length > 0
  const handler: Operation['handler'] = (sandbox) => (c) => {
    const { request } = c.get('entry')
    request.ignored = ignoredNames(request, list === undefined ? [] : pageParameters, isOpen ? undefined : fields)
    const caller = authenticate(sandbox, c)
    checkAccess(caller, definition)
    const found = find?.(caller) as Found
    const body = (readsBody ? readFields(c.get('body'), definition) : {}) as RequiredFields & Partial<OptionalFields>
    if (list !== undefined) return Response.json(readList(list({ ...caller, found }), request, sandbox.settings))
    const result = handle({ ...caller, found, body })
    if (method !== 'GET') {
      const id = (result as Partial<Item> | undefined)?.id
      sandbox.addWrite({ operation: request.operation ?? '', path: request.path, id, at: sandbox.settings.now() })
    }
    const status = statuses[method]
    return method === 'DELETE'
      ? new Response(null, { status })
      : Response.json(unwrapped ? result : { data: result }, { status })
  }
  return { route: `${method} /api/oauth/v1${path}`, scope, handler }
}

const pageParameters = ['limit', 'after', 'before']

/** Returns a page of a list (docs/service.md#paging). */
function readList(list: Collection<Item>, request: RecordedRequest, settings: SandboxSettings): object {
  const { query } = request
  const after = single(query, 'after')
  const before = single(query, 'before')
  if (after !== undefined && before !== undefined) throw badRequest('Send `after` or `before`, not both.')
  const limit = Math.min(readLimit(query) ?? usualLimit, settings.maxLimit)
  const page = list.page({ limit, after, before })
  if (page === undefined) throw badRequest('The cursor was not issued by this list. Send one from `page_metadata`.')
  return { data: page.items, page_metadata: { after: page.after, before: page.before } }
}

/** Page size of a request without `limit`. The service's documents do not specify it. */
const usualLimit = 20

function readLimit(query: RecordedRequest['query']): number | undefined {
  const text = single(query, 'limit')
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(text)) throw badRequest('`limit` must be an integer of at least 1.')
  return Number(text)
}

function single(query: RecordedRequest['query'], name: string): string | undefined {
  const value = query[name]
  if (Array.isArray(value)) throw badRequest(`\`${name}\` was sent more than once.`)
  return value
}

/** Returns a function that finds the item that `:id` in the path names. Throws a 404 if there is none. */
export function finder<Found extends Item>(
  what: string,
  listOf: (data: OrganizationData) => Collection<Found>,
): (caller: Caller) => Found {
  return ({ data, parameters }) => {
    const found = listOf(data).get(parameters.id ?? '')
    if (found === undefined) throw notFound(what)
    return found
  }
}

/** Returns the person that the token acts as. Throws a 422 for an app's token. */
export function authorOf({ person }: Caller): User {
  if (person === undefined) throw actorSelfRequired()
  return person.user
}

type BodyDefinition = Pick<OperationDefinition<unknown, unknown, unknown>, 'required' | 'optional' | 'isOpen'>

/**
 * Returns the fields of a body that an operation reads. Throws a 422 for a wrong one. `null` is wrong, because the
 * documents do not say that a field can be unset.
 */
function readFields(body: RequestBody, { required, optional, isOpen }: BodyDefinition): Record<string, unknown> {
  const object = readJsonObject(body)
  if (isOpen) return object
  const given = Object.entries<Check<unknown>>(optional ?? {}).filter(([name]) => object[name] !== undefined)
  try {
    const checks = [...Object.entries<Check<unknown>>(required ?? {}), ...given]
    return Object.fromEntries(checks.map(([name, check]) => [name, check(name, object[name])]))
  } catch (error) {
    throw validationFailed((error as Error).message)
  }
}

/** Throws a 401 unless the token is valid (RFC 6750, 3.1). */
function authenticate(sandbox: SandboxData, c: Context<AppEnv>): Caller {
  if (bearerToken(c.req.raw.headers) === undefined)
    throw invalidToken('Send the header `Authorization: Bearer <token>`.')
  const grant = c.get('grant')
  const data = grant && sandbox.organizations.get(grant.organizationId)
  if (grant === undefined || data === undefined) throw invalidToken('The token is unknown or revoked.')
  const caller = { sandbox, data, grant, parameters: c.req.param() }
  if (grant.memberId === undefined) return { ...caller, person: undefined, scopes: grant.scopes }

  // The documents do not say whether the tokens of a former member stay valid. The sandbox rejects them.
  const person = data.members.get(grant.memberId)
  if (person === undefined || person.archived)
    throw invalidToken('The person that the token acts as has left the organization.')
  // Limited at each request, not only at consent, because the role might have changed (docs/service.md#actors).
  return { ...caller, person, scopes: limitScopesToRole(grant.scopes, person.role) }
}

function assign({ found, body }: { found: unknown; body: unknown }): unknown {
  return Object.assign(found as object, body)
}

type Requirements = Pick<OperationDefinition<unknown, unknown, unknown>, 'scope' | 'actor' | 'role'>

function checkAccess({ grant, scopes, person, data }: Caller, { scope, actor, role }: Requirements): void {
  if (scope !== undefined && !scopes.includes(scope)) {
    throw new HttpError(403, 'insufficient_scope', `The token is missing the scope \`${scope}\`.`)
  }
  if (actor === 'self' && grant.actor !== 'self') throw actorSelfRequired()
  const isAllowed = role === 'owner' ? person?.id === data.owner?.id : person?.role === 'admin'
  if (role !== undefined && !isAllowed) throw forbidden(`Only the organization's ${role} can do this.`)
}

function invalidToken(description: string): HttpError {
  return new HttpError(401, 'invalid_token', description, { 'www-authenticate': 'Bearer error="invalid_token"' })
}
