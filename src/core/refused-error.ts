import type { InsufficientScopeDetails } from '../errors/api-error.ts'
import {
  ActorSelfRequiredError,
  AlreadyExistsError,
  ApiError,
  AuthenticationError,
  BadRequestError,
  CursorRejectedError,
  InsufficientScopeError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  type Remedy,
  type RequestError,
  ServerError,
  UnprocessableError,
} from '../errors/index.ts'
import { redact } from '../errors/redact.ts'
import { actorHint, createError, seconds, toSeconds } from './call-errors.ts'
import type { CallRecord } from './call-record.ts'
import { readErrorBody } from './envelope.ts'
import { errorDetails } from './error-details.ts'
import type { Operation } from './operation.ts'
import type { ResponseHead } from './response.ts'
import { retryAfterOf } from './retry.ts'

/**
 * Creates the error for an error response.
 *
 * @param text the body, as far as it was read
 */
export function refusedError(record: CallRecord, head: ResponseHead, text: string): RequestError {
  const { call, secrets, settings } = record
  const { operation } = call
  const { status } = head
  const sent = [call.parameters, call.query, call.body === undefined ? undefined : JSON.parse(call.body)]
  const { isHtml, problems, ...body } = readErrorBody(text, head.get('www-authenticate'), sent)
  const code = body.code && redact(body.code, secrets)
  const description = body.description && redact(body.description, secrets)
  const retryAfter = retryAfterOf(head)
  const [ErrorClass, remedy, step] = meaningOf(record, { status, code, description, retryAfter })
  // The prefix is documented (docs/service.md#tokens).
  const isForeign = status === 401 && !secrets.some((secret) => secret.startsWith('swot_'))
  const aboutToken = isForeign ? 'Tokens of the service begin with `swot_`, and this one does not. ' : ''
  const listed = status === 400 || status === 422 ? problems && redact(problems, secrets) : undefined
  const reasons = [description?.replace(/[.\s]+$/, ''), listed].filter((reason) => reason !== undefined)
  const because = reasons.length === 0 ? '' : `: ${reasons.join(' (')}${reasons.length === 2 ? ')' : ''}`
  return createError<InsufficientScopeDetails>(ErrorClass as typeof InsufficientScopeError, record, {
    message: `${operation.id} failed with ${status}${code === undefined ? '' : ` ${code}`}${because}.`,
    hint: isHtml ? `The response is HTML, so a proxy or another server sent it. ${step}` : `${aboutToken}${step}`,
    // A 408 or 5xx can come from a proxy after the service has acted. A 3xx does not reject the request.
    outcome: status >= 400 && status < 500 && status !== 408 ? 'refused' : 'unknown',
    remedy,
    response: head.info,
    status,
    code,
    description,
    details: errorDetails(text, secrets),
    retryAfter: toSeconds(retryAfter),
    required: operation.scope === undefined ? [] : [operation.scope],
    granted: settings.scopes,
  })
}

/** The class of an error response, what to do about it, and the next step. */
type Meaning = readonly [ErrorClass: typeof ApiError, remedy: Remedy, hint: string]

/** The content of an error response. */
interface Refusal {
  readonly status: number
  readonly code: string | undefined
  readonly description: string | undefined
  /** The requested delay, in milliseconds. */
  readonly retryAfter: number | undefined
}

/** The code takes precedence, because it is more specific. */
function meaningOf({ call: { operation }, cursor }: CallRecord, refusal: Refusal): Meaning {
  const { status, code, retryAfter } = refusal
  if (code === 'actor_self_required') return [ActorSelfRequiredError, 'fix', actorHint]
  if (code === 'insufficient_scope') {
    const scope = operation.scope === undefined ? 'the missing scope' : `"${operation.scope}"`
    const hint = `Log in again and ask for ${scope} in addition to the scopes you already have; a role without admin rights may not get it.`
    return [InsufficientScopeError as typeof ApiError, 'reconnect', hint]
  }
  if (cursor !== undefined && cursorRefusals.has(status)) return [CursorRejectedError, 'fix', cursorHint]
  if (operation.method === 'POST' && status === 409) return [AlreadyExistsError, 'fix', existsHint]
  const meaning = byStatus[status] ?? (status >= 500 ? serverError : otherStatus)
  const [ErrorClass, remedy] = meaning
  if (operation.evidence === 'inferred' && mayLackPath(operation, refusal)) {
    const path = `${operation.method} ${operation.path}`
    const hint = `The path ${path} is inferred, not documented: if yours differs, describe it with \`defineOperation\` and call it with \`workspace.call\`.`
    return [ErrorClass, remedy, hint]
  }
  if (status === 404 && !operation.path.includes('{')) {
    return [ErrorClass, remedy, 'Check `baseUrl`: the service has no such path.']
  }
  return remedy === 'retry' && retryAfter ? [ErrorClass, remedy, `Try again after ${seconds(retryAfter)}.`] : meaning
}

const byStatus: Readonly<Record<number, Meaning>> = {
  400: [BadRequestError, 'fix', 'Check the arguments of the call.'],
  401: [
    AuthenticationError,
    'reconnect',
    'Log in again for a new token. A login page does that (docs/login.md), and for a script `npx --no -- support-workspace-sdk login`.',
  ],
  403: [PermissionDeniedError, 'fix', 'The token or its user lacks the permission. Use one that has it.'],
  404: [NotFoundError, 'fix', 'Check the id, and that it belongs to the organization of the token.'],
  408: [ApiError, 'retry', 'Try again later.'],
  422: [UnprocessableError, 'fix', 'Check the fields of the body. The service rejected their values.'],
  429: [RateLimitError, 'retry', 'Call less often, or raise `maxRetries`.'],
}

const serverError: Meaning = [ServerError, 'retry', 'Try again later.']
const otherStatus: Meaning = [ApiError, 'fix', 'Check the documentation of the service for this status.']

/**
 * Statuses for a rejected cursor. They are undocumented, but they mean that the parameters or the length of a request
 * were rejected.
 */
const cursorRefusals: ReadonlySet<number> = new Set([400, 410, 414, 422, 431])

const existsHint = 'Look for the existing one, which may differ from what was sent. That it exists is inferred.'

const cursorHint =
  'The service no longer accepts the cursor: it may have expired, or belong to another list or query. How long a cursor is valid is not documented. Start over without it; `onRejectedCursor: "restart"` does so if the first request is refused.'

/**
 * Whether the service might lack the path. A plain "Not Found" can come from the router of the service, whereas a 404
 * that describes the missing resource shows that the path exists.
 */
function mayLackPath({ path }: Operation, { status, description }: Refusal): boolean {
  if (status !== 404) return status === 405
  if (description === undefined || !path.includes('{')) return true
  return /^\W*(404\W+)?((page|path|route|resource|url)\W+)?(was )?not found\W*$/i.test(description)
}
