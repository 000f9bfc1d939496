import type { ResponseInfo } from '../errors/index.ts'
import { redact } from '../errors/redact.ts'
import type { Operation } from '../operation.ts'
import type { FetchInit, FetchResponse, WebAbortSignal } from '../web-types.ts'
import { untilAborted } from './abort.ts'
import type { AttemptResult } from './attempt-result.ts'
import { checkAccessToken } from './authorization.ts'
import { type CallClock, TimeLimit } from './call-clock.ts'
import { checkReply } from './check-reply.ts'
import { unwrap } from './envelope.ts'
import { readErrorBody } from './error-body.ts'
import { apiFailure, connectionFailure, type Failure, timeoutFailure, unexpectedFailure, withCause } from './failure.ts'
import { isPlatformFetch } from './platform-fetch.ts'
import { BadFetch, BodyNotText, BodyTooLarge, discardBody, isRedirect, readText, responseInfo } from './response.ts'
import { retryAfterOf } from './retry-after.ts'
import type { Settings } from './settings.ts'

/** A request, kept as values so that each attempt builds its own. */
export interface PreparedRequest {
  readonly operation: Operation
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** What the steps of one attempt share. */
interface Context {
  readonly request: PreparedRequest
  readonly settings: Settings
  readonly signal: AbortSignal
  readonly accessToken: string
}

/** An error body longer than this says nothing that the error would keep. */
const maxErrorBytes = 64 * 1024

/**
 * Sends a request once, reads its response to the end and checks it, within one timeout. Rejects only with the caller's
 * reason, or with what the token provider throws.
 *
 * @param onSend called once there is a token, right before the request is sent
 */
export async function attempt(
  request: PreparedRequest,
  settings: Settings,
  clock: CallClock,
  timeout: number,
  onSend: () => void,
): Promise<AttemptResult> {
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
      onSend()
    })
    const response = await untilAborted(sending, signal)
    info = responseInfo(response, [accessToken])
    const result = await readAnswer(context, response, info)
    if ('failure' in result) return result
    return await untilAborted(checkReply(operation, result.success, settings), signal)
  } catch (thrown) {
    // A fetch that ignores the signal may still bring a response, and with it a connection to release.
    sending?.then(discardBody).catch(() => {})
    if (signal.aborted) {
      if (signal.reason instanceof TimeLimit) return { failure: timeoutFailure(operation, signal.reason, sent, info) }
      throw signal.reason
    }
    if (context === undefined) throw thrown
    const facts = {
      url: request.url,
      isPlatformFetch: isPlatformFetch(settings.fetch ?? globalThis.fetch),
      sent,
      response: info,
    }
    return { failure: connectionFailure(operation, thrown, [context.accessToken], facts) }
  } finally {
    stop()
  }
}

/** A provider that throws at once counts as one that rejects. */
async function askToken({ tokenSource }: Settings): Promise<string> {
  return tokenSource.getAccessToken()
}

/** One request. */
async function send({ request, settings, signal, accessToken }: Context, onSend: () => void): Promise<FetchResponse> {
  // Called as a plain function: a platform's own fetch refuses to be a method of something else.
  const fetch = (settings.fetch ?? globalThis.fetch) as (url: string, init: FetchInit) => Promise<FetchResponse>
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
  if (typeof response?.headers?.get === 'function' && typeof response.status === 'number') return response
  throw new BadFetch('the `fetch` option returned no Response')
}

async function readAnswer(context: Context, response: FetchResponse, info: ResponseInfo): Promise<AttemptResult> {
  const { settings, signal, accessToken } = context
  const { operation } = context.request
  const unexpected = (...details: ['redirect' | 'not-json' | 'envelope' | 'too-large', string]): AttemptResult => ({
    failure: unexpectedFailure(operation, info, ...details),
  })
  if (isRedirect(response)) {
    discardBody(response)
    return unexpected('redirect', 'it redirects')
  }
  if (response.status < 200 || response.status > 299) return { failure: await readError(context, response, info) }
  let text: string
  try {
    text = await readText(response, settings.maxResponseBytes, signal)
  } catch (thrown) {
    if (thrown instanceof BodyTooLarge) {
      return unexpected('too-large', `the body is longer than ${settings.maxResponseBytes} bytes`)
    }
    if (thrown instanceof BodyNotText) return unexpected('not-json', 'the body is not UTF-8')
    throw thrown
  }
  const answer = operation.answer ?? 'item'
  const isEmpty = text.trim() === ''
  const body = isEmpty && (answer === 'any' || answer === 'none') ? { value: undefined } : parseJson(text)
  if (body === undefined) return unexpected('not-json', isEmpty ? 'the body is empty' : 'the body is not JSON')
  const unwrapped = unwrap(body.value, answer)
  if (typeof unwrapped !== 'string') return { success: { ...unwrapped, response: info } }
  const { code } = readErrorBody(text)
  const what = code === undefined ? unwrapped : `${unwrapped}, but an error ${redact(code, [accessToken])}`
  return unexpected('envelope', what)
}

/** The status is the answer; a body that cannot be read takes nothing from it. */
async function readError(context: Context, response: FetchResponse, info: ResponseInfo): Promise<Failure> {
  const { request, settings, signal, accessToken } = context
  const text = await readText(response, maxErrorBytes, signal).catch(() => '')
  const { code, description } = readErrorBody(text, response.headers.get('www-authenticate'))
  const safe = (words: string | undefined) => (words === undefined ? undefined : redact(words, [accessToken]))
  const body = { code: safe(code), description: safe(description) }
  const retryAfter = retryAfterOf(response.headers)
  const failure = apiFailure(request.operation, info, body, retryAfter, settings.scopes)
  const cause = info.status === 401 && code === 'invalid_token' ? await reportInvalidToken(context) : undefined
  if (signal.aborted && !(signal.reason instanceof TimeLimit)) throw signal.reason
  return cause === undefined ? failure : withCause(failure, cause, [accessToken])
}

/** Gives what went wrong with the report, which must not hide the answer that it is about. */
async function reportInvalidToken({ settings, signal, accessToken }: Context): Promise<unknown> {
  const report = async () => settings.tokenSource.onInvalidToken?.(accessToken)
  return untilAborted(report(), signal).then(
    () => undefined,
    (thrown: unknown) => (signal.aborted ? undefined : (thrown ?? new Error('onInvalidToken failed'))),
  )
}

function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}
