import { checkFunction, checkOptions } from '../check-options.ts'
import { notify } from '../http/hooks.ts'
import type { WebRequest, WebResponse } from '../web-types.ts'

/** What the adapter reads from a request of `node:http`, `node:http2` or Express. */
export interface NodeRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  /** Express: the address before a mounted router removed its own path. */
  readonly originalUrl?: string | undefined
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** What the adapter calls on a response of `node:http`, `node:http2` or Express. */
export interface NodeResponse {
  statusCode: number
  getHeader(name: string): number | string | readonly string[] | undefined
  setHeader(name: string, value: string | readonly string[]): unknown
  end(body: Uint8Array): unknown
  /** Whether somebody has already ended the response. */
  readonly writableEnded?: boolean | undefined
  /** Called to cut off a response that fails after its headers were sent. */
  destroy?(error: Error): unknown
}

export interface NodeListenerOptions {
  /** Called with what the handler threw when there is no `next` to receive it. The response is a plain 500. */
  readonly onError?: ((error: unknown) => void) | undefined
}

const optionNames = { onError: true } satisfies Record<keyof NodeListenerOptions, true>

/** The only origin that a handler sees. The `Host` header is not used: its sender can write anything there. */
const origin = 'http://localhost'

/** The methods that a handler can receive. The platform's `Request` refuses CONNECT, TRACE and TRACK. */
const methods: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/**
 * Adapts a handler of web-standard requests to a listener for `node:http`, `node:http2`, Express and Connect.
 *
 * The handler receives method, headers, path and query; the origin of `request.url` is always `http://localhost`, and
 * the body is not passed on, because a login needs none. Another method gets a 405, and a request that cannot be read a
 * 400. `Set-Cookie` and `Vary` are added to those that earlier middleware has set.
 *
 * The listener never rejects. What the handler throws goes to `next` where there is one, and otherwise to `onError`, with
 * a 500 as the response. A response that fails after its headers were sent is cut off: over HTTP/1.1 its connection is
 * closed, over HTTP/2 its stream is reset.
 *
 * @example
 * expressApp.get('/login', toNodeListener(login.start))
 *
 * @throws InvalidArgumentError when `handler` or `onError` is not a function
 */
export function toNodeListener(
  handler: (request: WebRequest) => Promise<WebResponse>,
  options: NodeListenerOptions = {},
): (request: NodeRequest, response: NodeResponse, next?: (error: unknown) => void) => Promise<void> {
  checkFunction('handler', handler)
  checkOptions('options', options, optionNames)
  const { onError } = options
  if (onError !== undefined) checkFunction('onError', onError)
  return async (request, response, next) => {
    try {
      const received = toWebRequest(request)
      await send(received instanceof Response ? received : await handler(received), response)
    } catch (error) {
      if (next === undefined) {
        sendFailure(response)
        notify(() => onError?.(error))
        return
      }
      try {
        await next(error)
      } catch {
        // A rejection here would end the process.
        sendFailure(response)
      }
    }
  }
}

/** The request for the handler, or the response that refuses it. */
function toWebRequest({ method = 'GET', originalUrl, url = '/', headers }: NodeRequest): Request | Response {
  if (!methods.includes(method)) return refusal(405, 'Method Not Allowed', { allow: methods.join(', ') })
  try {
    return new Request(origin + pathOf(originalUrl ?? url), { method, headers: toHeaders(headers) })
  } catch {
    return refusal(400, 'Bad Request')
  }
}

/** The path and query of a request target in origin form or absolute form (RFC 9112, section 3.2). */
function pathOf(target: string): string {
  // As it is: resolved against a base, `//user@host` would name another host.
  if (target.startsWith('/')) return target
  const { protocol, pathname, search } = new URL(target)
  if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError('The request target is not an http address.')
  return pathname + search
}

function toHeaders(received: NodeRequest['headers']): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(received)) {
    // HTTP/2 has its pseudo-headers here too.
    if (value === undefined || name.startsWith(':')) continue
    for (const item of typeof value === 'string' ? [value] : value) headers.append(name, item)
  }
  return headers
}

function refusal(status: number, text: string, headers: Record<string, string> = {}): Response {
  return new Response(text, { status, headers: { 'content-type': 'text/plain; charset=utf-8', ...headers } })
}

async function send(answer: Response, response: NodeResponse): Promise<void> {
  const body = new Uint8Array(await answer.arrayBuffer())
  response.statusCode = answer.status
  answer.headers.forEach((value, name) => {
    if (name === 'set-cookie') return
    response.setHeader(name, name === 'vary' ? [...existing(response, name), value].join(', ') : value)
  })
  const cookies = answer.headers.getSetCookie()
  if (cookies.length > 0) response.setHeader('set-cookie', [...existing(response, 'set-cookie'), ...cookies])
  response.end(body)
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
    // The headers were sent. Without an error, HTTP/2 would end the stream as if the response were complete.
    if (response.writableEnded !== true)
      response.destroy?.(new Error('The response failed after its headers were sent.'))
  }
}
