import { isObject, parseObject } from './json-object.ts'

/** What an error body says. */
export interface ErrorBody {
  readonly code: string | undefined
  readonly description: string | undefined
}

/**
 * Reads the error body that the reference documents, `{ error, error_description }` (section 4), and the shapes that
 * gateways and other deployments use, as the specification does not show one: `{ code, message }`,
 * `{ error: { code, message } }`, `{ errors: [{ code, detail }] }`, problem+json (RFC 9457), and a body that is no JSON.
 *
 * @param challenge the `WWW-Authenticate` header, which names the error where the body does not (RFC 6750, section 3).
 */
export function readErrorBody(text: string, challenge: string | null = null): ErrorBody {
  const challenged = challenge?.match(/\berror\s*=\s*"?([^",\s]+)/i)?.[1]
  const body = parseObject(text)
  if (body === undefined) return { code: challenged, description: undefined }
  const inner = [body.error, Array.isArray(body.errors) ? body.errors[0] : undefined].find(isObject) ?? body
  return {
    // What the challenge says of the token counts, whatever a gateway wrote into the body.
    code:
      challenged === 'invalid_token'
        ? challenged
        : firstString(inner.code, body.error, inner.error, challenged, inner.type),
    description: firstString(
      body.error_description,
      inner.error_description,
      inner.message,
      inner.description,
      inner.detail,
      inner.title,
    ),
  }
}

function firstString(...values: unknown[]): string | undefined {
  return values.find((value): value is string => typeof value === 'string' && value !== '')
}
