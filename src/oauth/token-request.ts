import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type ClientAuth,
  ClientSecretPost,
  customFetch,
} from 'oauth4webapi'
import { throwIfAborted, untilAborted } from '../abort.ts'
import { InvalidArgumentError, LoginError, NetworkError, TimeoutError } from '../errors/index.ts'
import { innermost, safeCause } from '../errors/redact.ts'
import { CallClock } from '../http/call-clock.ts'
import { classifyFetchError, type FetchFault, isPlatformFetch, unproven } from '../http/fetch-error.ts'
import { BadFetch, isRedirect, isResponse, ResponseBody, UnusableResponse } from '../http/response.ts'
import type { WebAbortSignal, WebFetch } from '../web-types.ts'
import type { AppSettings } from './app-options.ts'
import { type TokenResponse, unusableResponse } from './token-response.ts'
import { formEncode } from './untrusted-text.ts'

/** How the app authenticates to the token endpoint (RFC 6749, section 2.3.1). */
export type ClientAuthentication = 'client_secret_post' | 'client_secret_basic'

/** The client authentication, and every form of the secret that it sends. */
interface ClientCredentials {
  readonly authenticate: ClientAuth
  readonly secrets: readonly string[]
}

export function clientCredentials(
  method: ClientAuthentication,
  clientId: string,
  clientSecret: string,
): ClientCredentials {
  if (method === 'client_secret_post') {
    return { authenticate: ClientSecretPost(clientSecret), secrets: [clientSecret] }
  }
  if (method === 'client_secret_basic') {
    // Form-encoded as RFC 6749 requires. oauth4webapi also encodes `_` and `-`, and a service that does not decode them
    // would see a different client id.
    const credentials = btoa(`${formEncode(clientId)}:${formEncode(clientSecret)}`)
    return {
      authenticate: (_server, _client, _body, headers) => headers.set('authorization', `Basic ${credentials}`),
      secrets: [clientSecret, credentials],
    }
  }
  throw new InvalidArgumentError(
    'clientAuthentication',
    '`clientAuthentication` must be a supported method.',
    'Pass "client_secret_post" (the default) or "client_secret_basic".',
  )
}

/** What the code exchange needs in addition to the app's settings. */
export interface ExchangeSettings extends AppSettings {
  readonly credentials: ClientCredentials
  readonly fetch: WebFetch | undefined
  readonly timeout: number
}

/** The grant to exchange, and the secrets that no error may quote. */
export interface CodeGrant {
  /** Branded by oauth4webapi. */
  readonly parameters: URLSearchParams
  readonly codeVerifier: string
  readonly secrets: readonly string[]
}

/** The operation id in the errors of the exchange. */
const operation = 'oauth.token'

/** The maximum size of a response, in bytes. A token response has a few hundred. */
const maxBodySize = 1_048_576

const startAgain = 'The authorization code may have been used: start the login again.'

/** Sends the code exchange and reads the response. Never retried, as a code works only once (RFC 6749, section 4.1.2). */
export async function requestToken(
  settings: ExchangeSettings,
  grant: CodeGrant,
  signal: AbortSignal | undefined,
): Promise<TokenResponse> {
  throwIfAborted(signal)
  const clock = new CallClock(signal, settings.timeout)
  const startedAt = Date.now()
  const start = performance.now()
  const fetch = settings.fetch ?? (globalThis.fetch as WebFetch)
  const canProve = isPlatformFetch(fetch)
  const sending = send(settings, fetch, grant, clock.signal)
  let body: ResponseBody | undefined
  try {
    const response = await untilAborted(sending, clock.signal)
    body = new ResponseBody(response)
    if (isRedirect(response)) {
      throw unusableResponse(response.status, 'it is a redirect, and the code exchange carries the client secret')
    }
    const reading = body.text(maxBodySize).catch((error: unknown) => {
      throw error instanceof UnusableResponse ? unusableResponse(response.status, error.message) : error
    })
    return { status: response.status, headers: response.headers, text: await untilAborted(reading, clock.signal) }
  } catch (error) {
    // A fetch that ignores the signal may resolve late.
    if (body === undefined) sending.then((late) => new ResponseBody(late).release()).catch(() => {})
    body?.release()
    if (error instanceof LoginError) throw error
    const reason: unknown = clock.signal.reason
    // Never the name of the error: a custom fetch can set it to anything, even to a secret.
    const { kind } = clock.hasExpired ? TimeoutError : NetworkError
    const attempts = [{ startedAt, duration: Math.round(performance.now() - start), error: kind }]
    if (!clock.signal.aborted) {
      const fault = body === undefined ? classifyFetchError(error, canProve) : unproven
      throw networkError(error, fault, grant.secrets, attempts)
    }
    if (!clock.hasExpired) throw reason
    throw new TimeoutError(`The token endpoint did not respond within ${settings.timeout} ms.`, {
      operation,
      outcome: 'unknown',
      remedy: 'reconnect',
      attempts,
      limit: 'attempt',
      timeout: settings.timeout,
      hint: startAgain,
    })
  } finally {
    clock.stop()
  }
}

async function send(
  { server, client, credentials, redirectUri }: ExchangeSettings,
  fetch: WebFetch,
  grant: CodeGrant,
  signal: AbortSignal,
): Promise<Response> {
  return await authorizationCodeGrantRequest(
    server,
    client,
    credentials.authenticate,
    grant.parameters,
    redirectUri,
    grant.codeVerifier,
    {
      signal,
      [allowInsecureRequests]: server.token_endpoint.startsWith('http:'),
      [customFetch]: async (url, { body, headers, method }) => {
        const init = {
          method,
          headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' },
          body: body.toString(),
          redirect: 'manual',
          signal: signal as WebAbortSignal,
        } as const
        const response: unknown = await fetch(url, init)
        if (isResponse(response)) return response as Response
        throw new BadFetch('the `fetch` option returned no Response')
      },
    },
  )
}

function networkError(
  error: unknown,
  fault: FetchFault,
  secrets: readonly string[],
  attempts: NetworkError['attempts'],
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
