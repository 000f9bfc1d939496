import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface OtherSite {
  readonly url: string
  /** How many connections browsers have opened to it, with or without a request. */
  readonly connections: number
  close(): Promise<void>
}

/** Starts another site with one page, on another port of this host. */
export async function startOtherSite(html: string): Promise<OtherSite> {
  let connections = 0
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html')
    response.writeHead(request.url === '/' ? 200 : 204).end(request.url === '/' ? html : undefined)
  })
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    get connections() {
      return connections
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
