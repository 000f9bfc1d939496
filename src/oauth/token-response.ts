import { processAuthorizationCodeResponse } from 'oauth4webapi'
import { LoginError, type LoginErrorReason } from '../errors/index.ts'
import { readErrorBody } from '../http/envelope.ts'
import { type JsonObject, parseObject } from '../json.ts'
import { AccessToken } from './access-token.ts'
import type { AppSettings } from './app-options.ts'
import type { TokenAnswer } from './token-request.ts'
import { quote, untrustedText } from './untrusted-text.ts'

/** What a token response is judged by. */
export interface ExpectedToken {
  /** The scopes asked for, when they are known here. */
  readonly requestedScope: string | undefined
  /** What no error may quote. */
  readonly secrets: readonly string[]
}

/** Turns the token endpoint's answer into the access token, or throws the `LoginError` that it is. */
export async function readTokenResponse(
  settings: AppSettings,
  answer: TokenAnswer,
  expected: ExpectedToken,
): Promise<AccessToken> {
  const body = parseObject(answer.text)
  const accepted = answer.status === 200 || answer.status === 201
  // Some services answer 200 to a refusal.
  if (!accepted || (body !== undefined && !('access_token' in body))) throw refusal(answer, expected.secrets)
  if (body === undefined) throw unusable(answer.status, 'is not a JSON object')
  const scope = scopeOf(body)
  const accessToken = await validate(settings, answer.status, { ...body, scope })
  return new AccessToken({
    accessToken,
    baseUrl: settings.baseUrl,
    clientId: settings.client.client_id,
    tokenType: String(body.token_type),
    scope: typeof scope === 'string' ? scope : (expected.requestedScope ?? ''),
    requestedScope: expected.requestedScope,
  })
}

/** The granted scopes. Some services send a list where RFC 6749, section 5.1 has a string. */
function scopeOf({ scope }: JsonObject): unknown {
  return Array.isArray(scope) && scope.every((name) => typeof name === 'string') ? scope.join(' ') : scope
}

/**
 * Only the documented fields go into the check (specification, section 4), a null one as if it were absent: a code is
 * spent by now, and a login must not fail over a field that nobody reads.
 */
async function validate(settings: AppSettings, status: number, body: JsonObject): Promise<string> {
  const { access_token, token_type, scope } = body
  const fields = { access_token, token_type, scope: scope ?? undefined }
  let checked: { readonly access_token: string; readonly token_type: string }
  try {
    const response = Response.json(fields)
    checked = await processAuthorizationCodeResponse(settings.server, settings.client, response)
  } catch {
    // The library's errors hold the body, and with it the token: none is kept as a cause.
    throw unusable(status, 'lacks a usable `access_token`, `token_type` or `scope`')
  }
  // A token goes into a header: visible ASCII (RFC 6750, section 2.1), or the header could be split.
  if (!/^[\x21-\x7e]+$/.test(checked.access_token))
    throw unusable(status, 'has an access token that no header can carry')
  if (checked.token_type !== 'bearer') throw unusable(status, 'has a token of another type than Bearer')
  return checked.access_token
}

function refusal(answer: TokenAnswer, secrets: readonly string[]): LoginError {
  const body = readErrorBody(answer.text, answer.headers.get('www-authenticate'))
  const code = untrustedText(body.code, secrets)
  const description = untrustedText(body.description, secrets)
  const reason = reasonFor(answer.status, code)
  const { status } = answer
  return new LoginError(`${sentences[reason]} (${status}${quote(code, description)}).`, {
    reason,
    status,
    code,
    description,
    hint: hints[reason],
  })
}

type ExchangeReason = Extract<LoginErrorReason, 'invalid_grant' | 'invalid_client' | 'exchange_failed'>

/** RFC 6749, section 5.2: a 401 is a failed client authentication, whatever its code. */
function reasonFor(status: number, code: string | undefined): ExchangeReason {
  if (code === 'invalid_grant') return 'invalid_grant'
  return code === 'invalid_client' || status === 401 ? 'invalid_client' : 'exchange_failed'
}

const sentences: Readonly<Record<ExchangeReason, string>> = {
  invalid_grant: 'The service does not accept the authorization code',
  invalid_client: 'The service does not accept the app',
  exchange_failed: 'The token endpoint did not give a token',
}

const hints: Readonly<Record<ExchangeReason, string>> = {
  invalid_grant:
    'A code is good once and for a short time, with its own verifier and redirect URI: start the login again.',
  invalid_client: 'Check client id and client secret, and `clientAuthentication`, then start the login again.',
  exchange_failed: 'Check `baseUrl`, or try later; the code may be spent, so start the login again.',
}

function unusable(status: number, what: string): LoginError {
  return new LoginError(`The answer of the token endpoint ${what}.`, {
    reason: 'exchange_failed',
    status,
    hint: 'Check `baseUrl`: it is to be the address of the service itself. Then start the login again.',
  })
}
