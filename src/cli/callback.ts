import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { isLoopback } from '../shared/credentials.ts'

/** What a request to the redirect URI gets. */
export interface Answer {
  readonly status: number
  /** The text of the page. */
  readonly text: string
  /** Called when the page has left, if the login ends with it. */
  sent?(): void
}

/**
 * Listens at a redirect URI: at both addresses of `localhost`, because browsers differ in which they use. Returns a
 * function that ends the server, and why it cannot listen, if the URI belongs to another machine or the port is in use.
 *
 * @param answer called with the address that the browser has requested; the page is sent when it resolves
 */
export async function listenAt(
  redirectUri: string,
  answer: (address: string) => Promise<Answer>,
): Promise<{ close(): void; problem?: string }> {
  const url = new URL(redirectUri)
  const servers: Server[] = []
  const close = () => {
    for (const server of servers) {
      server.close()
      // A browser would keep them open, and the process with them.
      server.closeAllConnections()
    }
  }
  if (url.protocol !== 'http:' || !isLoopback(url))
    return { close, problem: 'The redirect URI is not an address of this machine.' }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isName = !/^[\d.:a-f]+$/.test(host)
  for (const address of isName ? ['127.0.0.1', '::1'] : [host]) {
    const server = createServer((request, response) => void respond(request, response, answer))
    server.listen(Number(url.port || 80), address)
    try {
      await once(server, 'listening')
      servers.push(server)
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException
      // A machine without IPv6.
      if (address === '::1' && isName && (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT')) continue
      close()
      return { close, problem: `Port ${url.port || 80} cannot be used here (${code}).` }
    }
  }
  return { close }
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  answer: (address: string) => Promise<Answer>,
): Promise<void> {
  const { method, url: target = '/', headers, socket } = request
  // Also if the browser goes away before the answer is there.
  const closed = new Promise((resolve) => socket.once('close', resolve))
  // A page of another site can make the browser send requests here. Its host name, path and state are checked by the
  // login.
  const isPlain = method === 'GET' && target.startsWith('/') && /^[\w.:[\]-]+$/.test(headers.host ?? '')
  const { status, text, sent }: Answer = isPlain
    ? await answer(`http://${headers.host}${target}`)
    : { status: 400, text: 'This is not the address of the login.' }
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'content-security-policy': "default-src 'none'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
  })
  response.end(`${text}\n`)
  await closed
  sent?.()
}
