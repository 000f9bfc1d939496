import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { HonoAdapter } from '@bull-board/hono'
import { serve } from '@hono/node-server'
import { serveStatic } from '@hono/node-server/serve-static'
import type { Queue } from 'bullmq'
import { Hono } from 'hono'
import { secureHeaders } from 'hono/secure-headers'
import { trimTrailingSlash } from 'hono/trailing-slash'
import type { Database } from '../database.ts'
import { statusPage } from './status-page.ts'

export interface SiteOptions {
  database: Pick<Database, 'status'>
  queue: Queue
}

const files = {
  '/style.css': { type: 'text/css', content: readFileSync(new URL('style.css', import.meta.url)) },
  '/refresh.js': { type: 'text/javascript', content: readFileSync(new URL('refresh.js', import.meta.url)) },
}

/** The status page at `/`, and bull-board at `/queues`. Neither asks who you are, so serve them on loopback only. */
export function createSite({ database, queue }: SiteOptions): Hono {
  const site = new Hono()
  site.use(async (context, next) => {
    const { method, url } = context.req
    // A site whose domain resolves to this machine (DNS rebinding) could read the pages otherwise.
    if (!isLoopback(URL.parse(url)?.hostname ?? '')) return context.text('Open this page at 127.0.0.1.', 403)
    // The pages only show. A page of another site could send requests that change the queue otherwise.
    if (method !== 'GET' && method !== 'HEAD') {
      return context.text('These pages can only be read.', 405, { allow: 'GET, HEAD' })
    }
    await next()
    context.header('cache-control', 'no-store')
  })

  site.use(trimTrailingSlash())

  const board = new HonoAdapter(serveStatic)
  createBullBoard({ queues: [new BullMQAdapter(queue, { readOnlyMode: true })], serverAdapter: board })
  // It has styles in its markup. The fonts that it would load from another host are not needed.
  site.use(
    '/queues/*',
    secureHeaders({ contentSecurityPolicy: { ...policy, styleSrc: ["'self'", "'unsafe-inline'"] } }),
  )
  site.route('/queues', board.setBasePath('/queues').registerPlugin())

  site.use(secureHeaders({ contentSecurityPolicy: policy }))
  for (const [path, { type, content }] of Object.entries(files)) {
    site.get(path, (context) => context.body(content, 200, { 'content-type': type }))
  }
  site.get('/', async (context) => {
    const { state, search } = context.req.query()
    const connections = await database.status()
    return context.html(statusPage({ connections, now: Date.now(), filter: { state, search } }))
  })
  return site
}

const policy = {
  defaultSrc: ["'none'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'"],
  imgSrc: ["'self'", 'data:'],
  fontSrc: ["'self'"],
  connectSrc: ["'self'"],
  formAction: ["'self'"],
  baseUri: ["'self'"],
  frameAncestors: ["'none'"],
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}

/** Serves the site on loopback. `port` 0 selects a free one. */
export async function serveSite(options: SiteOptions, port: number): Promise<{ url: string; close(): Promise<void> }> {
  const server = serve({ fetch: createSite(options).fetch, port, hostname: '127.0.0.1' })
  await new Promise<void>((resolve, reject) => server.once('listening', resolve).once('error', reject))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        if ('closeAllConnections' in server) server.closeAllConnections()
      }),
  }
}
