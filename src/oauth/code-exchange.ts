import ky, { isTimeoutError } from 'ky'
import {
  BadFetch,
  classifyFetchError,
  type FetchFault,
  isPlatformFetch,
  isRedirect,
  OpenResponse,
  readErrorBody,
  UnusableResponse,
} from '../core/index.ts'
import { forwardAbort, throwIfAborted, untilAborted } from '../shared/abort.ts'
import { AccessToken } from '../shared/access-token.ts'
import { isAccessToken } from '../shared/credentials.ts'
import {
  type Attempt,
  InvalidArgumentError,
  LoginError,
  type LoginErrorReason,
  NetworkError,
  TimeoutError,
} from '../shared/errors/index.ts'
import { innermost, safeCause, withoutSecrets } from '../shared/errors/redact.ts'
import { parseObject } from '../shared/json.ts'
import type { FetchResponse, WebAbortSignal, WebFetch } from '../shared/web-types.ts'
import type { AppSettings } from './app-options.ts'
import { type CheckedCallback, quote, untrustedText } from './callback.ts'

/** How the app authenticates to the token endpoint (RFC 6749, section 2.3.1). */
export type ClientAuthentication = 'client_secret_post' | 'client_secret_basic'

/** What the client authentication adds to a token request. */
export interface ClientCredentials {
  readonly form: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  /** Every form of the secret that is sent. */
  readonly secrets: readonly string[]
}

export function clientCredentials(method: ClientAuthentication, clientId: string, secret: string): ClientCredentials {
  if (method === 'client_secret_post') {
    return { form: { client_id: clientId, client_secret: secret }, headers: {}, secrets: [secret] }
  }
  if (method === 'client_secret_basic') {
    const credentials = btoa(`${formEncode(clientId)}:${formEncode(secret)}`)
    return { form: {}, headers: { authorization: `Basic ${credentials}` }, secrets: [secret, credentials] }
  }
  throw new InvalidArgumentError(
    'clientAuthentication',
    '`clientAuthentication` must be a supported method.',
    'Pass "client_secret_post" (the default) or "client_secret_basic".',
  )
}

/** Encodes text as RFC 6749 requires. Common ids stay unchanged, because some services do not decode them. */
function formEncode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}

/** What the code exchange needs in addition to the app's settings. */
export interface ExchangeSettings extends AppSettings {
  readonly credentials: ClientCredentials
  readonly fetch: WebFetch | undefined
  readonly timeout: number
}

/** The scopes that are known before the response. */
interface ExpectedScopes {
  /** The requested scopes, if they are known. */
  readonly requestedScope: string | undefined
  /** The granted scopes if the response names none: those of the request, unless a browser could have changed them. */
  readonly defaultScope: string
}

/**
 * Exchanges a code for an access token. Sent once, because a code works only once (RFC 6749, section 4.1.2).
 *
 * @throws LoginError `invalid_grant`, `invalid_client`, `exchange_failed`
 * @throws NetworkError when the connection fails
 * @throws TimeoutError when the response does not arrive in time
 */
export async function exchangeCode(
  settings: ExchangeSettings,
  grant: CheckedCallback,
  scopes: ExpectedScopes,
  signal: WebAbortSignal | undefined,
): Promise<AccessToken> {
  const response = await requestToken(settings, grant, signal)
  return readToken(settings, response, scopes, grant.secrets)
}

/** The response of the token endpoint, read completely. */
interface TokenResponse {
  readonly status: number
  /** The `WWW-Authenticate` header. */
  readonly challenge: string | null
  readonly text: string
}

/** How far a token request has come. `fetch` and the body may never settle. */
interface Progress {
  opened?: OpenResponse
  response?: TokenResponse
  /** What `fetch` or the body rejected with. */
  failure?: unknown
}

/** The operation id in the errors of the exchange. */
const operation = 'oauth.token'

const startAgain = 'The authorization code may have been used: start the login again.'

async function requestToken(
  settings: ExchangeSettings,
  grant: CheckedCallback,
  caller: WebAbortSignal | undefined,
): Promise<TokenResponse> {
  const { fetch = globalThis.fetch as WebFetch, timeout } = settings
  const url = `${settings.baseUrl}/api/oauth/token`
  const init = tokenRequest(settings, grant)
  const controller = new AbortController()
  const unfollow = forwardAbort(caller as AbortSignal | undefined, controller)
  const startedAt = Date.now()
  const start = performance.now()
  const from = isPlatformFetch(settings.fetch) ? 'platform' : 'custom'
  const progress: Progress = {}
  const send = async ({ signal }: { readonly signal: AbortSignal }) => {
    const sending = receive(fetch(url, { ...init, signal: signal as WebAbortSignal }), progress, signal)
    progress.response = await untilAborted(sending, signal).catch((thrown: unknown) => {
      progress.failure = thrown
      // Not the error itself, because there are some after which ky would send the code again.
      throw new Error('The token request failed.')
    })
    return new Response()
  }
  try {
    const options = { signal: controller.signal, timeout: Math.ceil(timeout), retry: 0 }
    await ky.post(url, { ...options, fetch: (request) => send(request as Request) })
    return progress.response as TokenResponse
  } catch (thrown) {
    progress.opened?.release()
    if (progress.failure instanceof LoginError) throw progress.failure
    const hasExpired = isTimeoutError(thrown)
    throwIfAborted(caller)
    // Never the name of the error: a custom fetch can set it to anything, even to a secret.
    const { kind } = hasExpired ? TimeoutError : NetworkError
    const attempts = [{ startedAt, duration: Math.round(performance.now() - start), error: kind }]
    if (hasExpired) throw timeoutError(timeout, attempts)
    const fault = classifyFetchError(progress.failure, progress.opened === undefined ? from : 'body')
    throw networkError(progress.failure, fault, attempts, grant.secrets)
  } finally {
    unfollow()
  }
}

/** Returns the form of the specification (docs/service.md#login). */
function tokenRequest({ redirectUri, credentials }: ExchangeSettings, { code, codeVerifier }: CheckedCallback) {
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    code_verifier: codeVerifier,
    ...credentials.form,
  })
  return {
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded;charset=UTF-8',
      ...credentials.headers,
    },
    body: form.toString(),
    redirect: 'manual',
  } as const
}

/** The maximum size of a response, in bytes. A token response has a few hundred. */
const maxBodySize = 1_048_576

async function receive(
  sending: Promise<FetchResponse>,
  progress: Progress,
  signal: AbortSignal,
): Promise<TokenResponse> {
  const opened = new OpenResponse(await sending, signal)
  progress.opened = opened
  const { status, headers } = opened.response
  if (isRedirect(opened.response))
    throw unusableResponse(status, 'it is a redirect, and the code exchange carries the client secret')
  const text = await opened.text(maxBodySize).catch((thrown: unknown) => {
    throw thrown instanceof UnusableResponse ? unusableResponse(status, thrown.message) : thrown
  })
  return { status, challenge: headers.get('www-authenticate'), text }
}

function timeoutError(timeout: number, attempts: readonly Attempt[]): TimeoutError {
  return new TimeoutError(`The token endpoint did not respond within ${timeout} ms.`, {
    operation,
    outcome: 'unknown',
    remedy: 'reconnect',
    attempts,
    limit: 'attempt',
    timeout,
    hint: startAgain,
  })
}

function networkError(
  error: unknown,
  fault: FetchFault,
  attempts: readonly Attempt[],
  secrets: readonly string[],
): NetworkError {
  const cause = safeCause(error, secrets)
  const what = error instanceof BadFetch ? 'The code exchange failed' : 'The connection to the token endpoint failed'
  const checkNetwork = 'Check the network, any proxy and `baseUrl`, then start the login again.'
  const hint = fault.hint === undefined ? startAgain : `${startAgain} ${fault.hint}`
  return new NetworkError(`${what}: ${innermost(cause).message.replace(/\.$/, '')}.`, {
    operation,
    outcome: fault.outcome,
    remedy: fault.remedy === 'fix' ? 'fix' : 'reconnect',
    attempts,
    cause,
    hint: fault.outcome === 'not-sent' ? `Nothing was sent. ${fault.hint ?? checkNetwork}` : hint,
  })
}

/**
 * Returns the access token of a response. Only the documented fields are checked (docs/service.md#login), and null counts
 * as absent: the code has been used, and a field that is not needed must not fail the login.
 */
function readToken(
  { baseUrl, clientId }: ExchangeSettings,
  response: TokenResponse,
  { requestedScope, defaultScope }: ExpectedScopes,
  secrets: readonly string[],
): AccessToken {
  const { status, text } = response
  if (status !== 200 && status !== 201) throw exchangeError(response, secrets)
  const body = parseObject(text)
  if (body === undefined) throw unusableResponse(status, 'it is not a JSON object')
  // Some services send errors with status 200.
  if (!('access_token' in body)) throw exchangeError(response, secrets)
  const { access_token: accessToken, token_type: tokenType } = body
  if (!isAccessToken(accessToken)) throw unusableResponse(status, 'it has no valid `access_token`')
  if (typeof tokenType !== 'string' || tokenType.toLowerCase() !== 'bearer') {
    throw unusableResponse(status, 'its `token_type` is not Bearer')
  }
  const scope = readScope(body.scope ?? defaultScope)
  if (scope === undefined) throw unusableResponse(status, 'it has no valid `scope`')
  const safeScope = withoutSecrets(scope, [accessToken, ...secrets])
  return new AccessToken({ accessToken, baseUrl, clientId, tokenType, scope: safeScope, requestedScope })
}

/** Returns the granted scopes. Some services send a list instead of the string of RFC 6749, section 5.1. */
function readScope(scope: unknown): string | undefined {
  if (typeof scope === 'string') return scope
  return Array.isArray(scope) && scope.every((name) => typeof name === 'string') ? scope.join(' ') : undefined
}

function unusableResponse(status: number, problem: string): LoginError {
  return new LoginError(`The response of the token endpoint cannot be used: ${problem}.`, {
    reason: 'exchange_failed',
    status,
    hint: 'Check that `baseUrl` is the URL of the service, then start the login again.',
  })
}

type ExchangeReason = Extract<LoginErrorReason, 'invalid_grant' | 'invalid_client' | 'exchange_failed'>

function exchangeError({ status, challenge, text }: TokenResponse, secrets: readonly string[]): LoginError {
  const said = readErrorBody(text, challenge)
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
