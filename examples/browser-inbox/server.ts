/**
 * A support inbox in the browser. The page logs in with PKCE and calls the service by itself; this small server has the
 * client secret, and does for the page what takes it: the code exchange.
 *
 *   npm run example:browser-inbox      with a local service of its own
 *
 * Against the real service, set these and register `<PUBLIC_URL>/callback` as a redirect URI of your app. Whether the
 * service answers pages of other origins (CORS) is not documented: ask before you rely on it.
 *
 *   BASE_URL        the service, for example https://api.supportwire.app
 *   CLIENT_ID       your app
 *   CLIENT_SECRET   its secret
 *   PUBLIC_URL      where browsers reach this server, for example https://inbox.example.com
 *   PORT            where to listen, 3000 by default
 */
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { type HttpBindings, serve } from '@hono/node-server'
import { OAuthApp } from 'support-workspace-sdk/oauth'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { build } from 'vite'
import { createSite } from './site.ts'

export interface BrowserInboxOptions {
  /** 0 takes any free port. */
  port: number
  /** A local service to use; without it the service is the one that the environment names. */
  sandbox?: Sandbox | undefined
}

export interface RunningServer {
  url: string
  close(): Promise<void>
}

/** Bundles the page, with the SDK in it, into `dist`. */
export async function buildPage(): Promise<void> {
  const root = fileURLToPath(new URL('page', import.meta.url))
  await build({ root, configFile: false, logLevel: 'warn', build: { outDir: '../dist', emptyOutDir: true } })
}

export async function startBrowserInbox({ port, sandbox }: BrowserInboxOptions): Promise<RunningServer> {
  const service = sandbox ? localSettings(sandbox) : settingsFromEnvironment()
  const { url, answerWith, close } = await listen(port)
  const publicUrl = sandbox ? url : (process.env.PUBLIC_URL ?? url).replace(/\/$/, '')
  const redirectUri = `${publicUrl}/callback`
  sandbox?.registerRedirectUri(redirectUri)
  const directory = fileURLToPath(new URL('dist', import.meta.url))
  answerWith(createSite({ app: new OAuthApp({ ...service, redirectUri }), publicUrl, directory }).fetch)
  return { url, close }
}

function localSettings({ url, app: { clientId, clientSecret } }: Sandbox) {
  return { baseUrl: url, clientId, clientSecret }
}

function settingsFromEnvironment() {
  return { baseUrl: need('BASE_URL'), clientId: need('CLIENT_ID'), clientSecret: need('CLIENT_SECRET') }
}

function need(name: string): string {
  const value = process.env[name]
  if (value) return value
  throw new Error(`Set ${name}, or leave BASE_URL unset to use a local service.`)
}

type Answer = (request: Request, env: HttpBindings) => Response | Promise<Response>

/** Listens first and takes the site afterwards: the redirect URI has the port in it. */
async function listen(port: number): Promise<RunningServer & { answerWith(answer: Answer): void }> {
  let answer: Answer = () => new Response('Starting.', { status: 503 })
  const server = serve({ fetch: (request, env) => answer(request, env as HttpBindings), port, hostname: '127.0.0.1' })
  await new Promise<void>((resolve, reject) => server.once('listening', resolve).once('error', reject))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answerWith: (site) => {
      answer = site
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        if ('closeAllConnections' in server) server.closeAllConnections()
      }),
  }
}

if (import.meta.main) {
  const description = 'An example of the SDK: an inbox in the browser.'
  const sandbox = process.env.BASE_URL
    ? undefined
    : await startSandbox({ conversations: 300, app: { name: 'Browser inbox', description } })
  await buildPage()
  const { url } = await startBrowserInbox({ port: Number(process.env.PORT ?? 3000), sandbox })
  console.log(`Open ${url}${sandbox ? `\nThe local service is at ${sandbox.url}` : ''}`)
}
