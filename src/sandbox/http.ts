import { parse } from 'node:querystring'
import { isDeeperThan, isPlainObject } from '../shared/json.ts'

/** The body of a request. */
export interface RequestBody {
  /** Media type in lower case, without its parameters. */
  readonly type: string
  readonly text: string
  /** Parsed JSON, a form as an object, or other content as text. `undefined` for an empty body. */
  readonly value: unknown
  /** Why the text is not the JSON of an operation. */
  readonly problem?: 'malformed' | 'too deep'
}

/** The media type of a form. */
export const formType = 'application/x-www-form-urlencoded'

/** Returns the token of `Authorization: Bearer` (RFC 6750, 2.1). */
export function bearerToken(headers: Headers): string | undefined {
  return /^bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1]
}

/** Parses a query or a form. Unlike `URLSearchParams` it takes linear time. */
export function parseParameters(text: string): Record<string, string | string[]> {
  return { ...parse(text, '&', '=', { maxKeys: 0 }) } as Record<string, string | string[]>
}

/** Parses a body, or says why it cannot be parsed. */
export function parseBody(type: string, text: string): RequestBody {
  if (text === '') return { type, text, value: undefined, problem: 'malformed' }
  if (type === formType) return { type, text, value: parseParameters(text) }
  if (type !== 'application/json') return { type, text, value: text }
  try {
    const value: unknown = JSON.parse(text)
    return isDeeperThan(maxDepth, value) ? { type, text, value: text, problem: 'too deep' } : { type, text, value }
  } catch {
    return { type, text, value: text, problem: 'malformed' }
  }
}

/** Returns the JSON object in a body. Throws a 400 if it is not one, and a 422 if it is nested too deep. */
export function readJsonObject({ type, value, problem }: RequestBody): Record<string, unknown> {
  if (type !== 'application/json') throw badRequest('The body must be sent as `content-type: application/json`.')
  if (problem === 'too deep') throw validationFailed('The body must not be nested more than 100 levels deep.')
  if (problem === 'malformed') throw badRequest('The body is not valid JSON.')
  if (!isPlainObject(value)) throw badRequest('The body must be a JSON object.')
  return value
}

// Records are cloned and printed by recursive functions, for which deeper values exceed the stack.
const maxDepth = 100

/**
 * An error response. Its body is always `{ error, error_description }` (docs/service.md#errors). The documents define
 * no codes for some cases, so the sandbox chose `not_found`, `already_exists`, `rate_limited`, `validation_failed`,
 * `method_not_allowed`, `content_too_large` and `server_error`.
 */
export class HttpError extends Error {
  readonly status: number
  readonly code: string
  readonly headers: Record<string, string>

  constructor(status: number, code: string, description: string, headers: Record<string, string> = {}) {
    super(description)
    this.status = status
    this.code = code
    this.headers = headers
  }

  toResponse(): Response {
    return Response.json({ error: this.code, error_description: this.message }, this)
  }
}

export function badRequest(description: string): HttpError {
  return new HttpError(400, 'invalid_request', description)
}

export function notFound(what: string): HttpError {
  return new HttpError(404, 'not_found', `There is no such ${what}.`)
}

export function forbidden(description: string): HttpError {
  return new HttpError(403, 'forbidden', description)
}

export function validationFailed(description: string): HttpError {
  return new HttpError(422, 'validation_failed', description)
}

/**
 * Returns the error for a value that is already in use. The status 409 (RFC 9110, 15.5.10) is inferred, because no
 * document describes this error.
 */
export function alreadyExists(what: string): HttpError {
  return new HttpError(409, 'already_exists', `A ${what} with this \`email\` already exists.`)
}

/** Returns the error for an app token where a person's token is required (docs/service.md#errors). */
export function actorSelfRequired(): HttpError {
  return new HttpError(422, 'actor_self_required', 'This operation requires an actor=self token.')
}
