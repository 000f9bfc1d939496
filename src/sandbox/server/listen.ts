import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Hono } from 'hono'
import { type Addresses, createAddresses } from '../addresses.ts'
import type { AppEnv, Drop } from '../app-env.ts'
import { firstHalf } from '../faults/inject-faults.ts'
import { badRequest, forbidden, HttpError } from '../http.ts'
import type { SandboxSettings } from '../sandbox-options.ts'

export interface RunningServer {
  url: string
  close(): Promise<void>
}

/**
 * Listens for requests to the service and to the console that a function creates for the server's addresses. Rejects
 * with an `Error` that names the cause if it cannot.
 */
export async function listen(
  service: Hono<AppEnv>,
  createConsole: (addresses: Addresses) => Hono,
  { host, port, allowedHosts }: SandboxSettings,
): Promise<RunningServer> {
  const server = createServer()
  server.listen(port, host)
  await once(server, 'listening').catch((error) => {
    throw listenError(error, host, port)
  })
  const url = baseUrlOf(server.address() as AddressInfo)
  const addresses = createAddresses(url, host, allowedHosts)
  const respond = createResponder(service, createConsole(addresses), addresses)
  // By default the adapter replaces the global Request and Response of the whole program.
  const listener = getRequestListener(respond, { overrideGlobalObjects: false, errorHandler: errorResponse })
  server.on('request', (incoming, outgoing) => {
    // An unhandled rejection would end the process.
    listener(incoming, outgoing).catch(() => outgoing.destroy())
  })
  return {
    url,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

// The service handles its own errors, so an error around it means that the `Host`, the target or the body is malformed.
function errorResponse(error: unknown): Response {
  return (error instanceof HttpError ? error : badRequest('The request is malformed.')).toResponse()
}

type Responder = Parameters<typeof getRequestListener>[0]

// The service has every path that the console does not have.
const isConsolePath = /^\/(_sandbox(\/.*)?)?$/

/** Returns a function that handles the requests to own hosts. */
function createResponder(service: Hono<AppEnv>, console: Hono, { isOwnHost, isOwnOrigin }: Addresses): Responder {
  return async (received, { outgoing }) => {
    const { url, method, headers, body } = received
    // The platform cannot copy the adapter's own kind of `Request`, as middleware does. Throws for a malformed URL and
    // for the method TRACE.
    const request = new Request(url, { method, headers, body, duplex: 'half' } as RequestInit)
    const { hostname, pathname } = new URL(request.url)
    if (!isOwnHost(hostname)) {
      const way = 'Allow it with --allowed-host, or `allowedHosts` in code.'
      throw forbidden(`The sandbox does not respond to the host ${hostname}. ${way}`)
    }
    const env: AppEnv['Bindings'] = { isOwnOrigin }
    const response = await (isConsolePath.test(pathname) ? console : service).fetch(request, env)
    if (env.drop === undefined) return response
    await dropConnection(env.drop, response, outgoing as ServerResponse)
    return RESPONSE_ALREADY_SENT
  }
}

async function dropConnection(drop: Drop, response: Response, outgoing: ServerResponse): Promise<void> {
  const { socket } = outgoing
  const destroy = (): void => void socket?.destroy()
  if (drop === 'mid-headers') socket?.write('HTTP/1.1 200 OK\r\ncontent-type: applicat', destroy)
  else if (drop === 'mid-body') {
    const body = new Uint8Array(await response.arrayBuffer())
    // The header states the length of the whole body, so that the client can detect that it was cut off.
    outgoing.setHeaders(response.headers)
    outgoing.writeHead(response.status, { 'content-length': body.length })
    outgoing.write(firstHalf(body), destroy)
  } else destroy()
}

function baseUrlOf({ address, family, port }: AddressInfo): string {
  // A client cannot connect to an address that stands for every interface.
  if (address === '0.0.0.0' || address === '::') return `http://127.0.0.1:${port}`
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const reasons: Record<string, string> = {
    EADDRINUSE: `Port ${port} on ${host} is already in use. Choose another port, or 0 for any free one.`,
    EACCES: `Port ${port} on ${host} requires privileges that this process does not have. Choose a port above 1023.`,
  }
  const otherwise = `The sandbox cannot listen on port ${port} of ${host}: ${error.message}. Choose another address.`
  return new Error(reasons[error.code ?? ''] ?? otherwise, { cause: error })
}
