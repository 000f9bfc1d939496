import { readErrorBody } from '../core/index.ts'
import { LoginError, type LoginErrorReason } from '../errors/index.ts'
import { withoutSecrets } from '../errors/redact.ts'
import { parseObject } from '../shared/json.ts'
import { quote, untrustedText } from './callback.ts'

/** The response of the token endpoint, read completely. */
export interface TokenResponse {
  readonly status: number
  /** The `WWW-Authenticate` header. */
  readonly challenge: string | null
  readonly text: string
}

/** The documented fields of a token response (docs/service.md#login). */
export interface TokenFields {
  readonly access_token: unknown
  readonly token_type: unknown
  readonly scope: unknown
}

/**
 * Returns the documented fields of a response. Drops other fields, and treats null as absent. The code can be used only
 * once, so an unneeded field must not fail the login.
 *
 * @throws LoginError when the response contains no token
 */
export function tokenFields(response: TokenResponse, secrets: readonly string[]): TokenFields {
  const { status, text } = response
  if (status !== 200 && status !== 201) throw exchangeError(response, secrets)
  const body = parseObject(text)
  if (body === undefined) {
    // A page comes from another server. Any other text might have been cut off once.
    throw unusableResponse(status, 'it is not a JSON object', text.trimStart().startsWith('<') ? 'fix' : undefined)
  }
  // Some services send errors with status 200.
  if (!('access_token' in body)) throw exchangeError(response, secrets)
  const { access_token, token_type, scope } = body
  // Some services send a list instead of the string of RFC 6749, section 5.1.
  const isList = Array.isArray(scope) && scope.every((name) => typeof name === 'string')
  return { access_token, token_type, scope: isList ? scope.join(' ') : (scope ?? undefined) }
}

/** Creates the error for a response that lacks a token and an error code. `problem` completes its sentence. */
export function unusableResponse(status: number, problem: string, remedy?: 'fix'): LoginError {
  return new LoginError(`The response of the token endpoint cannot be used: ${problem}.`, {
    reason: 'exchange_failed',
    status,
    ...(remedy && { remedy }),
    hint: 'Check that `baseUrl` is the URL of the service, then start the login again.',
  })
}

type ExchangeReason = Extract<LoginErrorReason, 'invalid_grant' | 'invalid_client' | 'exchange_failed'>

function exchangeError({ status, challenge, text }: TokenResponse, secrets: readonly string[]): LoginError {
  const said = readErrorBody(text, withoutSecrets(challenge ?? '', secrets))
  const code = untrustedText(said.code, secrets)
  const description = untrustedText(said.description, secrets)
  const reason = reasonFor(status, code)
  const { message, hint } = refusals[reason]
  return new LoginError(`${message} (${status}${quote(code, description)}).`, {
    reason,
    status,
    code,
    description,
    hint,
  })
}

/** A 401 means a failed client authentication (RFC 6749, section 5.2), even with another code. */
function reasonFor(status: number, code: string | undefined): ExchangeReason {
  if (code === 'invalid_grant') return 'invalid_grant'
  return code === 'invalid_client' || status === 401 ? 'invalid_client' : 'exchange_failed'
}

const refusals: Readonly<Record<ExchangeReason, { readonly message: string; readonly hint: string }>> = {
  invalid_grant: {
    message: 'The service rejected the authorization code',
    hint: 'Start the login again. A code works once, for a short time, with the code verifier and redirect URI of its login.',
  },
  invalid_client: {
    message: 'The service rejected the app',
    hint: 'Check `clientId`, `clientSecret` and `clientAuthentication`, then start the login again.',
  },
  exchange_failed: {
    message: 'The token endpoint returned no token',
    hint: 'Check `baseUrl` or wait, then start the login again: the authorization code may have been used.',
  },
}
