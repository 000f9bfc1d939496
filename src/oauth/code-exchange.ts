import {
  allowInsecureRequests,
  customFetch,
  genericTokenEndpointRequest,
  processGenericTokenEndpointResponse,
} from 'oauth4webapi'
import { withoutSecrets } from '../errors/redact.ts'
import { AccessToken } from '../shared/access-token.ts'
import { isAccessToken } from '../shared/credentials.ts'
import type { WebFetch } from '../shared/web-types.ts'
import type { AppSettings } from './app-options.ts'
import type { CheckedCallback } from './callback.ts'
import type { ClientCredentials } from './client-authentication.ts'
import { sendTokenRequest } from './token-request.ts'
import { type TokenFields, tokenFields, unusableResponse } from './token-response.ts'

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
  /** The granted scopes if the response names none. Empty if a browser could have changed the requested scopes. */
  readonly defaultScope: string
}

/**
 * Exchanges a code for an access token. The request is sent once, because a code works only once (RFC 6749, section
 * 4.1.2). oauth4webapi writes the request and checks the token. The SDK has checked the callback, sends the request and
 * reads the response.
 *
 * @throws LoginError `invalid_grant`, `invalid_client`, `exchange_failed`
 * @throws NetworkError when the connection fails
 * @throws TimeoutError when the response does not arrive in time
 */
export async function exchangeCode(
  settings: ExchangeSettings,
  grant: CheckedCallback,
  scopes: ExpectedScopes,
  signal: AbortSignal | undefined,
): Promise<AccessToken> {
  const { baseUrl, clientId, credentials, fetch, issuer, redirectUri, timeout } = settings
  const { code, codeVerifier, secrets } = grant
  const server = { issuer, token_endpoint: `${baseUrl}/api/oauth/token` }
  const client = { client_id: clientId }
  const progress: { received?: { readonly status: number; readonly fields: TokenFields } } = {}
  const response = await genericTokenEndpointRequest(
    server,
    client,
    credentials.authenticate,
    'authorization_code',
    { code, redirect_uri: redirectUri, code_verifier: codeVerifier },
    {
      // `baseUrl` has been checked.
      [allowInsecureRequests]: true,
      [customFetch]: async (url, { body, headers, method, redirect }) => {
        const { 'user-agent': _, ...ownHeaders } = headers
        const init = { method, headers: ownHeaders, body: body.toString(), redirect }
        const received = await sendTokenRequest({ url, init, fetch, timeout, signal, secrets })
        const fields = tokenFields(received, secrets)
        progress.received = { status: received.status, fields }
        return new Response(JSON.stringify(fields), { headers: { 'content-type': 'application/json' } })
      },
    },
  )
  const { status, fields } = progress.received as Required<typeof progress>['received']
  // Its error is dropped, because it holds the token.
  const token = await processGenericTokenEndpointResponse(server, client, response).catch(() => undefined)
  if (token?.token_type !== 'bearer' || !isAccessToken(token.access_token)) {
    const problem = 'it has no valid `access_token`, its `token_type` is not Bearer, or its `scope` is not a text'
    throw unusableResponse(status, problem, 'fix')
  }
  const { access_token: accessToken, scope = scopes.defaultScope } = token
  return new AccessToken({
    accessToken,
    baseUrl,
    clientId,
    // As sent.
    tokenType: fields.token_type as string,
    scope: withoutSecrets(scope, [accessToken, ...secrets]),
    requestedScope: scopes.requestedScope,
  })
}
