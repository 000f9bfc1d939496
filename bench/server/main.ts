// The process of the local services: one port for each peer. Controlled by `services.ts` through messages.
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { loadPeer, type PeerName } from '../contestants.ts'
import { itemsOf } from '../payload/payload.ts'
import type { ListRequest, Service } from '../peers/peer.ts'
import type { Command, Plan, Reply } from './services.ts'

let plan: Plan = { pages: 1, latency: 0 }
let requests = 0

const ports: Partial<Record<PeerName, number>> = {}
for (const name of process.argv.slice(2) as PeerName[]) {
  const { service } = await loadPeer(name)
  const server = createServer(listenerOf(service))
  // An idle connection that is closed while a client reuses it fails a request.
  server.keepAliveTimeout = 600_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ports[name] = (server.address() as AddressInfo).port
}

process.on('disconnect', () => process.exit())
process.on('message', (command: Command) => {
  const counted = requests
  requests = 0
  if (command !== 'count') plan = command
  reply({ requests: counted })
})
reply({ ports })

function reply(message: Reply): void {
  process.send?.(message)
}

function listenerOf(service: Service): RequestListener {
  const itemsText = itemsOf()
  const created = JSON.stringify(service.created)
  return async (request, response) => {
    requests += 1
    const url = new URL(request.url ?? '', `http://${request.headers.host}`)
    const body = await textOf(request)
    const { method = '' } = request
    const wanted = url.pathname === '/bare' ? readBare(method, url) : service.read({ method, url, body })
    if (plan.latency > 0) await wait(plan.latency)
    response.setHeader('content-type', 'application/json; charset=utf-8')
    if (wanted === undefined) {
      response.writeHead(404).end(`{"error":"unexpected request: ${method} ${url.pathname}"}`)
    } else if (wanted === 'create') {
      response.end(created)
    } else {
      const page = wanted.cursor === null ? 1 : Number(wanted.cursor.replace('page_', '')) + 1
      const cursor = `page_${page}`
      const next = page < plan.pages ? cursor : null
      for (const [header, value] of Object.entries(service.headers?.(next, url) ?? {}))
        response.setHeader(header, value)
      response.end(service.page(itemsText(wanted.limit, cursor), next))
    }
  }
}

/** Reads a request of the hand-written loop, which has the same path for every service. */
function readBare(method: string, { searchParams }: URL): ListRequest | 'create' {
  if (method === 'POST') return 'create'
  return { limit: Number(searchParams.get('limit')), cursor: searchParams.get('after') }
}

async function textOf(request: IncomingMessage): Promise<string> {
  request.setEncoding('utf8')
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}
