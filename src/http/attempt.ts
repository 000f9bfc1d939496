import { redact, safeCause } from '../errors/redact.ts'
import type { FetchInit, FetchResponse, WebAbortSignal } from '../web-types.ts'
import { checkAccessToken } from './authorization.ts'
import { type CallClock, TimeLimit, untilAborted } from './call-clock.ts'
import { globalFetch, isPlatformFetch } from './connect-error.ts'
import { readErrorBody, type Unwrapped, unwrap } from './envelope.ts'
import type { ResponseFacts } from './error-from-response.ts'
import { AttemptFailure, apiFailure, networkFailure, timeoutFailure, unexpectedFailure } from './failure.ts'
import type { PreparedRequest } from './request.ts'
import { BadFetch, isRedirect, isResponse, ResponseBody, ResponseHead, UnusableResponse } from './response.ts'
import { retryAfterOf } from './retry.ts'
import type { ClientSettings } from './settings.ts'
import { isValidated, validateResponse } from './validation.ts'

/** The data, cursors and response of a successful attempt. */
export interface ParsedResponse extends Unwrapped {
  readonly response: ResponseHead
}

/** What an attempt sends, and how far it has come. The steps stop on their own once the signal has aborted. */
interface Progress {
  readonly request: PreparedRequest
  readonly settings: ClientSettings
  readonly signal: AbortSignal
  /** Called immediately before the request is sent. */
  readonly onSend: (accessToken: string) => void
  accessToken?: string
  /** What no error may quote: the token, and the cursor of a page. */
  secrets?: readonly string[]
  isSent?: boolean
  head?: ResponseHead
  body?: ResponseBody
  /** What is known of an error response. Its body may never end. */
  refusal?: ResponseFacts
  /** Settles after `onInvalidToken`, with its error if it failed. */
  report?: Promise<unknown>
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
  const { signal, stop } = clock.start(timeout)
  const progress: Progress = { request, settings, signal, onSend }
  try {
    return await untilAborted(run(progress), signal)
  } catch (thrown) {
    throw toFailure(thrown, progress)
  } finally {
    stop()
  }
}

/** Returns what the attempt rejects with. */
function toFailure(thrown: unknown, progress: Progress): unknown {
  if (thrown instanceof AttemptFailure) return thrown
  const { request, settings, signal, secrets, isSent = false, head, body, refusal } = progress
  const { operation } = request
  body?.release()
  if (signal.aborted) {
    if (!(signal.reason instanceof TimeLimit)) return signal.reason
    if (refusal === undefined) return timeoutFailure(operation, signal.reason, isSent, head)
    void reportInvalidToken(progress, refusal)
    return apiFailure(refusal)
  }
  if (secrets === undefined) return thrown
  if (thrown instanceof UnusableResponse && head !== undefined) {
    return unexpectedFailure(operation, head, thrown.reason, thrown.message)
  }
  return networkFailure(operation, thrown, secrets, {
    url: request.url,
    isPlatformFetch: isPlatformFetch(settings.fetch ?? globalThis.fetch),
    sent: isSent,
    response: head,
  })
}

async function run(progress: Progress): Promise<ParsedResponse> {
  const { request, settings, signal } = progress
  signal.throwIfAborted()
  const accessToken = checkAccessToken(await settings.tokenSource.getAccessToken())
  const secrets = request.cursor === undefined ? [accessToken] : [accessToken, request.cursor]
  Object.assign(progress, { accessToken, secrets })
  const response = await send(progress, accessToken)
  const body = new ResponseBody(response)
  // A fetch that ignores the signal may resolve late, with a connection that must be released.
  if (signal.aborted) body.release()
  signal.throwIfAborted()
  const head = new ResponseHead(response, secrets)
  Object.assign(progress, { head, body })
  if (isRedirect(response)) throw new UnusableResponse('redirect', 'it redirects')
  if (response.status < 200 || response.status > 299) throw await readError(progress, head, body)
  const { data, cursors } = parseBody(await body.text(settings.maxResponseBytes), request, secrets)
  signal.throwIfAborted()
  if (!isValidated(request.operation, settings)) return { data, cursors, response: head }
  return { data: await validateResponse(request.operation, data, settings), cursors, response: head }
}

/** Calls `fetch`. */
async function send(progress: Progress, accessToken: string): Promise<FetchResponse> {
  const { request, settings, signal, onSend } = progress
  // A local variable, because a platform's fetch throws when called as a method of another object.
  const fetch = (settings.fetch ?? globalFetch()) as (url: string, init: FetchInit) => Promise<FetchResponse>
  signal.throwIfAborted()
  progress.isSent = true
  onSend(accessToken)
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

/** Returns the failure for an error status, even if the body cannot be read. */
async function readError(progress: Progress, head: ResponseHead, body: ResponseBody): Promise<AttemptFailure> {
  const { request, settings, secrets = [] } = progress
  const hasCursor = request.cursor !== undefined
  const safe = (words: string | undefined) => (words === undefined ? undefined : redact(words, secrets))
  const factsOf = (text: string): ResponseFacts => {
    const { code, description } = readErrorBody(text, head.get('www-authenticate'))
    return {
      operation: request.operation,
      hasCursor,
      response: head,
      body: { code: safe(code), description: safe(description) },
      grantedScopes: settings.scopes,
      retryAfter: retryAfterOf(head, head.status),
      cause: undefined,
    }
  }
  progress.refusal = factsOf('')
  const refusal = factsOf(await body.text(maxErrorBytes).catch(() => ''))
  progress.refusal = refusal
  const cause = await reportInvalidToken(progress, refusal)
  return apiFailure({ ...refusal, ...(cause !== undefined && { cause: safeCause(cause, secrets) }) })
}

/**
 * Calls `onInvalidToken` once if the service rejected the token. Returns its error instead of throwing it, which would
 * hide the 401.
 */
async function reportInvalidToken(progress: Progress, { response, body }: ResponseFacts): Promise<unknown> {
  if (response.status !== 401 || body.code !== 'invalid_token') return undefined
  const { settings, accessToken = '' } = progress
  progress.report ??= (async () => settings.tokenSource.onInvalidToken?.(accessToken))().then(
    () => undefined,
    (thrown: unknown) => thrown ?? new Error('onInvalidToken failed'),
  )
  return progress.report
}

function parseBody(text: string, { operation }: PreparedRequest, secrets: readonly string[]): Unwrapped {
  const envelope = operation.envelope ?? 'item'
  const mayBeEmpty = envelope === 'any' || envelope === 'none'
  const body = mayBeEmpty && text.trim() === '' ? undefined : parseJson(text)
  try {
    return unwrap(body, envelope)
  } catch (thrown) {
    const { code } = readErrorBody(text)
    if (!(thrown instanceof UnusableResponse) || code === undefined) throw thrown
    throw new UnusableResponse(thrown.reason, `${thrown.message}, but an error ${redact(code, secrets)}`)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UnusableResponse('not-json', text.trim() === '' ? 'the body is empty' : 'the body is not JSON')
  }
}
