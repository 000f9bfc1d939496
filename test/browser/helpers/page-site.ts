import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { build, preview } from 'vite'
import type { PageApi, Place } from '../page/page.ts'
import type { Order } from '../page/worker.ts'

export interface PageSite {
  readonly url: string
  close(): Promise<void>
}

/** Bundles the page and its worker, and serves them with a policy that allows connections to loopback only. */
export async function startPageSite(): Promise<PageSite> {
  const directory = await mkdtemp(join(tmpdir(), 'sdk-page-'))
  const policy =
    "default-src 'none'; script-src 'self'; worker-src 'self'; img-src 'self'; connect-src http://127.0.0.1:*; base-uri 'none'; form-action 'none'"
  const config = {
    root: fileURLToPath(new URL('../page', import.meta.url)),
    configFile: false,
    logLevel: 'warn',
    build: { outDir: directory, emptyOutDir: true },
    worker: { format: 'es' },
    preview: { host: '127.0.0.1', port: 0, headers: { 'content-security-policy': policy } },
  } as const
  await build(config)
  const server = await preview(config)
  return {
    url: new URL(server.resolvedUrls?.local[0] ?? '').origin,
    async close() {
      await server.close()
      await rm(directory, { recursive: true })
    },
  }
}

/** Runs a check in the page, or in its worker. */
export function runInPage(page: Page, place: Place, order: Order): Promise<unknown> {
  const send = ([place, order]: readonly [Place, Order]) =>
    (globalThis as unknown as { api: PageApi }).api.order(place, order)
  return page.evaluate(send, [place, order] as const)
}
