import ky from 'ky'
import type { ResponseInfo } from '../errors/index.ts'
import { redact } from '../errors/redact.ts'
import type { Operation } from '../operation.ts'
import { untilAborted } from './abort.ts'
import { checkAccessToken } from './authorization.ts'
import { type CallClock, TimeLimit } from './call-clock.ts'
import { type Unwrapped, unwrap } from './envelope.ts'
import { readErrorBody } from './error-body.ts'
import { apiFailure, connectionFailure, type Failure, timeoutFailure, unexpectedFailure } from './failure.ts'
import { BodyNotText, BodyTooLarge, discardBody, readText, responseInfo } from './response.ts'
import { parseRetryAfter } from './retry-after.ts'
import type { Settings } from './settings.ts'

/** A request, kept as values so that each attempt builds its own. */
export interface PreparedRequest {
  readonly operation: Operation
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** What one attempt came to. */
export type AttemptResult =
  | { readonly success: Unwrapped & { readonly response: ResponseInfo } }
  | { readonly failure: Failure }

/** An error body longer than this says nothing that the error would keep. */
const maxErrorBytes = 64 * 1024

/**
 * Sends a request once and reads its answer to the end, within one time limit. Rejects only with the caller's reason,
 * or with what the token provider throws.
 */
export async function attempt(
  request: PreparedRequest,
  settings: Settings,
  clock: CallClock,
  timeout: number,
): Promise<AttemptResult> {
  const { operation } = request
  const { signal, stop } = clock.startAttempt(timeout)
  const secrets: string[] = []
  let sent = false
  let response: Response | undefined
  try {
    const accessToken = checkAccessToken(await untilAborted(askToken(settings), signal))
    secrets.push(accessToken)
    sent = true
    response = await untilAborted(send(request, settings, accessToken, signal), signal)
    const info = responseInfo(response, secrets)
    const result = await readAnswer(operation, response, info, settings, secrets, signal)
    if ('failure' in result && info.status === 401) await reportInvalidToken(result.failure, settings, accessToken)
    return result
  } catch (thrown) {
    if (signal.aborted) {
      if (signal.reason instanceof TimeLimit) return { failure: timeoutFailure(operation, signal.reason, sent) }
      throw signal.reason
    }
    if (!sent) throw thrown
    return { failure: connectionFailure(operation, thrown, secrets, response !== undefined) }
  } finally {
    stop()
  }
}

/** A provider that throws at once counts as one that rejects. */
async function askToken({ tokenSource }: Settings): Promise<string> {
  return tokenSource.getAccessToken()
}

/** One request. Retries, time limits and statuses are the caller's affair: they span the body, which ky's do not. */
function send(
  request: PreparedRequest,
  { fetch }: Settings,
  accessToken: string,
  signal: AbortSignal,
): Promise<Response> {
  return ky(request.url, {
    method: request.operation.method,
    headers: { ...request.headers, authorization: `Bearer ${accessToken}` },
    ...(request.body !== undefined && { body: request.body }),
    // Called as a plain function: a platform's own fetch refuses to be a method of something else.
    ...(fetch !== undefined && { fetch: (input) => fetch(input as Request) }),
    signal,
    redirect: 'manual',
    retry: 0,
    timeout: false,
    throwHttpErrors: false,
  })
}

async function readAnswer(
  operation: Operation,
  response: Response,
  info: ResponseInfo,
  settings: Settings,
  secrets: readonly string[],
  signal: AbortSignal,
): Promise<AttemptResult> {
  const unexpected = (...details: ['redirect' | 'not-json' | 'envelope' | 'too-large', string]): AttemptResult => ({
    failure: unexpectedFailure(operation, info, ...details),
  })
  if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)) {
    discardBody(response)
    return unexpected('redirect', 'it redirects')
  }
  if (!response.ok) return { failure: await readError(operation, response, info, settings, secrets, signal) }
  if (operation.answer === 'none') {
    discardBody(response)
    return { success: { data: undefined, cursors: { after: null, before: null }, response: info } }
  }
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
  const body = text === '' && operation.answer === 'any' ? { value: undefined } : parseJson(text)
  if (body === undefined) return unexpected('not-json', text === '' ? 'the body is empty' : 'the body is not JSON')
  const unwrapped = unwrap(body.value, operation.answer ?? 'item')
  if (typeof unwrapped !== 'string') return { success: { ...unwrapped, response: info } }
  const { code } = readErrorBody(text)
  return unexpected('envelope', code === undefined ? unwrapped : `${unwrapped}, but an error ${redact(code, secrets)}`)
}

/** The status is the answer; a body that cannot be read takes nothing from it. */
async function readError(
  operation: Operation,
  response: Response,
  info: ResponseInfo,
  settings: Settings,
  secrets: readonly string[],
  signal: AbortSignal,
): Promise<Failure> {
  const text = await readText(response, maxErrorBytes, signal).catch(() => '')
  if (signal.aborted && !(signal.reason instanceof TimeLimit)) throw signal.reason
  const { code, description } = readErrorBody(text)
  const body = { code: safe(code, secrets), description: safe(description, secrets) }
  return apiFailure(operation, info, body, parseRetryAfter(response.headers.get('retry-after')), settings.scopes)
}

function safe(text: string | undefined, secrets: readonly string[]): string | undefined {
  return text === undefined ? undefined : redact(text, secrets)
}

async function reportInvalidToken(failure: Failure, { tokenSource }: Settings, accessToken: string): Promise<void> {
  if (failure.code === 'invalid_token') await tokenSource.onInvalidToken?.(accessToken)
}

function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}
