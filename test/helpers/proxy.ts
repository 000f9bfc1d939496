import { createServer, request as httpRequest } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Duplex } from 'node:stream'

/** A proxy on loopback that records the requested hosts, both of tunnels (CONNECT) and of requests with an absolute URL. */
export interface LoopbackProxy {
  readonly url: string
  readonly hosts: string[]
  close(): Promise<void>
}

/** Starts a proxy. With `refuseWith`, it refuses tunnels with this status, or hangs up. */
export async function startProxy({ refuseWith }: { refuseWith?: number | 'hang-up' } = {}): Promise<LoopbackProxy> {
  const hosts: string[] = []
  const tunnels = new Set<Duplex>()
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
    client.on('error', () => {})
    tunnels.add(client)
    if (refuseWith === 'hang-up') return client.destroy()
    if (refuseWith !== undefined) return client.end(`HTTP/1.1 ${refuseWith} Refused\r\ncontent-length: 0\r\n\r\n`)
    const upstream = connect(Number(port), host, () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      upstream.write(head)
      upstream.pipe(client).pipe(upstream)
    })
    upstream.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    hosts,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      for (const client of tunnels) client.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
