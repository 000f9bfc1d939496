import {
  ActorSelfRequiredError,
  ApiError,
  type Attempt,
  AuthenticationError,
  BadRequestError,
  CursorRejectedError,
  InsufficientScopeError,
  NotFoundError,
  type Outcome,
  PermissionDeniedError,
  RateLimitError,
  type Remedy,
  ServerError,
  UnprocessableError,
} from '../errors/index.ts'
import type { Operation } from '../operation.ts'
import type { ErrorBody } from './envelope.ts'
import type { ResponseHead } from './response.ts'

/** What is known about an error response. */
export interface ResponseFacts {
  readonly operation: Operation
  /** Whether the request was for the page of a cursor. */
  readonly hasCursor: boolean
  readonly response: ResponseHead
  readonly body: ErrorBody
  /** The scopes of the token, if known. */
  readonly grantedScopes: readonly string[] | undefined
  /** Requested delay, in milliseconds. */
  readonly retryAfter: number | undefined
  /** An error of `onInvalidToken`, redacted. */
  readonly cause: Error | undefined
}

interface ErrorFacts extends ResponseFacts {
  readonly outcome: Outcome
  readonly remedy: Remedy
  readonly attempts: readonly Attempt[]
}

/** Creates the error for an error response. `errorClassFor` returns its class. */
export function errorFromResponse(ErrorClass: typeof ApiError, facts: ErrorFacts): ApiError {
  const { operation, outcome, remedy, attempts, response, body } = facts
  const { status } = response
  const message = `${operation.id} failed with ${status}${body.code === undefined ? '' : ` ${body.code}`}${
    body.description === undefined ? '' : `: ${body.description.replace(/[.\s]+$/, '')}`
  }.`
  const details = {
    operation: operation.id,
    outcome,
    remedy,
    attempts,
    response: response.info,
    status,
    code: body.code,
    description: body.description,
    retryAfter: facts.retryAfter === undefined ? undefined : Math.ceil(facts.retryAfter / 1000),
    cause: facts.cause,
    hint: hintFor(operation, outcome, ErrorClass === CursorRejectedError ? cursorHint : nextStep(facts)),
  }
  if (ErrorClass === InsufficientScopeError) {
    const required = operation.scope === undefined ? [] : [operation.scope]
    return new InsufficientScopeError(message, { ...details, required, granted: facts.grantedScopes })
  }
  return new ErrorClass(message, details)
}

/** Returns the error class for an error response. The code takes precedence, because it is more specific. */
export function errorClassFor({ response: { status }, body: { code }, hasCursor }: ResponseFacts): typeof ApiError {
  const byCursor = hasCursor && cursorRefusals.has(status) ? CursorRejectedError : undefined
  return byCode.get(code) ?? byCursor ?? byStatus[status] ?? (status >= 500 ? ServerError : ApiError)
}

/** The status for a rejected cursor is not documented. These reject a request for its parameters, or for its length. */
const cursorRefusals: ReadonlySet<number> = new Set([400, 410, 414, 422, 431])

const byCode: ReadonlyMap<string | undefined, typeof ApiError> = new Map([
  ['actor_self_required', ActorSelfRequiredError],
  ['insufficient_scope', InsufficientScopeError as typeof ApiError],
])

const byStatus: Readonly<Record<number, typeof ApiError>> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  422: UnprocessableError,
  429: RateLimitError,
}

/** Creates the error for a call that a client with `actor: 'app'` refuses to send. */
export function actorSelfRequired(operation: Operation): ActorSelfRequiredError {
  return new ActorSelfRequiredError(`${operation.id} authors content, but the actor of this client is "app".`, {
    operation: operation.id,
    outcome: 'not-sent',
    remedy: 'fix',
    status: 422,
    code: 'actor_self_required',
    description: undefined,
    hint: actorHint,
  })
}

const actorHint = 'Log in with actor "self" and use that token.'

const cursorHint =
  'The service no longer accepts the cursor: it may have expired, or belong to another list or query. How long a cursor is valid is not documented. Start over without it; `onRejectedCursor: "restart"` does so if the first request is refused.'

function nextStep({ operation, response, body, retryAfter }: ErrorFacts): string {
  const { status } = response
  if (body.code === 'actor_self_required') return actorHint
  if (body.code === 'insufficient_scope') {
    const scope = operation.scope === undefined ? 'the missing scope' : `"${operation.scope}"`
    return `Log in again and ask for ${scope} in addition to the scopes you already have; a role without admin rights may not get it.`
  }
  if (operation.evidence === 'inferred' && mayLackPath(operation, status, body)) {
    return `The path ${operation.method} ${operation.path} is inferred, not documented: if yours differs, describe it with \`defineOperation\` and call it with \`workspace.call\`.`
  }
  if (status === 429) {
    return retryAfter === undefined
      ? 'Call less often, or raise `maxRetries`.'
      : 'Try again after `retryAfter` seconds.'
  }
  return (
    hints[status] ?? (status >= 500 ? 'Try again later.' : 'Check the documentation of the service for this status.')
  )
}

/**
 * Whether the service may not have the path at all. A 404 that describes what is missing comes from a service that has
 * it; a plain "Not Found" may come from its router.
 */
function mayLackPath({ path }: Operation, status: number, { description }: ErrorBody): boolean {
  if (status !== 404) return status === 405
  if (description === undefined || !path.includes('{')) return true
  return /^\W*(404\W+)?((page|path|route|resource|url)\W+)?(was )?not found\W*$/i.test(description)
}

const hints: Readonly<Record<number, string>> = {
  400: 'Check the arguments of the call.',
  401: 'The token is missing, invalid, expired or revoked: log in again for a new one.',
  403: 'The token or its user lacks the permission. Use one that has it.',
  404: 'Check the id, and that it belongs to the organization of the token.',
  422: 'Check the fields of the body. The service rejected their values.',
}

/** Returns the hint for a failed call. If a write may have been applied, the hint says so instead. */
export function hintFor(operation: Operation, outcome: Outcome, otherwise: string): string {
  return outcome === 'unknown' && operation.method !== 'GET'
    ? 'The write may have been applied. Check before retrying it.'
    : otherwise
}
