import type { RequestError } from '../errors/index.ts'
import type { FetchInit } from '../shared/web-types.ts'
import type { Reply } from './call.ts'
import { networkError, timeoutError } from './call-errors.ts'
import type { CallRecord } from './call-record.ts'
import { classifyFetchError, isPlatformFetch } from './fetch-error.ts'
import { MissingFetch, OpenResponse, ResponseHead, UnusableResponse, unwrap } from './response.ts'
import { responseError, unusableError } from './response-error.ts'
import { validateResponse } from './validation.ts'

/** No more is read of an error body, in bytes. */
const maxErrorBytes = 64 * 1024

type FetchHeaders = FetchInit['headers']

/** The known part of a response, because its body might never end. */
interface Progress {
  /** Whether `fetch` was called. */
  isSent?: boolean
  opened?: OpenResponse
  head?: ResponseHead
}

/**
 * Sends the request of an attempt, and reads and validates the response, all within the `timeout`. Rejects with the
 * caller's abort reason, or with an error. If the request is not repeated, the call rejects with the same error.
 */
export async function exchange(record: CallRecord, url: string, headers: FetchHeaders): Promise<Reply> {
  const { call, clock, settings } = record
  // Read before the hook is called, because the hook could replace the global `fetch`.
  const isPlatform = isPlatformFetch(settings.fetch)
  clock.throwIfOver()
  const attempt = record.startAttempt()
  const progress: Progress = {}
  const expired = (limit: 'attempt' | 'total') => {
    const { head, opened } = progress
    if (head?.isErrorResponse) return responseError(record, head, opened?.received ?? '')
    return timeoutError(record, { limit, isSent: progress.isSent === true })
  }
  try {
    const reply = await clock.runRequest(receive(record, url, headers, progress), call.timeout, () =>
      expired('attempt'),
    )
    record.endAttempt(attempt, progress.head)
    return reply
  } catch (thrown) {
    progress.opened?.release()
    const { head } = progress
    if (clock.end?.isLate) throw record.fail(attempt, expired('total'), head)
    if (clock.end === undefined) {
      const error = record.isOwnError(thrown) ? thrown : errorOf(record, thrown, head, isPlatform)
      throw record.fail(attempt, error, head)
    }
    record.endAttempt(attempt, head, { error: clock.end.reason })
    throw clock.end.reason
  }
}

async function receive(record: CallRecord, url: string, headers: FetchHeaders, progress: Progress): Promise<Reply> {
  const { call, clock, secrets, settings } = record
  const { signal } = clock
  // The hook might have aborted the call or outlasted its time, and a custom fetch can ignore its signal.
  clock.throwIfOver()
  // A local variable, because a platform's fetch throws when called as a method of another object.
  const fetch = (settings.fetch ?? globalThis.fetch) as (url: string, init: FetchInit) => Promise<unknown>
  if (typeof fetch !== 'function') throw new MissingFetch()
  progress.isSent = true
  const received = await fetch(url, {
    method: call.operation.method,
    headers,
    ...(call.body !== undefined && { body: call.body }),
    redirect: 'manual',
    signal,
  })
  const opened = new OpenResponse(received, signal)
  progress.opened = opened
  const head = new ResponseHead(opened.response, secrets)
  progress.head = head
  if (head.isRedirect) throw new UnusableResponse('redirect', 'it redirects')
  if (head.isErrorResponse) {
    // A body that was cut off, or is too long, can still say what is wrong.
    await opened.text(maxErrorBytes).catch(() => {})
    throw responseError(record, head, opened.received)
  }
  const { data, cursors } = unwrap(await opened.text(settings.maxResponseBytes), call.operation.envelope)
  signal.throwIfAborted()
  return {
    data: await validateResponse(call.operation, data, settings),
    cursors,
    get response() {
      return head.info
    },
  }
}

function errorOf(
  record: CallRecord,
  thrown: unknown,
  head: ResponseHead | undefined,
  isPlatform: boolean,
): RequestError {
  // If only the body failed, the request was sent.
  const from = head !== undefined ? 'body' : isPlatform ? 'platform' : 'custom'
  try {
    if (thrown instanceof UnusableResponse && head !== undefined) return unusableError(record, head, thrown)
    return networkError(record, thrown, classifyFetchError(thrown, from))
  } catch {
    // An error of a custom `fetch` can throw when it is read.
    return networkError(record, new Error('its error cannot be read'), classifyFetchError(undefined, from))
  }
}
