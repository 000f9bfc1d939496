import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeEach } from 'vitest'

/** What the token endpoint received. */
export interface TokenRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly form: URLSearchParams
}

export type Responder = (response: ServerResponse, request: TokenRequest) => void

/** A token endpoint on loopback that responds as configured, and records the requests. */
export interface TokenEndpoint {
  readonly url: string
  readonly requests: TokenRequest[]
  respond: Responder
  close(): Promise<void>
}

export const accessToken = 'swot_0123456789abcdefghijklmnopqrstuv'

export function jsonResponse(body: unknown, status = 200, headers: Record<string, string> = {}): Responder {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
}

export const goodResponse: Responder = jsonResponse({
  access_token: accessToken,
  token_type: 'Bearer',
  scope: 'conversations:read messages:write',
})

export async function startTokenEndpoint(): Promise<TokenEndpoint> {
  const server = createServer(async (message, response) => {
    const { method = '', url: path = '', headers } = message
    const request = { method, path, headers, form: new URLSearchParams(await text(message)) }
    endpoint.requests.push(request)
    endpoint.respond(response, request)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const endpoint: TokenEndpoint = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    respond: goodResponse,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return endpoint
}

/** A token endpoint for all tests of a file. Before each of them it has received nothing and responds with a token. */
export async function useTokenEndpoint(): Promise<TokenEndpoint> {
  const endpoint = await startTokenEndpoint()
  afterAll(() => endpoint.close())
  beforeEach(() => {
    endpoint.requests.length = 0
    endpoint.respond = goodResponse
  })
  return endpoint
}
