import { processAuthorizationCodeResponse } from 'oauth4webapi'
import { isAccessToken } from '../credentials.ts'
import { LoginError, type LoginErrorReason } from '../errors/index.ts'
import { readErrorBody } from '../http/envelope.ts'
import { type JsonObject, parseObject } from '../json.ts'
import { AccessToken } from './access-token.ts'
import type { AppSettings } from './app-options.ts'
import { quote, untrustedText } from './untrusted-text.ts'

/** The response of the token endpoint, with its complete body. */
export interface TokenResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** What is known about a token response before it is read. */
export interface ExpectedToken {
  /** The granted scopes if the response names none: those of the request, unless a browser could have changed them. */
  readonly defaultScope: string
  /** The requested scopes, if they are known. */
  readonly requestedScope: string | undefined
  /** The secrets that no error may quote. */
  readonly secrets: readonly string[]
}

/**
 * Returns the access token of a token response.
 *
 * @throws LoginError `invalid_grant`, `invalid_client`, `exchange_failed`
 */
export async function readTokenResponse(
  settings: AppSettings,
  response: TokenResponse,
  expected: ExpectedToken,
): Promise<AccessToken> {
  const body = parseObject(response.text)
  const isSuccess = response.status === 200 || response.status === 201
  // Some services send errors with status 200.
  if (!isSuccess || (body !== undefined && !('access_token' in body))) throw exchangeError(response, expected.secrets)
  if (body === undefined) throw unusableResponse(response.status, 'it is not a JSON object')
  const scope = scopeOf(body)
  const accessToken = await checkToken(settings, response.status, { ...body, scope })
  return new AccessToken({
    accessToken,
    baseUrl: settings.baseUrl,
    clientId: settings.client.client_id,
    tokenType: String(body.token_type),
    scope: typeof scope === 'string' ? scope : expected.defaultScope,
    requestedScope: expected.requestedScope,
  })
}

/** The granted scopes. Some services send a list instead of the string of RFC 6749, section 5.1. */
function scopeOf({ scope }: JsonObject): unknown {
  return Array.isArray(scope) && scope.every((name) => typeof name === 'string') ? scope.join(' ') : scope
}

/**
 * Returns the access token of a valid body. Only the documented fields are checked (docs/service.md#login), and null
 * counts as absent: the code has been used, and a field that is not needed must not fail the login.
 */
async function checkToken(settings: AppSettings, status: number, body: JsonObject): Promise<string> {
  const { access_token, token_type, scope } = body
  const fields = { access_token, token_type, scope: scope ?? undefined }
  let checked: { readonly access_token: string; readonly token_type: string }
  try {
    checked = await processAuthorizationCodeResponse(settings.server, settings.client, Response.json(fields))
  } catch {
    // oauth4webapi's errors contain the token, so none becomes a cause.
    throw unusableResponse(status, 'it has no valid `access_token`, `token_type` or `scope`')
  }
  if (!isAccessToken(checked.access_token)) {
    throw unusableResponse(status, 'its access token contains characters that are not allowed in a header')
  }
  if (checked.token_type !== 'bearer') throw unusableResponse(status, 'its token type is not Bearer')
  return checked.access_token
}

export function unusableResponse(status: number, problem: string): LoginError {
  return new LoginError(`The response of the token endpoint cannot be used: ${problem}.`, {
    reason: 'exchange_failed',
    status,
    hint: 'Check that `baseUrl` is the URL of the service, then start the login again.',
  })
}

function exchangeError({ status, headers, text }: TokenResponse, secrets: readonly string[]): LoginError {
  const body = readErrorBody(text, headers.get('www-authenticate'))
  const code = untrustedText(body.code, secrets)
  const description = untrustedText(body.description, secrets)
  const reason = reasonFor(status, code)
  return new LoginError(`${messages[reason]} (${status}${quote(code, description)}).`, {
    reason,
    status,
    code,
    description,
    hint: hints[reason],
  })
}

type ExchangeReason = Extract<LoginErrorReason, 'invalid_grant' | 'invalid_client' | 'exchange_failed'>

/** A 401 means a failed client authentication (RFC 6749, section 5.2), even with another code. */
function reasonFor(status: number, code: string | undefined): ExchangeReason {
  if (code === 'invalid_grant') return 'invalid_grant'
  return code === 'invalid_client' || status === 401 ? 'invalid_client' : 'exchange_failed'
}

const messages: Readonly<Record<ExchangeReason, string>> = {
  invalid_grant: 'The service rejected the authorization code',
  invalid_client: 'The service rejected the app',
  exchange_failed: 'The token endpoint returned no token',
}

const hints: Readonly<Record<ExchangeReason, string>> = {
  invalid_grant:
    'Start the login again. A code works once, for a short time, with the code verifier and redirect URI of its login.',
  invalid_client: 'Check `clientId`, `clientSecret` and `clientAuthentication`, then start the login again.',
  exchange_failed: 'Check `baseUrl` or wait, then start the login again: the authorization code may have been used.',
}
