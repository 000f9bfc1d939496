import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { firstHalf, type ResponseOrDrop } from '../faults/apply-fault.ts'
import { badRequest, HttpError } from '../http-error.ts'
import type { RequestHandler } from './handle-request.ts'

export interface RunningServer {
  url: string
  close(): Promise<void>
}

/** Listens on this address; rejects with one clear sentence when it cannot. */
export async function listen(receive: RequestHandler, host: string, port: number): Promise<RunningServer> {
  const listener = getRequestListener(
    async (request, { outgoing }) => {
      if (request.method === 'TRACE') return traceNotAllowed().toResponse()
      const outcome = await receive(request)
      if (outcome.kind === 'response') return outcome.response
      dropConnection(outcome, outgoing as ServerResponse<IncomingMessage>)
      return RESPONSE_ALREADY_SENT
    },
    // Without this the adapter replaces the global Request and Response of the program that uses the sandbox.
    { overrideGlobalObjects: false, errorHandler: () => unreadableRequest().toResponse() },
  )
  const server = createServer((incoming, outgoing) => {
    // A rejection that nobody handles would end the process.
    listener(incoming, outgoing).catch(() => outgoing.destroy())
  })
  // Without a listener Node closes the connection of a CONNECT request without a response.
  server.on('connect', (_, socket) => {
    socket.on('error', () => socket.destroy())
    socket.end('HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, host, port)))
    server.listen(port, host, resolve)
  })

  const stopped = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  let closing: Promise<void> | undefined
  return {
    url: baseUrlOf(server.address() as AddressInfo),
    close() {
      closing ??= stopped()
      return closing
    },
  }
}

/** `fetch` has no such method, so no `Request` can be made of it. */
function traceNotAllowed(): HttpError {
  return new HttpError(405, 'method_not_allowed', 'The service does not take TRACE.', {
    allow: 'GET, POST, PATCH, DELETE',
  })
}

/** The router responds to its own failures, so what fails around it is a `Host`, target or body that cannot be read. */
function unreadableRequest(): HttpError {
  return badRequest('The request cannot be read.')
}

type Drop = Extract<ResponseOrDrop, { kind: 'drop' }>

function dropConnection(drop: Drop, outgoing: ServerResponse): void {
  const { socket } = outgoing
  const destroy = (): void => void socket?.destroy()
  switch (drop.at) {
    case 'before-headers':
      destroy()
      break
    case 'mid-headers':
      socket?.write('HTTP/1.1 200 OK\r\ncontent-type: applicat', destroy)
      break
    case 'mid-body':
      // The promised length is that of the whole body, so that the client can tell that the rest is missing.
      outgoing.setHeaders(drop.response.headers)
      outgoing.writeHead(drop.response.status, { 'content-length': drop.body.length })
      outgoing.write(firstHalf(drop.body), destroy)
  }
}

function baseUrlOf({ address, family, port }: AddressInfo): string {
  // An address that means every interface is no address to connect to.
  if (address === '0.0.0.0' || address === '::') return `http://127.0.0.1:${port}`
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const reasons: Record<string, string> = {
    EADDRINUSE: `Port ${port} on ${host} is already in use; choose another port, or 0 for any free one.`,
    EACCES: `Port ${port} on ${host} needs rights that this process does not have; choose a port above 1023.`,
  }
  return new Error(reasons[error.code ?? ''] ?? `The sandbox cannot listen on ${host}: ${error.message}.`, {
    cause: error,
  })
}
