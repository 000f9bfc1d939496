import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What the token endpoint received. */
export interface TokenRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly form: URLSearchParams
}

export type Answer = (response: ServerResponse, request: TokenRequest) => void

/** A token endpoint on loopback that answers as it is told, well or badly, and remembers what it was sent. */
export interface TokenEndpoint {
  readonly url: string
  readonly requests: TokenRequest[]
  answer: Answer
  close(): Promise<void>
}

export const accessToken = 'swot_0123456789abcdefghijklmnopqrstuv'

export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
}

export const goodAnswer: Answer = json({
  access_token: accessToken,
  token_type: 'Bearer',
  scope: 'conversations:read messages:write',
})

export async function startTokenEndpoint(): Promise<TokenEndpoint> {
  const requests: TokenRequest[] = []
  const server: Server = createServer((message, response) => {
    const chunks: Buffer[] = []
    message.on('data', (chunk: Buffer) => chunks.push(chunk))
    message.on('end', () => {
      const request = {
        method: message.method ?? '',
        path: message.url ?? '',
        headers: message.headers,
        form: new URLSearchParams(Buffer.concat(chunks).toString('utf8')),
      }
      requests.push(request)
      endpoint.answer(response, request)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const endpoint: TokenEndpoint = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answer: goodAnswer,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return endpoint
}
