import { badRequest, HttpError } from './http-error.ts'
import type { OpenRecord } from './request-log.ts'

/** A request whose body was read, and its record for `sandbox.requests`. */
export interface IncomingRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly bodyText: string
  /** Whether the body is over the limit. Then `bodyText` is empty. */
  readonly isTooLarge: boolean
  readonly record: OpenRecord
}

/** A method of a path, and the function that handles it. */
export interface Route {
  readonly name: string
  readonly method: string
  /** Path with `:name` for each parameter. */
  readonly path: string
  /** Scope that a token needs. */
  readonly scope?: string
  /** Returns the response, or throws an `HttpError`. */
  readonly handle: (incoming: IncomingRequest, parameter: (name: string) => string) => Response
}

/** Reads a request's body and starts its record. `at` is the time of arrival in milliseconds since the epoch. */
export async function readIncomingRequest(request: Request, at: number): Promise<IncomingRequest> {
  const url = new URL(request.url)
  const text = await readBodyText(request)
  const bodyText = text ?? ''
  const record: OpenRecord = {
    method: request.method,
    path: url.pathname,
    query: parametersToObject(url.searchParams),
    headers: Object.fromEntries(request.headers),
    body: readBody(request.headers.get('content-type'), bodyText),
    status: undefined,
    at,
    operation: undefined,
    scope: undefined,
    actor: undefined,
    fault: undefined,
  }
  return { method: request.method, url, headers: request.headers, bodyText, isTooLarge: text === undefined, record }
}

/**
 * Reads a body as text. Returns `undefined` for a body over 1 MiB and stops reading it, so that no request can fill the
 * memory.
 */
export async function readBodyText(request: Request): Promise<string | undefined> {
  if (Number(request.headers.get('content-length')) > maxBodyBytes) return undefined
  const reader = request.body?.getReader()
  if (reader === undefined) return ''
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    bytes += chunk.value.length
    // Canceling the body would close the connection before the response.
    if (bytes > maxBodyBytes) return undefined
    text += decoder.decode(chunk.value, { stream: true })
  }
  return text + decoder.decode()
}

export function contentTooLarge(): HttpError {
  return new HttpError(413, 'content_too_large', 'The body is larger than 1 MiB.', { connection: 'close' })
}

const maxBodyBytes = 1024 * 1024

/** Returns the token of `Authorization: Bearer` (RFC 6750, 2.1). */
export function bearerToken(headers: Headers): string | undefined {
  return /^bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1]
}

/** Returns the media type without its parameters, in lower case. */
export function mediaType(contentType: string | null): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

/** Parses a body as a JSON object. Throws a 400 if it is not one. */
export function parseJsonObject(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw badRequest('The body is not valid JSON.')
  }
  if (!isObject(value)) throw badRequest('The body must be a JSON object.')
  return value
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function readBody(contentType: string | null, text: string): unknown {
  if (text === '') return undefined
  const type = mediaType(contentType)
  if (type === 'application/x-www-form-urlencoded') return parametersToObject(new URLSearchParams(text))
  if (type !== 'application/json') return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function parametersToObject(parameters: URLSearchParams): Record<string, string | string[]> {
  const values = new Map<string, string | string[]>()
  for (const [name, value] of parameters) {
    const earlier = values.get(name)
    // Appends in place: a copy for each value would take quadratic time.
    if (Array.isArray(earlier)) earlier.push(value)
    else values.set(name, earlier === undefined ? value : [earlier, value])
  }
  return Object.fromEntries(values)
}
