import {
  BadFetch,
  CallClock,
  classifyFetchError,
  type FetchFault,
  isPlatformFetch,
  isRedirect,
  MissingFetch,
  OpenResponse,
  UnusableResponse,
} from '../core/index.ts'
import { type Attempt, NetworkError, TimeoutError } from '../errors/index.ts'
import { innermost, safeCause } from '../errors/redact.ts'
import type { FetchInit, WebFetch } from '../shared/web-types.ts'
import { type TokenResponse, unusableResponse } from './token-response.ts'

/** A token request that is sent once. */
export interface TokenRequest {
  readonly url: string
  readonly init: Omit<FetchInit, 'signal'>
  readonly fetch: WebFetch | undefined
  /** In milliseconds, including reading the response. */
  readonly timeout: number
  readonly signal: AbortSignal | undefined
  /** Texts that errors must not quote. */
  readonly secrets: readonly string[]
}

/**
 * Sends the request once, and reads its response. A redirect is an error.
 *
 * @throws LoginError `exchange_failed` when the response cannot be read
 * @throws NetworkError when the connection fails
 * @throws TimeoutError when the response does not arrive in time
 */
export async function sendTokenRequest(request: TokenRequest): Promise<TokenResponse> {
  const { timeout } = request
  const from = isPlatformFetch(request.fetch) ? 'platform' : 'custom'
  const clock = new CallClock(request.signal, Number.POSITIVE_INFINITY)
  // An object, because a timeout can end the wait while `fetch` or the body is pending.
  const progress: { opened?: OpenResponse } = {}
  const startedAt = Date.now()
  const start = performance.now()
  // The error's name is left out, because a custom fetch can set it to anything, even to a secret.
  const attempt = (error: string): Attempt => ({ startedAt, duration: Math.round(performance.now() - start), error })
  let late: TimeoutError | undefined
  try {
    clock.throwIfOver()
    return await clock.run(receive(request, clock.signal, progress), timeout, () => {
      late = timeoutError(timeout, attempt(TimeoutError.kind))
      return late
    })
  } catch (thrown) {
    const { opened } = progress
    opened?.release()
    if (clock.end !== undefined) throw clock.end.reason
    if (late !== undefined) throw late
    if (opened !== undefined && thrown instanceof UnusableResponse) {
      throw unusableResponse(opened.response.status, thrown.message)
    }
    const error = thrown ?? new BadFetch('the `fetch` option failed without an error')
    const fault = classifyFetchError(error, opened === undefined ? from : 'body')
    throw networkError(error, fault, attempt(NetworkError.kind), request.secrets)
  } finally {
    clock.stop()
  }
}

/** The maximum size of a response, in bytes. A token response has a few hundred. */
const maxBodySize = 1_048_576

async function receive(
  request: TokenRequest,
  signal: AbortSignal,
  progress: { opened?: OpenResponse },
): Promise<TokenResponse> {
  // A local variable, because a platform's fetch throws when called as a method of another object.
  const { url, init, fetch = globalThis.fetch as WebFetch } = request
  if (typeof fetch !== 'function') throw new MissingFetch()
  const opened = new OpenResponse(await fetch(url, { ...init, signal }), signal)
  progress.opened = opened
  const { response } = opened
  if (isRedirect(response)) {
    throw new UnusableResponse('redirect', 'it is a redirect, and the code exchange carries the client secret')
  }
  const text = await opened.text(maxBodySize)
  return { status: response.status, challenge: response.headers.get('www-authenticate'), text }
}

/** The operation id in the errors of the exchange. */
const operation = 'oauth.token'

const startAgain = 'The authorization code may have been used: start the login again.'

function timeoutError(timeout: number, attempt: Attempt): TimeoutError {
  return new TimeoutError(`The token endpoint did not respond within ${timeout} ms.`, {
    operation,
    outcome: 'unknown',
    remedy: 'reconnect',
    attempts: [attempt],
    limit: 'attempt',
    timeout,
    hint: startAgain,
  })
}

function networkError(error: unknown, fault: FetchFault, attempt: Attempt, secrets: readonly string[]): NetworkError {
  const cause = safeCause(error, secrets)
  const what = error instanceof BadFetch ? 'The code exchange failed' : 'The connection to the token endpoint failed'
  const checkNetwork = 'Check the network, any proxy and `baseUrl`, then start the login again.'
  const hint = fault.hint === undefined ? startAgain : `${startAgain} ${fault.hint}`
  const reason = innermost(cause).message.replace(/\.$/, '')
  return new NetworkError(`${what}: ${reason}.`, {
    operation,
    outcome: fault.outcome,
    remedy: fault.remedy === 'fix' ? 'fix' : 'reconnect',
    attempts: [attempt],
    cause,
    hint: fault.outcome === 'not-sent' ? `Nothing was sent. ${fault.hint ?? checkNetwork}` : hint,
  })
}
