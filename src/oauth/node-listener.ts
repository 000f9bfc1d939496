import { toError } from '../errors/redact.ts'
import { type Check, checkFunction, readOptions } from '../shared/check-options.ts'
import { notify } from '../shared/notify.ts'

/** The properties of a `node:http`, `node:http2` or Express request that the adapter reads. */
export interface NodeRequest {
  /** The HTTP method, for example `GET`. */
  readonly method?: string | undefined
  /** The request target: path and query. */
  readonly url?: string | undefined
  /** In Express, the URL before a mounted router removed its path. */
  readonly originalUrl?: string | undefined
  /** The headers, with names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** The members of a `node:http`, `node:http2` or Express response that the adapter uses. */
export interface NodeResponse {
  /** The HTTP status. */
  statusCode: number
  /** Returns the value of a header that is already set. */
  getHeader(name: string): number | string | readonly string[] | undefined
  /** Sets a header, in place of an earlier value. */
  setHeader(name: string, value: string | readonly string[]): unknown
  /** Sends the body and ends the response. */
  end(body: Uint8Array): unknown
  /** Whether the response has already been ended. */
  readonly writableEnded?: boolean | undefined
  /** Called to abort a response that fails after its headers were sent. */
  destroy?(error: Error): unknown
}

/** The options of `toNodeListener`. */
export interface NodeListenerOptions {
  /** Called with the error of the handler if there is no `next`. The response is a plain 500. */
  readonly onError?: ((error: unknown) => void) | undefined
}

const optionChecks = {
  onError: checkFunction<NonNullable<NodeListenerOptions['onError']>>,
} satisfies Record<keyof NodeListenerOptions, Check<unknown>>

/** The origin of every request. The `Host` header is ignored, because the client can set it to anything. */
const origin = 'http://localhost'

/**
 * Adapts a handler of web-standard requests to a listener for `node:http`, `node:http2`, Express and Connect.
 *
 * The handler receives method, headers, path and query. The origin of `request.url` is always `http://localhost`. The
 * body is dropped, because a login does not need it. A request that the platform's `Request` does not accept gets a 400.
 * `Set-Cookie` and `Vary` are added to those that earlier middleware has set.
 *
 * The listener never rejects. An error of the handler is passed to `next` if there is one; otherwise it is passed to
 * `onError`, and the response is a 500. A response that fails after its headers were sent is aborted: HTTP/1.1 closes
 * the connection, HTTP/2 resets the stream.
 *
 * @example
 * site.get('/login', toNodeListener(login.start)) // `site` is an Express app
 *
 * @throws InvalidArgumentError when `handler` or `onError` is not a function
 */
export function toNodeListener(
  handler: (request: Request) => Promise<Response>,
  options: NodeListenerOptions = {},
): (request: NodeRequest, response: NodeResponse, next?: (error: unknown) => void) => Promise<void> {
  checkFunction('handler', handler)
  const { onError } = readOptions(options, optionChecks, 'a Node listener')
  return async (request, response, next) => {
    try {
      const received = toWebRequest(request)
      await send(received instanceof Response ? received : await handler(received), response)
    } catch (error) {
      if (next === undefined) {
        sendFailure(response)
        notify(onError, error)
        return
      }
      try {
        // Express and Connect continue with the next route after a falsy value or the string 'route'.
        await next(toError(error, 'handler'))
      } catch {
        // An unhandled rejection would end the process.
        sendFailure(response)
      }
    }
  }
}

/** Returns the request for the handler, or an error response. */
function toWebRequest({ method = 'GET', originalUrl, url = '/', headers }: NodeRequest): Request | Response {
  try {
    return new Request(origin + pathOf(originalUrl ?? url), { method, headers: toHeaders(headers) })
  } catch {
    return new Response('Bad Request', { status: 400, headers: { 'content-type': 'text/plain; charset=utf-8' } })
  }
}

/** Returns path and query of a request target in origin form or absolute form (RFC 9112, section 3.2). */
function pathOf(target: string): string {
  // Not resolved against a base, because `//user@host` would then name another host.
  if (target.startsWith('/')) return target
  const { protocol, pathname, search } = new URL(target)
  if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError('The request target is not an http URL.')
  return pathname + search
}

function toHeaders(received: NodeRequest['headers']): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(received)) {
    // HTTP/2 also lists its pseudo-headers here.
    if (value === undefined || name.startsWith(':')) continue
    for (const item of typeof value === 'string' ? [value] : value) headers.append(name, item)
  }
  return headers
}

async function send(response: Response, nodeResponse: NodeResponse): Promise<void> {
  const body = new Uint8Array(await response.arrayBuffer())
  nodeResponse.statusCode = response.status
  response.headers.forEach((value, name) => {
    if (name === 'set-cookie') return
    nodeResponse.setHeader(name, name === 'vary' ? [...existing(nodeResponse, name), value].join(', ') : value)
  })
  const cookies = response.headers.getSetCookie()
  if (cookies.length > 0) nodeResponse.setHeader('set-cookie', [...existing(nodeResponse, 'set-cookie'), ...cookies])
  nodeResponse.end(body)
}

function existing(response: NodeResponse, name: string): readonly string[] {
  const value = response.getHeader(name)
  if (value === undefined) return []
  return typeof value === 'object' ? value : [String(value)]
}

function sendFailure(response: NodeResponse): void {
  const body = new TextEncoder().encode('Internal Server Error')
  try {
    response.statusCode = 500
    response.setHeader('content-type', 'text/plain; charset=utf-8')
    response.setHeader('content-length', String(body.length))
    response.end(body)
  } catch {
    // The headers were already sent. Without an error, HTTP/2 would end the stream as if the response were complete.
    if (response.writableEnded !== true)
      response.destroy?.(new Error('The response failed after its headers were sent.'))
  }
}
