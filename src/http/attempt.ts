import { untilAborted } from '../abort.ts'
import { isError, redact } from '../errors/redact.ts'
import type { FetchInit, FetchResponse, WebAbortSignal } from '../web-types.ts'
import type { Refusal } from './call-errors.ts'
import type { CallRecord } from './call-record.ts'
import { readErrorBody, type Unwrapped, unwrap } from './envelope.ts'
import { isPlatformFetch } from './fetch-error.ts'
import type { PreparedRequest } from './request.ts'
import { BadFetch, isRedirect, isResponse, ResponseBody, ResponseHead, UnusableResponse } from './response.ts'
import { delayBefore, retryAfterOf } from './retry.ts'
import { isValidated, validateResponse } from './validation.ts'

/** The data, cursors and response of a successful attempt. */
export interface Reply extends Unwrapped {
  readonly response: ResponseHead
}

/** Longer error bodies are ignored, in bytes. */
const maxErrorBytes = 64 * 1024

/** Thrown for an error status. What is known of it is the attempt's `refusal`. */
export class Refused {}

/** One request and its response. Remembers how far it has come, because `fetch` and the body may never settle. */
export class Attempt {
  readonly #request: PreparedRequest
  readonly #accessToken: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #record: CallRecord
  #body: ResponseBody | undefined
  #delay: number | undefined
  /** Whether `fetch` was called. */
  isSent = false
  /** Whether it was the platform's own `fetch`, whose errors can prove that no connection was opened. */
  isPlatform = false
  /** Status and headers, once they were received. */
  head: ResponseHead | undefined
  /** Set if the status is an error. Complete once the body was read, which may never end. */
  refusal: Refusal | undefined
  /** What the attempt failed with. ky wraps it. */
  thrown: unknown
  /** The error of `onInvalidToken`, if it failed. */
  reportError: unknown

  constructor(
    request: PreparedRequest,
    accessToken: string,
    headers: Readonly<Record<string, string>>,
    record: CallRecord,
  ) {
    this.#request = request
    this.#headers = headers
    this.#accessToken = accessToken
    this.#record = record
  }

  /** Delay before this attempt can be repeated, in milliseconds. */
  get delay(): number {
    const isLimited = this.head?.status === 429
    this.#delay ??= delayBefore(this.#record.attempts.length + 1, this.refusal?.retryAfter, { isLimited })
    return this.#delay
  }

  /**
   * Sends the request, reads the response and validates it. Rejects with the error of `fetch` or of the body,
   * `UnusableResponse`, `Refused`, or as soon as the signal aborts, with its reason.
   */
  async send(signal: AbortSignal): Promise<Reply> {
    try {
      return await untilAborted(this.#send(signal), signal)
    } catch (thrown) {
      this.#body?.release()
      throw thrown
    }
  }

  /** Calls `onInvalidToken` if the service rejected the token. Its error does not hide the 401. */
  async reportInvalidToken(): Promise<void> {
    if (this.head?.status !== 401 || this.refusal?.body.code !== 'invalid_token') return
    try {
      await this.#record.settings.tokenSource.onInvalidToken?.(this.#accessToken)
    } catch (thrown) {
      this.reportError = thrown ?? new Error('onInvalidToken failed')
    }
  }

  async #send(signal: AbortSignal): Promise<Reply> {
    const { maxResponseBytes } = this.#record.settings
    const response = await this.#fetch(signal)
    const body = new ResponseBody(response)
    this.#body = body
    // A fetch that ignores the signal may resolve late, with a connection that must be released.
    if (signal.aborted) body.release()
    signal.throwIfAborted()
    const head = new ResponseHead(response, this.#record.secrets)
    this.head = head
    if (isRedirect(response)) throw new UnusableResponse('redirect', 'it redirects')
    if (head.status < 200 || head.status > 299) {
      this.refusal = this.#readRefusal(head, '')
      this.refusal = this.#readRefusal(head, await body.text(maxErrorBytes).catch(() => ''))
      throw new Refused()
    }
    const { data, cursors } = this.#parse(await body.text(maxResponseBytes))
    signal.throwIfAborted()
    if (!isValidated(this.#record.call, this.#record.settings)) return { data, cursors, response: head }
    return { data: await validateResponse(this.#record.call, data, this.#record.settings), cursors, response: head }
  }

  async #fetch(signal: AbortSignal): Promise<FetchResponse> {
    const { url, body } = this.#request
    // A local variable, because a platform's fetch throws when called as a method of another object.
    const fetch = (this.#record.settings.fetch ?? globalThis.fetch) as (
      url: string,
      init: FetchInit,
    ) => Promise<FetchResponse>
    signal.throwIfAborted()
    this.isPlatform = isPlatformFetch(fetch)
    this.isSent = true
    this.#record.startAttempt()
    // The hook may have aborted the call, and a custom fetch may ignore its signal.
    signal.throwIfAborted()
    const response: FetchResponse | undefined = await fetch(url, {
      method: this.#request.operation.method,
      headers: { ...this.#headers, authorization: `Bearer ${this.#accessToken}` },
      ...(body !== undefined && { body }),
      redirect: 'manual',
      signal: signal as WebAbortSignal,
    })
    if (isResponse(response)) return response
    throw new BadFetch('the `fetch` option returned no Response')
  }

  #readRefusal(response: ResponseHead, text: string): Refusal {
    const { code, description, isHtml } = readErrorBody(text, response.get('www-authenticate'))
    return {
      response,
      body: {
        code: code && redact(code, this.#record.secrets),
        description: description && redact(description, this.#record.secrets),
        isHtml,
      },
      hasCursor: this.#request.cursor !== undefined,
      retryAfter: retryAfterOf(response, response.status),
    }
  }

  #parse(text: string): Unwrapped {
    const envelope = this.#record.call.operation.envelope ?? 'item'
    const mayBeEmpty = envelope === 'any' || envelope === 'none'
    const body = mayBeEmpty && text.trim() === '' ? undefined : parseJson(text)
    try {
      return unwrap(body, envelope)
    } catch (thrown) {
      const { code } = readErrorBody(text)
      if (!(thrown instanceof UnusableResponse) || code === undefined) throw thrown
      throw new UnusableResponse(thrown.reason, `${thrown.message}, but an error ${redact(code, this.#record.secrets)}`)
    }
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

/** Whether an error of a custom fetch is a bug, so that a retry would not help. Network errors are TypeErrors too. */
export function isMistake({ thrown, isPlatform, head }: Attempt): boolean {
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
