import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Starts another site with one page, on another port of this host. */
export async function startOtherSite(html: string): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html')
    response.writeHead(request.url === '/' ? 200 : 204).end(request.url === '/' ? html : undefined)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
