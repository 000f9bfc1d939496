import { badRequest } from './http-error.ts'

/** One request as it came in, its body already read, and what is known of it so far. */
export interface IncomingRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly bodyText: string
  readonly record: OpenRecord
}

/** One request that the sandbox received. */
export interface RecordedRequest {
  readonly method: string
  /** The path without the query, still percent-encoded as it was sent. */
  readonly path: string
  /** Decoded query parameters; a parameter that was sent more than once is an array. */
  readonly query: Record<string, string | string[]>
  /** Header names in lower case. Secrets are kept as sent: this is a sandbox. */
  readonly headers: Record<string, string>
  /** Parsed JSON, a form as an object, other content as text, or `undefined` when nothing was sent. */
  readonly body: unknown
  /** The status answered; `undefined` while in flight, or when the connection was dropped before the headers. */
  readonly status: number | undefined
  /** When it arrived, in milliseconds since the epoch, on the sandbox's clock. */
  readonly at: number
  /** The service's name for it, such as `listConversations`; `undefined` for a path it does not have. */
  readonly operation: string | undefined
}

/** A record that is still being written. */
export type OpenRecord = { -readonly [Key in keyof RecordedRequest]: RecordedRequest[Key] }

export async function readIncomingRequest(request: Request, at: number): Promise<IncomingRequest> {
  const url = new URL(request.url)
  const bodyText = await request.text()
  const record: OpenRecord = {
    method: request.method,
    path: url.pathname,
    query: parametersToObject(url.searchParams),
    headers: Object.fromEntries(request.headers),
    body: readBody(request.headers.get('content-type'), bodyText),
    status: undefined,
    at,
    operation: undefined,
  }
  return { method: request.method, url, headers: request.headers, bodyText, record }
}

/** The media type without its parameters, in lower case. */
export function mediaType(contentType: string | null): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
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
  const names = [...new Set(parameters.keys())]
  return Object.fromEntries(
    names.map((name) => {
      const values = parameters.getAll(name)
      return [name, values.length === 1 && values[0] !== undefined ? values[0] : values]
    }),
  )
}

/** One method of one path. */
export interface Route {
  readonly name: string
  readonly method: string
  /** With `:name` for what varies. */
  readonly path: string
  readonly handle: (incoming: IncomingRequest, parameter: (name: string) => string) => Response
}

/** The JSON object in a body; throws a 400 when there is none. */
export function parseJsonObject(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw badRequest('The body is not JSON.')
  }
  if (!isObject(value)) throw badRequest('The body must be a JSON object.')
  return value
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
