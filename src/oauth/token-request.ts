import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type ClientAuth,
  ClientSecretPost,
  customFetch,
} from 'oauth4webapi'
import { InvalidArgumentError, LoginError, NetworkError, type Outcome, TimeoutError } from '../errors/index.ts'
import { safeCause } from '../errors/redact.ts'
import { CallClock, TimeLimit, untilAborted } from '../http/call-clock.ts'
import { isConnectError, isPlatformFetch } from '../http/connect-error.ts'
import { discardBody, isRedirect, readText, UnusableResponse } from '../http/response.ts'
import type { WebAbortSignal, WebFetch } from '../web-types.ts'
import type { AppSettings } from './app-options.ts'
import { formEncode } from './untrusted-text.ts'

/** What the code exchange needs beside the app's settings. */
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

/** The token endpoint's answer, read to its end. */
export interface TokenAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** The id of the exchange on the errors of a request. */
const operation = 'oauth.token'

/** The longest answer that is read, in bytes. A token answer has a few hundred. */
const longestBody = 1_048_576

/** Sends the code exchange, once, and reads the answer: a code is good for one try only (RFC 6749, section 4.1.2). */
export async function requestToken(
  settings: ExchangeSettings,
  grant: CodeGrant,
  signal: AbortSignal | undefined,
): Promise<TokenAnswer> {
  signal?.throwIfAborted()
  const clock = new CallClock(signal, settings.timeout)
  const startedAt = Date.now()
  const start = performance.now()
  try {
    const response = await untilAborted(send(settings, grant, clock.signal), clock.signal)
    if (isRedirect(response)) {
      discardBody(response)
      throw unusable(response.status, 'it redirects, and the code exchange carries the client secret')
    }
    const text = await readText(response, longestBody, clock.signal).catch((error: unknown) => {
      throw error instanceof UnusableResponse ? unusable(response.status, error.message) : error
    })
    return { status: response.status, headers: response.headers, text }
  } catch (error) {
    if (error instanceof LoginError) throw error
    const attempts = [{ startedAt, duration: performance.now() - start, error: nameOf(error) }]
    if (!clock.signal.aborted) throw broken(settings, error, grant.secrets, attempts)
    const reason: unknown = clock.signal.reason
    if (!(reason instanceof TimeLimit)) throw reason
    throw new TimeoutError(`The token endpoint did not answer within ${reason.timeout} ms.`, {
      operation,
      outcome: 'unknown',
      attempts,
      limit: 'attempt',
      timeout: reason.timeout,
      hint: 'The code may be spent: start the login again.',
    })
  } finally {
    clock.stop()
  }
}

async function send(settings: ExchangeSettings, grant: CodeGrant, signal: AbortSignal): Promise<Response> {
  const { server, client, credentials, redirectUri } = settings
  const fetch = settings.fetch ?? ((url, init) => globalThis.fetch(url, init as RequestInit))
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
        return (await fetch(url, init)) as Response
      },
    },
  )
}

function unusable(status: number, problem: string): LoginError {
  return new LoginError(`The response of the token endpoint cannot be used: ${problem}.`, {
    reason: 'exchange_failed',
    status,
    hint: 'Check `baseUrl`: it must be the address of the service itself. Then start the login again.',
  })
}

function broken(
  { fetch, server }: ExchangeSettings,
  error: unknown,
  secrets: readonly string[],
  attempts: NetworkError['attempts'],
): NetworkError {
  // A function of the caller's may have sent the code before it failed: only the platform's own errors prove anything.
  const notSent = isPlatformFetch(fetch ?? globalThis.fetch) && isConnectError(error, server.token_endpoint)
  const outcome: Outcome = notSent ? 'not-sent' : 'unknown'
  return new NetworkError('The connection to the token endpoint failed.', {
    operation,
    outcome,
    attempts,
    cause: safeCause(error, secrets),
    hint:
      outcome === 'not-sent'
        ? 'Nothing was sent: check `baseUrl` and the network, then start the login again.'
        : 'The code may be spent: start the login again.',
  })
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error
}

/** How the app proves itself to the token endpoint (RFC 6749, section 2.3.1). */
export type ClientAuthentication = 'client_secret_post' | 'client_secret_basic'

/** The chosen way, and every form of the secret that it puts on the wire. */
export interface ClientCredentials {
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
    // The form encoding that RFC 6749 asks for, but not the library's, which encodes even `_` and `-`: a service that
    // forgets to decode would then see another client id.
    const credentials = btoa(`${formEncode(clientId)}:${formEncode(clientSecret)}`)
    return {
      authenticate: (_server, _client, _body, headers) => headers.set('authorization', `Basic ${credentials}`),
      secrets: [clientSecret, credentials],
    }
  }
  throw new InvalidArgumentError(
    'clientAuthentication',
    '`clientAuthentication` is not a known method.',
    'Pass "client_secret_post" (the default) or "client_secret_basic".',
  )
}
