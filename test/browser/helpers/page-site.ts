import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { serve } from '@hono/node-server'
import { serveStatic } from '@hono/node-server/serve-static'
import { Hono } from 'hono'
import { build } from 'vite'

export interface PageSite {
  readonly url: string
  close(): Promise<void>
}

/** Bundles the page and its worker, and serves them with a policy that allows connections to loopback only. */
export async function startPageSite(): Promise<PageSite> {
  const directory = await mkdtemp(join(tmpdir(), 'sdk-page-'))
  await build({
    root: fileURLToPath(new URL('../page', import.meta.url)),
    configFile: false,
    logLevel: 'warn',
    build: { outDir: directory, emptyOutDir: true },
    worker: { format: 'es' },
  })
  const site = new Hono()
  site.use(async (context, next) => {
    await next()
    context.header(
      'content-security-policy',
      "default-src 'none'; script-src 'self'; worker-src 'self'; img-src 'self'; connect-src http://127.0.0.1:*; base-uri 'none'; form-action 'none'",
    )
  })
  site.use(serveStatic({ root: directory }))
  const server = serve({ fetch: site.fetch, port: 0, hostname: '127.0.0.1' })
  await new Promise<void>((resolve) => server.once('listening', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        if ('closeAllConnections' in server) server.closeAllConnections()
      })
      await rm(directory, { recursive: true })
    },
  }
}
