/**
 * An error response. Its body is always `{ error, error_description }` (docs/service.md#errors). The documents define
 * no codes for some cases, so the sandbox chose `not_found`, `rate_limited`, `validation_failed`, `method_not_allowed`,
 * `content_too_large` and `server_error`.
 */
export class HttpError extends Error {
  readonly status: number
  readonly code: string
  readonly headers: Record<string, string>

  constructor(status: number, code: string, description: string, headers: Record<string, string> = {}) {
    super(description)
    this.name = 'HttpError'
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

/** Returns the error for an app token where a person's token is required (docs/service.md#errors). */
export function actorSelfRequired(): HttpError {
  return new HttpError(422, 'actor_self_required', 'This operation requires an actor=self token.')
}
