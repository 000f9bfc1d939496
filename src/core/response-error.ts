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
  UnexpectedResponseError,
  type UnexpectedResponseReason,
  UnprocessableError,
} from '../errors/index.ts'
import { redact, withoutSecrets } from '../errors/redact.ts'
import { actorHint } from '../shared/actor.ts'
import { createError } from './call-errors.ts'
import type { CallRecord } from './call-record.ts'
import { errorDetails, fieldProblems, readErrorBody } from './error-body.ts'
import type { ResponseHead, UnusableResponse } from './response.ts'
import { retryAfterOf, seconds, toSeconds } from './retry.ts'

/**
 * Creates the error for an error response.
 *
 * @param text the body, as far as it was read
 */
export function responseError(record: CallRecord, head: ResponseHead, text: string): RequestError {
  const { call, secrets, settings } = record
  const { operation } = call
  const { status } = head
  const sent = [call.parameters, call.query, call.body === undefined ? undefined : JSON.parse(call.body)]
  const body = readErrorBody(text, withoutSecrets(head.get('www-authenticate') ?? '', secrets), sent)
  const code = body.code && redact(body.code, secrets)
  const description = body.description && redact(body.description, secrets)
  const retryAfter = retryAfterOf(head)
  const [ErrorClass, remedy] = meaningOf(record, status, code)
  const problems = status === 400 || status === 422 ? fieldProblems(text, sent) : undefined
  // The full stops go last, because a secret can end in one.
  const reasons = [description, problems && redact(problems, secrets)]
    .filter((reason) => reason !== undefined)
    .map((reason) => reason.replace(/[.\s]+(?=; |$)/g, ''))
  const because = reasons.length === 0 ? '' : `: ${reasons.join(' (')}${reasons.length === 2 ? ')' : ''}`
  return createError<InsufficientScopeDetails>(ErrorClass as typeof InsufficientScopeError, record, {
    message: `${operation.id} failed with ${status}${code === undefined ? '' : ` ${code}`}${because}.`,
    hint: aboutOf(record, status, text) + hintOf(record, ErrorClass.kind, status, remedy, retryAfter),
    outcome: head.isRefused ? 'refused' : 'unknown',
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

/** Creates the error for a response that cannot be used. */
export function unusableError(
  record: CallRecord,
  response: ResponseHead,
  { reason, message }: UnusableResponse,
): RequestError {
  const { id } = record.call.operation
  return createError(UnexpectedResponseError, record, {
    // It can name a key of the response.
    message: `${id} received an unusable response (${response.status}): ${redact(message, record.secrets)}.`,
    hint: message.endsWith('HTML') ? htmlHint : unusableHints[reason],
    isConfiguration: true,
    outcome: 'unknown',
    // A gateway might have replaced or cut off the body once.
    remedy: reason === 'not-json' ? 'retry' : 'fix',
    reason,
    response: response.info,
  })
}

/** The class of an error response, and what to do about it. */
type Meaning = readonly [ErrorClass: typeof ApiError, remedy: Remedy]

/** In a 4xx, the code takes precedence, because it is more specific. */
function meaningOf({ call: { operation }, cursor }: CallRecord, status: number, code: string | undefined): Meaning {
  if (status >= 500) return [ServerError, 'retry']
  if (code === 'actor_self_required') return [ActorSelfRequiredError, 'fix']
  if (code === 'insufficient_scope') return [InsufficientScopeError as typeof ApiError, 'reconnect']
  if (cursor !== undefined && cursorStatuses.has(status)) return [CursorRejectedError, 'fix']
  if (operation.method === 'POST' && status === 409) return [AlreadyExistsError, 'fix']
  return byStatus[status] ?? [ApiError, 'fix']
}

const byStatus: Readonly<Record<number, Meaning>> = {
  400: [BadRequestError, 'fix'],
  401: [AuthenticationError, 'reconnect'],
  403: [PermissionDeniedError, 'fix'],
  404: [NotFoundError, 'fix'],
  408: [ApiError, 'retry'],
  422: [UnprocessableError, 'fix'],
  429: [RateLimitError, 'retry'],
}

/**
 * Statuses for a rejected cursor. They are undocumented, but they mean that the parameters or the length of a request
 * were rejected.
 */
const cursorStatuses: ReadonlySet<number> = new Set([400, 410, 414, 422, 431])

/** Returns what to say first if the response or the token comes from elsewhere. */
function aboutOf({ secrets }: CallRecord, status: number, text: string): string {
  // HTML comes from a gateway instead of the service.
  if (text.trimStart().startsWith('<')) return 'The response is HTML, so a proxy or another server sent it. '
  // The prefix is documented (docs/service.md#tokens).
  const isForeign = status === 401 && !secrets.some((secret) => secret.startsWith('swot_'))
  return isForeign ? 'Tokens of the service begin with `swot_`, and this one does not. ' : ''
}

/** Returns the next step. Class, code, outcome and remedy tell a program what to do, and the hint tells a person. */
function hintOf(
  { call: { operation } }: CallRecord,
  kind: string,
  status: number,
  remedy: Remedy,
  retryAfter: number | undefined,
): string {
  const { method, path, scope, evidence } = operation
  if (kind === 'InsufficientScopeError') {
    const missing = scope === undefined ? 'the missing scope' : `"${scope}"`
    return `Log in again and ask for ${missing} in addition to the scopes you already have; a role without admin rights may not get it.`
  }
  const hint = hints[kind] ?? (remedy === 'retry' ? 'Try again later.' : otherHint)
  const hasId = path.includes('{')
  if (evidence === 'inferred' && (kind === 'NotFoundError' || status === 405)) {
    const first = kind === 'NotFoundError' && hasId ? `${hint} ` : ''
    return `${first}The path ${method} ${path} is inferred, not documented: if yours differs, describe it with \`defineOperation\` and call it with \`workspace.call\`.`
  }
  if (kind === 'NotFoundError' && !hasId) return 'Check `baseUrl`: the service has no such path.'
  return remedy === 'retry' && retryAfter ? `Try again after ${seconds(retryAfter)}.` : hint
}

const hints: Readonly<Record<string, string>> = {
  ActorSelfRequiredError: actorHint,
  CursorRejectedError:
    'The service no longer accepts the cursor: it may have expired, or belong to another list or query. How long a cursor is valid is not documented. Read the list from its start: leave out `resumeFrom`, `after` and `before`.',
  AlreadyExistsError: 'Look for the existing one, which may differ from what was sent. That it exists is inferred.',
  BadRequestError: 'Check the arguments of the call.',
  AuthenticationError:
    'Log in again for a new token. A login page does that (docs/login.md), and for a script `npx --no -- support-workspace-sdk login`.',
  PermissionDeniedError: 'The token or its user lacks the permission. Use one that has it.',
  NotFoundError: 'Check the id, and that it belongs to the organization of the token.',
  UnprocessableError: 'Check the fields of the body. The service rejected their values.',
  RateLimitError: 'Call less often, or raise `maxRetries`.',
}

const otherHint = 'Check the documentation of the service for this status.'

const htmlHint = 'Make sure that `baseUrl` is the API, and that no proxy or login page responds instead.'

const unusableHints: Readonly<Record<UnexpectedResponseReason, string>> = {
  redirect: 'Redirects are not followed, to protect the token. Set `baseUrl` to the final address of the service.',
  'not-json': 'The response may have been cut off. If that happens often, check the proxies on the way.',
  envelope:
    'Make sure that `baseUrl` is the API. If you defined the operation, correct its `envelope`. If the service has changed, update this package.',
  schema:
    'If you defined the operation, correct its `response` schema. Otherwise use `validation: "observe"` to accept the data as sent, and report the mismatch.',
  'too-large': 'Request fewer items with `limit`, or raise `maxResponseBytes`.',
}
