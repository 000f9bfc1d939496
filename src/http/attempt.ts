import type { ResponseInfo } from '../errors/index.ts'
import { redact, safeCause } from '../errors/redact.ts'
import type { FetchInit, FetchResponse, WebAbortSignal } from '../web-types.ts'
import { checkAccessToken } from './authorization.ts'
import { type CallClock, TimeLimit, untilAborted } from './call-clock.ts'
import { globalFetch, isPlatformFetch } from './connect-error.ts'
import { readErrorBody, type Unwrapped, unwrap } from './envelope.ts'
import { AttemptFailure, apiFailure, networkFailure, timeoutFailure, unexpectedFailure } from './failure.ts'
import type { PreparedRequest } from './request.ts'
import { BadFetch, discardBody, isRedirect, isResponse, readText, responseInfo, UnusableResponse } from './response.ts'
import { retryAfterOf } from './retry.ts'
import type { ClientSettings } from './settings.ts'
import { validateResponse } from './validation.ts'

/** The data, cursors and response info of a successful response. */
export interface ParsedResponse extends Unwrapped {
  readonly response: ResponseInfo
}

/** Shared by the steps of an attempt. */
interface Context {
  readonly request: PreparedRequest
  readonly settings: ClientSettings
  readonly signal: AbortSignal
  readonly accessToken: string
}

/** Longer error bodies are ignored, in bytes. */
const maxErrorBytes = 64 * 1024

/**
 * Sends a request once, reads the response and validates it, within one timeout. Rejects with an `AttemptFailure`, the
 * caller's abort reason, or the token provider's error.
 *
 * @param onSend called immediately before the request is sent
 */
export async function attempt(
  request: PreparedRequest,
  settings: ClientSettings,
  clock: CallClock,
  timeout: number,
  onSend: (accessToken: string) => void,
): Promise<ParsedResponse> {
  const { operation } = request
  const { signal, stop } = clock.startAttempt(timeout)
  let context: Context | undefined
  let sent = false
  let sending: Promise<FetchResponse> | undefined
  let info: ResponseInfo | undefined
  try {
    const accessToken = checkAccessToken(await untilAborted(askToken(settings), signal))
    context = { request, settings, signal, accessToken }
    sending = send(context, () => {
      sent = true
      onSend(accessToken)
    })
    const response = await untilAborted(sending, signal)
    info = responseInfo(response, [accessToken])
    const { data, cursors } = await readResponse(context, response, info)
    const checked = await untilAborted(validateResponse(operation, data, settings), signal)
    return { data: checked, cursors, response: info }
  } catch (thrown) {
    if (thrown instanceof AttemptFailure) throw thrown
    // A fetch that ignores the signal may still resolve with a response, whose connection must be released.
    sending?.then(discardBody).catch(() => {})
    if (signal.aborted) {
      throw signal.reason instanceof TimeLimit ? timeoutFailure(operation, signal.reason, sent, info) : signal.reason
    }
    if (context === undefined) throw thrown
    if (thrown instanceof UnusableResponse && info !== undefined) {
      throw unexpectedFailure(operation, info, thrown.reason, thrown.message)
    }
    throw networkFailure(operation, thrown, [context.accessToken], {
      url: request.url,
      isPlatformFetch: isPlatformFetch(settings.fetch ?? globalThis.fetch),
      sent,
      response: info,
    })
  } finally {
    stop()
  }
}

/** Rejects if the token provider throws synchronously. */
async function askToken({ tokenSource }: ClientSettings): Promise<string> {
  return tokenSource.getAccessToken()
}

/** Calls `fetch`. */
async function send({ request, settings, signal, accessToken }: Context, onSend: () => void): Promise<FetchResponse> {
  // A local variable, because a platform's fetch throws when called as a method of another object.
  const fetch = (settings.fetch ?? globalFetch()) as (url: string, init: FetchInit) => Promise<FetchResponse>
  onSend()
  // The hook may have aborted the call, and a custom fetch may ignore its signal.
  signal.throwIfAborted()
  const response: FetchResponse | undefined = await fetch(request.url, {
    method: request.operation.method,
    headers: { ...request.headers, authorization: `Bearer ${accessToken}` },
    ...(request.body !== undefined && { body: request.body }),
    redirect: 'manual',
    signal: signal as WebAbortSignal,
  })
  if (isResponse(response)) return response
  throw new BadFetch('the `fetch` option returned no Response')
}

async function readResponse(context: Context, response: FetchResponse, info: ResponseInfo): Promise<Unwrapped> {
  const { settings, signal, accessToken } = context
  const { operation } = context.request
  if (isRedirect(response)) throw new UnusableResponse('redirect', 'it redirects')
  if (response.status < 200 || response.status > 299) throw await readError(context, response, info)
  const text = await readText(response, settings.maxResponseBytes, signal)
  const envelope = operation.envelope ?? 'item'
  const mayBeEmpty = envelope === 'any' || envelope === 'none'
  const body = text.trim() === '' && mayBeEmpty ? undefined : parseJson(text)
  try {
    return unwrap(body, envelope)
  } catch (thrown) {
    const { code } = readErrorBody(text)
    if (!(thrown instanceof UnusableResponse) || code === undefined) throw thrown
    throw new UnusableResponse(thrown.reason, `${thrown.message}, but an error ${redact(code, [accessToken])}`)
  }
}

/** Returns the failure for an error status, even if the body cannot be read. */
async function readError(context: Context, response: FetchResponse, info: ResponseInfo): Promise<AttemptFailure> {
  const { request, settings, signal, accessToken } = context
  const text = await readText(response, maxErrorBytes, signal).catch(() => '')
  const { code, description } = readErrorBody(text, response.headers.get('www-authenticate'))
  const safe = (words: string | undefined) => (words === undefined ? undefined : redact(words, [accessToken]))
  const cause = info.status === 401 && code === 'invalid_token' ? await reportInvalidToken(context) : undefined
  if (signal.aborted && !(signal.reason instanceof TimeLimit)) throw signal.reason
  return apiFailure({
    operation: request.operation,
    response: info,
    body: { code: safe(code), description: safe(description) },
    grantedScopes: settings.scopes,
    retryAfter: retryAfterOf(response.headers),
    cause: cause === undefined ? undefined : safeCause(cause, [accessToken]),
  })
}

/** Calls `onInvalidToken`. Returns its error instead of throwing it, which would hide the 401. */
async function reportInvalidToken({ settings, signal, accessToken }: Context): Promise<unknown> {
  const report = async () => settings.tokenSource.onInvalidToken?.(accessToken)
  return untilAborted(report(), signal).then(
    () => undefined,
    (thrown: unknown) => (signal.aborted ? undefined : (thrown ?? new Error('onInvalidToken failed'))),
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UnusableResponse('not-json', text.trim() === '' ? 'the body is empty' : 'the body is not JSON')
  }
}
