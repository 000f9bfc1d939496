import type { WebRequest, WebResponse } from '../web-types.ts'

/** What the adapter reads of a request of `node:http` or Express. */
export interface NodeRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  /** Express: the address before a mounted router cut its path off. */
  readonly originalUrl?: string | undefined
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** What the adapter calls of a response of `node:http` or Express. */
export interface NodeResponse {
  statusCode: number
  setHeader(name: string, value: string | readonly string[]): unknown
  end(body: Uint8Array): unknown
}

/**
 * A handler of web-standard requests as a listener for `node:http`, Express and Connect. Request bodies are not passed
 * on: a login needs none.
 *
 * What the handler throws goes to `next`, where there is one. Without it the answer is a bare 500 and the listener
 * rejects, as any async listener does.
 *
 * @example
 * expressApp.get('/login', toNodeListener(login.start))
 */
export function toNodeListener(
  handler: (request: WebRequest) => Promise<WebResponse>,
): (request: NodeRequest, response: NodeResponse, next?: (error: unknown) => void) => Promise<void> {
  return async (request, response, next) => {
    try {
      await send(await handler(toWebRequest(request)), response)
    } catch (error) {
      if (next !== undefined) return next(error)
      response.statusCode = 500
      response.end(new Uint8Array())
      throw error
    }
  }
}

function toWebRequest(request: NodeRequest): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    // HTTP/2 has its pseudo-headers here too.
    if (value === undefined || name.startsWith(':')) continue
    for (const item of typeof value === 'string' ? [value] : value) headers.append(name, item)
  }
  const path = request.originalUrl ?? request.url ?? '/'
  // Whoever sends the request writes its host; a login relies on the path alone.
  const origins = [`http://${headers.get('host')}`, 'http://localhost']
  const origin = origins.find((candidate) => URL.canParse(path, candidate))
  const url = origin === undefined ? 'http://localhost/' : new URL(path, origin)
  return new Request(url, { method: request.method ?? 'GET', headers })
}

async function send(answer: Response, response: NodeResponse): Promise<void> {
  const body = new Uint8Array(await answer.arrayBuffer())
  response.statusCode = answer.status
  answer.headers.forEach((value, name) => {
    if (name !== 'set-cookie') response.setHeader(name, value)
  })
  const cookies = answer.headers.getSetCookie()
  if (cookies.length > 0) response.setHeader('set-cookie', cookies)
  response.end(body)
}
