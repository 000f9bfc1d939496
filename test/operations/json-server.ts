import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach } from 'vitest'

export interface ReceivedRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

export interface JsonResponse {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface JsonServer {
  readonly url: string
  readonly received: ReceivedRequest[]
}

/** Returns a function that starts a JSON server on a free port. The servers close after each test. */
export function useJsonServers(): (respond: (request: ReceivedRequest) => JsonResponse) => Promise<JsonServer> {
  const closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    await Promise.all(closing.splice(0).map((close) => close()))
  })
  return async (respond) => {
    const received: ReceivedRequest[] = []
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const text = Buffer.concat(chunks).toString()
      const { method = '', url = '', headers } = request
      const seen = { method, url, headers, body: text === '' ? undefined : JSON.parse(text) }
      received.push(seen)
      const { status = 200, headers: extra = {}, body } = respond(seen)
      response.writeHead(status, { 'content-type': 'application/json', ...extra })
      response.end(body === undefined ? '' : JSON.stringify(body))
    })
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    closing.push(() => new Promise((closed) => server.close(() => closed())))
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
  }
}
