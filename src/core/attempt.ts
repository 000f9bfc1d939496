import { isNetworkError, isTimeoutError } from 'ky'
import { untilAborted } from '../shared/abort.ts'
import type { RequestError } from '../shared/errors/index.ts'
import { isError, redact } from '../shared/errors/redact.ts'
import type { FetchInit, WebAbortSignal } from '../shared/web-types.ts'
import { networkError, type Refusal, refusedError, timeoutError, unusableError } from './call-errors.ts'
import type { AttemptProgress, CallRecord } from './call-record.ts'
import { readErrorBody, type Unwrapped, unwrap } from './envelope.ts'
import { classifyFetchError, isPlatformFetch, unproven } from './fetch-error.ts'
import type { PreparedRequest } from './input.ts'
import type { Undo } from './options.ts'
import { BadFetch, isRedirect, OpenResponse, ResponseHead, UnusableResponse } from './response.ts'
import { retryAfterOf } from './retry.ts'
import { isValidated, validateResponse } from './validation.ts'

/** The data, cursors and response of a successful attempt. */
export interface Reply extends Unwrapped {
  readonly response: ResponseHead
}

/** Longer error bodies are ignored, in bytes. */
const maxErrorBytes = 64 * 1024

/** One request and its response: what is known of it so far, because `fetch` and the body may never settle. */
export interface Attempt extends AttemptProgress {
  readonly request: PreparedRequest
  readonly accessToken: string
  readonly headers: Readonly<Record<string, string>>
  /** What `beforeSend` returned. */
  undo: Undo | undefined
  /** Whether it was the platform's own `fetch`, whose errors can prove that no connection was opened. */
  isPlatform?: boolean
  /** Set if the status is an error. Complete once the body was read, which may never end. */
  refusal?: Refusal
  /** What the attempt failed with. ky wraps it. */
  thrown?: unknown
  /** The error of `onInvalidToken`, if it failed. */
  reportError?: unknown
  /** Delay before it is repeated, in milliseconds. */
  delay?: number
}

/**
 * Sends the request, reads the response and validates it. Rejects with the error of `fetch` or of the body,
 * `UnusableResponse`, the refusal, or as soon as the signal aborts, with its reason.
 */
export async function sendAttempt(attempt: Attempt, record: CallRecord, signal: AbortSignal): Promise<Reply> {
  let opened: OpenResponse | undefined
  const send = async (): Promise<Reply> => {
    opened = new OpenResponse(await callFetch(attempt, record, signal), signal)
    const { response } = opened
    const head = new ResponseHead(response, record.secrets)
    attempt.head = head
    if (isRedirect(response)) throw new UnusableResponse('redirect', 'it redirects')
    if (head.status < 200 || head.status > 299) {
      attempt.refusal = readRefusal(attempt, head, '', record)
      attempt.refusal = readRefusal(attempt, head, await opened.text(maxErrorBytes).catch(() => ''), record)
      throw attempt.refusal
    }
    const { data, cursors } = parse(await opened.text(record.settings.maxResponseBytes), record)
    signal.throwIfAborted()
    if (!isValidated(record.call, record.settings)) return { data, cursors, response: head }
    return { data: await validateResponse(record.call, data, record.settings), cursors, response: head }
  }
  try {
    return await untilAborted(send(), signal)
  } catch (thrown) {
    opened?.release()
    throw thrown
  }
}

async function callFetch(attempt: Attempt, record: CallRecord, signal: AbortSignal): Promise<unknown> {
  const { request, headers, accessToken } = attempt
  // A local variable, because a platform's fetch throws when called as a method of another object.
  const fetch = (record.settings.fetch ?? globalThis.fetch) as (url: string, init: FetchInit) => Promise<unknown>
  signal.throwIfAborted()
  attempt.isPlatform = isPlatformFetch(fetch)
  record.startAttempt(attempt)
  // The hook may have aborted the call, and a custom fetch may ignore its signal.
  signal.throwIfAborted()
  return fetch(request.url, {
    method: record.call.operation.method,
    headers: { ...headers, authorization: `Bearer ${accessToken}` },
    ...(request.body !== undefined && { body: request.body }),
    redirect: 'manual',
    signal: signal as WebAbortSignal,
  })
}

function readRefusal({ request }: Attempt, response: ResponseHead, text: string, { secrets }: CallRecord): Refusal {
  const { code, description, isHtml } = readErrorBody(text, response.get('www-authenticate'))
  return {
    response,
    body: { code: code && redact(code, secrets), description: description && redact(description, secrets), isHtml },
    hasCursor: request.cursor !== undefined,
    retryAfter: retryAfterOf(response, response.status),
  }
}

function parse(text: string, { call, secrets }: CallRecord): Unwrapped {
  const envelope = call.operation.envelope ?? 'item'
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
    const start = text.trimStart()
    if (start === '') throw new UnusableResponse('not-json', 'the body is empty')
    if (!start.startsWith('<')) throw new UnusableResponse('not-json', 'the body is not JSON')
    throw new UnusableResponse('not-json', 'the body is not JSON but HTML', htmlHint)
  }
}

const htmlHint = 'Make sure that `baseUrl` is the API, and that no proxy or login page responds instead.'

/** Calls `onInvalidToken` if the service rejected the token. Its error does not hide the 401. */
export async function reportInvalidToken(attempt: Attempt, { settings }: CallRecord): Promise<void> {
  if (attempt.refusal?.response.status !== 401 || attempt.refusal.body.code !== 'invalid_token') return
  try {
    await settings.tokenSource.onInvalidToken?.(attempt.accessToken)
  } catch (thrown) {
    attempt.reportError = thrown ?? new Error('onInvalidToken failed')
  }
}

/**
 * Creates the error of a failed attempt.
 *
 * @param kyError tells a timeout of ky and an error of the network from others
 */
export function errorOf(attempt: Attempt, record: CallRecord, kyError: Error): RequestError {
  const { head, refusal, thrown } = attempt
  if (refusal !== undefined) return refusedError(record, refusal, attempt.reportError)
  if (record.clock.hasExpired) return timeoutError(record, { limit: 'total', isSent: true })
  if (isTimeoutError(kyError) && kyError !== thrown) return timeoutError(record, { limit: 'attempt', isSent: true })
  if (thrown instanceof UnusableResponse && head) return unusableError(record, head, thrown)
  const isBug = !isNetworkError(kyError) && isMistake(attempt)
  const hasResponse = head !== undefined
  // An error of the body proves nothing about the request.
  const fault = hasResponse ? unproven : classifyFetchError(thrown, attempt.isPlatform === true)
  return networkError(record, thrown, { ...fault, ...(isBug && { remedy: 'fix' }), isBug, hasResponse })
}

/** Whether an error of a custom fetch is a bug, so that a retry would not help. Network errors are TypeErrors too. */
function isMistake({ thrown, isPlatform, head }: Attempt): boolean {
  if (thrown instanceof BadFetch) return true
  if (isPlatform || head !== undefined) return false
  try {
    if (!isError(thrown) || thrown.cause !== undefined || 'code' in thrown) return false
    return ['TypeError', 'ReferenceError', 'SyntaxError', 'RangeError'].includes(thrown.name)
  } catch {
    // A getter of the error threw.
    return false
  }
}
