import type { ResponseInfo, UnexpectedResponseReason } from '../errors/index.ts'
import { redact, withoutSecrets } from '../errors/redact.ts'
import { isObject } from '../shared/json.ts'
import { notify } from '../shared/notify.ts'
import type { FetchResponse } from '../shared/web-types.ts'
import type { PageCursors, Reply } from './call.ts'
import type { Envelope } from './operation.ts'

/** Thrown when a response cannot be used. `message` is a short description of the problem. */
export class UnusableResponse extends Error {
  readonly reason: UnexpectedResponseReason

  constructor(reason: UnexpectedResponseReason, message: string) {
    super(message)
    this.reason = reason
  }
}

/** Thrown when the `fetch` option breaks its contract. A retry would not help. */
export class BadFetch extends Error {}

/** Thrown instead of a request if there is neither a `fetch` option nor a global `fetch`. */
export class MissingFetch extends Error {
  constructor() {
    super('this runtime has no `fetch`')
  }
}

/** Whether a value has the members of a response that the client uses. */
function isResponse(value: unknown): value is FetchResponse {
  const { headers, status, text, body } = Object(value) as Partial<FetchResponse & BodyHolder>
  if (typeof headers?.get !== 'function' || typeof headers.forEach !== 'function' || !Number.isInteger(status))
    return false
  return typeof text === 'function' || (body !== undefined && body !== null)
}

/** The body is a web stream, a Node stream (node-fetch), or absent (React Native, an empty body). */
interface BodyHolder {
  readonly body?: (Partial<ReadableStream<Uint8Array>> & Partial<Closable>) | null
  readonly bodyUsed?: boolean
}

interface Closable {
  on(event: 'error', listener: () => void): unknown
  cancel(): unknown
  destroy(): unknown
}

const mostEmptyChunks = 1_000

/** A response, whose body is read once or released. */
export class OpenResponse {
  readonly response: FetchResponse & BodyHolder
  /** What was read of the body. */
  received = ''
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined

  /**
   * Takes the result of `fetch`. A `fetch` that ignores the signal can return late, and its connection must still be
   * released.
   *
   * @throws BadFetch if the result is no response
   */
  constructor(received: unknown, signal: AbortSignal) {
    if (!isResponse(received)) throw new BadFetch('the `fetch` option returned no Response')
    this.response = received
    if (signal.aborted) this.release()
    signal.throwIfAborted()
  }

  /**
   * Reads the body as text. If that fails, the connection still has to be released.
   *
   * @throws UnusableResponse `too-large`, `not-json` if it is not UTF-8
   */
  async text(maxBytes: number): Promise<string> {
    const chunks = this.#openBody()
    const decoder = new TextDecoder('utf-8', { fatal: true })
    let bytes = 0
    for (let chunk = 1; ; chunk += 1) {
      const { done, value } = await chunks.next()
      if (done) return this.received + decode(decoder)
      if (typeof value?.byteLength !== 'number')
        throw new BadFetch('the body of its response does not consist of bytes')
      bytes += value.byteLength
      // A body that is always ready would keep timers from firing.
      if (chunk - bytes > mostEmptyChunks) throw new BadFetch('the body of its response consists of empty chunks')
      if (bytes > maxBytes) throw new UnusableResponse('too-large', `the body is longer than ${maxBytes} bytes`)
      this.received += decode(decoder, value)
    }
  }

  /**
   * Releases the connection. Ends reading, if it has begun. Errors are ignored, because the response is no longer
   * needed.
   */
  release(): void {
    const open = (): Partial<Closable> | null | undefined => this.#reader ?? this.response.body
    notify(() => open()?.on?.('error', () => {}))
    notify(() => {
      const body = open()
      return body?.cancel === undefined ? body?.destroy?.() : body.cancel()
    })
  }

  #openBody(): { next(): Promise<{ readonly done?: boolean | undefined; readonly value?: Uint8Array | undefined }> } {
    const { body, bodyUsed } = this.response
    if (bodyUsed === true) throw new BadFetch('the `fetch` option has already read the body of its response')
    if (typeof body?.getReader !== 'function') return body?.[Symbol.asyncIterator]?.() ?? this.#wholeText()
    if (body.locked) throw new BadFetch('the body of its response is locked')
    const reader = (body as ReadableStream<Uint8Array>).getReader()
    this.#reader = reader
    return { next: () => reader.read() }
  }

  async *#wholeText(): AsyncGenerator<Uint8Array> {
    yield new TextEncoder().encode(await this.response.text())
  }
}

function decode(decoder: TextDecoder, bytes?: Uint8Array): string {
  try {
    return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true })
  } catch {
    throw new UnusableResponse('not-json', 'the body is not UTF-8')
  }
}

/** Whether a response is a redirect, which browsers hide as status 0, or a custom fetch has followed one. */
export function isRedirect(response: FetchResponse & { redirected?: boolean; type?: string }): boolean {
  return response.redirected === true || response.type === 'opaqueredirect' || redirects.has(response.status)
}

const redirects = new Set([301, 302, 303, 307, 308])

/** What a request id looks like. A service could put a part of the request into the header, such as a text or a path. */
const identifier = /^[\w.:;,+=@~-]+$/

/** Status and headers of a response, without cookies. Headers are cleaned when they are requested. */
export class ResponseHead {
  readonly status: number
  readonly isRedirect: boolean
  readonly #headers: FetchResponse['headers']
  readonly #secrets: readonly string[]
  #info: ResponseInfo | undefined

  /** @param secrets removed from the headers that callers read, because the service might echo them */
  constructor(response: FetchResponse, secrets: readonly string[]) {
    this.status = response.status
    this.isRedirect = isRedirect(response)
    this.#headers = response.headers
    this.#secrets = secrets
  }

  /** Whether the status reports an error. */
  get isErrorResponse(): boolean {
    return !this.isRedirect && (this.status < 200 || this.status > 299)
  }

  /**
   * Whether the service has refused the request, which therefore had no effect. A proxy can send a 408 or 5xx after the
   * service has acted, and a 3xx does not refuse the request.
   */
  get isRefused(): boolean {
    return this.status >= 400 && this.status < 500 && this.status !== 408
  }

  /** Returns a header unchanged, or null if a custom fetch returns something else. Only for use inside the client. */
  get(name: string): string | null {
    try {
      const value: unknown = this.#headers.get(name)
      return typeof value === 'string' ? value : null
    } catch {
      return null
    }
  }

  get requestId(): string | undefined {
    const requestId = this.get('x-request-id') ?? this.get('request-id')
    if (requestId === null || !identifier.test(requestId)) return undefined
    return redact(requestId, this.#secrets)
  }

  /** Returns the response as callers see it, the same object each time. */
  get info(): ResponseInfo {
    this.#info ??= { status: this.status, headers: this.#safeHeaders(), requestId: this.requestId }
    return this.#info
  }

  #safeHeaders(): Headers {
    const safe = new Headers()
    // A custom fetch can return anything.
    this.#headers.forEach((given: unknown, key: unknown) => {
      const name = String(key).toLowerCase()
      if (name.startsWith('set-cookie') || withoutSecrets(name, this.#secrets) !== name) return
      try {
        safe.append(name, withoutSecrets(String(given), this.#secrets))
      } catch {
        // HTTP does not allow this header.
      }
    })
    return safe
  }
}

const noCursors: PageCursors = { after: null, before: null }

/**
 * Returns the content of the envelope in a body (docs/service.md#paging). Throws `UnusableResponse` if it differs from
 * the documents.
 */
export function unwrap(text: string, envelope: Envelope = 'item'): Pick<Reply, 'data' | 'cursors'> {
  const canBeEmpty = envelope === 'any' || envelope === 'none'
  const body = canBeEmpty && text.trim() === '' ? undefined : parseJson(text)
  if (envelope === 'any') return { data: body, cursors: noCursors }
  if (isErrorBody(body)) throw unusable(`the body is not what was asked for, but an error ${body.error}`)
  if (envelope === 'none') return { data: undefined, cursors: noCursors }
  if (!isObject(body)) throw unusable(`expected a JSON object as the body, received ${jsonTypeOf(body)}`)
  if (envelope === 'bare') return { data: body, cursors: noCursors }
  if (!Object.hasOwn(body, 'data')) throw unusable('the body has no `data`')
  const { data } = body
  if (envelope === 'item') {
    if (isObject(data)) return { data, cursors: noCursors }
    throw unusable(`expected an object in \`data\`, received ${jsonTypeOf(data)}`)
  }
  if (!Array.isArray(data)) throw unusable(`expected an array in \`data\`, received ${jsonTypeOf(data)}`)
  return { data, cursors: readCursors(body.page_metadata) }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const start = text.trimStart()
    if (start === '') throw new UnusableResponse('not-json', 'the body is empty')
    const isHtml = start.startsWith('<')
    throw new UnusableResponse('not-json', isHtml ? 'the body is not JSON but HTML' : 'the body is not JSON')
  }
}

/** Servers accept URLs of 8 or 16 kB. */
const longestCursor = 16_384

/**
 * A cursor that is absent, null or empty means that there is no further page. Three lists in the reference have no
 * `page_metadata`.
 */
function readCursors(metadata: unknown): PageCursors {
  if (metadata === undefined || metadata === null) return noCursors
  if (!isObject(metadata)) throw unusable(`expected an object in \`page_metadata\`, received ${jsonTypeOf(metadata)}`)
  for (const name of ['after', 'before']) {
    const cursor = metadata[name]
    if (cursor === undefined || cursor === null) continue
    if (typeof cursor !== 'string') {
      throw unusable(`expected a string or null in \`page_metadata.${name}\`, received ${jsonTypeOf(cursor)}`)
    }
    if (cursor.length > longestCursor || !cursor.isWellFormed()) {
      throw unusable(`the cursor in \`page_metadata.${name}\` cannot be part of a URL`)
    }
  }
  return { after: (metadata.after as string) || null, before: (metadata.before as string) || null }
}

function unusable(problem: string): UnusableResponse {
  return new UnusableResponse('envelope', problem)
}

/** Whether a body is exactly the documented error body (docs/service.md#errors). */
function isErrorBody(body: unknown): body is { readonly error: string } {
  if (!isObject(body) || typeof body.error !== 'string') return false
  return Object.keys(body).every((name) => name === 'error' || name === 'error_description')
}

/** Returns the JSON type of a value. Never the value itself. */
export function jsonTypeOf(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}
