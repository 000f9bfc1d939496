import { createServer, request as httpRequest } from 'node:http'
import { type AddressInfo, connect } from 'node:net'

/** A proxy on loopback that records the requested hosts, both of tunnels (CONNECT) and of requests with an absolute URL. */
export interface LoopbackProxy {
  readonly url: string
  readonly hosts: string[]
  close(): Promise<void>
}

export async function startProxy(): Promise<LoopbackProxy> {
  const hosts: string[] = []
  const server = createServer((request, response) => {
    hosts.push(new URL(request.url ?? '').host)
    const { method, headers } = request
    const upstream = httpRequest(request.url ?? '', { method, headers }, (upstreamResponse) => {
      response.writeHead(upstreamResponse.statusCode ?? 502, upstreamResponse.headers)
      upstreamResponse.pipe(response)
    })
    request.pipe(upstream.on('error', () => response.destroy()))
  })
  server.on('connect', (request, client, head) => {
    const [host, port] = (request.url ?? '').split(':')
    hosts.push(request.url ?? '')
    const upstream = connect(Number(port), host, () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      upstream.write(head)
      upstream.pipe(client).pipe(upstream)
    })
    for (const socket of [client, upstream]) socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    hosts,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
