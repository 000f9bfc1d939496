/**
 * A support inbox in the browser. The page logs in with PKCE and calls the service directly. This small server has the
 * client secret, so it does the code exchange for the page.
 *
 *   npm run example:browser-inbox starts it with a local sandbox and prints the URL to open
 *
 * To use the real service, set these variables and register `<PUBLIC_URL>/callback` as a redirect URI of your app.
 * Whether the service allows requests from pages on other origins (CORS) is not documented. Check before you rely on
 * it.
 *
 *   BASE_URL base URL of the service, for example https://api.supportwire.app CLIENT_ID client id of your app
 *   CLIENT_SECRET client secret of your app PUBLIC_URL URL of this server for browsers, for example
 *   https://inbox.example.com PORT port to listen on, 3000 by default
 */
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { type HttpBindings, serve } from '@hono/node-server'
import { OAuthApp } from 'support-workspace-sdk/oauth'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { build } from 'vite'
import { createSite } from './site.ts'

export interface BrowserInboxOptions {
  /** Port to listen on; 0 selects a free one. */
  port: number
  /** A local service to use. Defaults to the service in the environment variables. */
  sandbox?: Sandbox | undefined
}

export interface RunningServer {
  url: string
  close(): Promise<void>
}

/** Bundles the page and the SDK into `dist`. */
export async function buildPage(): Promise<void> {
  const root = fileURLToPath(new URL('page', import.meta.url))
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    // In this repository, the SDK is bundled from its source.
    resolve: { tsconfigPaths: true },
    build: { outDir: '../dist', emptyOutDir: true },
  })
}

export async function startBrowserInbox({ port, sandbox }: BrowserInboxOptions): Promise<RunningServer> {
  const service = sandbox ? sandboxSettings(sandbox) : settingsFromEnvironment()
  const { url, handleWith, close } = await listen(port)
  const publicUrl = sandbox ? url : (process.env.PUBLIC_URL ?? url).replace(/\/$/, '')
  const redirectUri = `${publicUrl}/callback`
  sandbox?.registerRedirectUri(redirectUri)
  const directory = fileURLToPath(new URL('dist', import.meta.url))
  handleWith(createSite({ app: new OAuthApp({ ...service, redirectUri }), publicUrl, directory }).fetch)
  return { url, close }
}

function sandboxSettings({ url, app: { clientId, clientSecret } }: Sandbox) {
  return { baseUrl: url, clientId, clientSecret }
}

function settingsFromEnvironment() {
  return {
    baseUrl: requireVariable('BASE_URL'),
    clientId: requireVariable('CLIENT_ID'),
    clientSecret: requireVariable('CLIENT_SECRET'),
  }
}

function requireVariable(name: string): string {
  const value = process.env[name]
  if (value) return value
  throw new Error(`Set ${name}, or leave BASE_URL unset to use a local service.`)
}

type Handler = (request: Request, env: HttpBindings) => Response | Promise<Response>

/** Starts listening before the site exists, because the site's redirect URI contains the port. */
async function listen(port: number): Promise<RunningServer & { handleWith(handler: Handler): void }> {
  let handler: Handler = () => new Response('Starting.', { status: 503 })
  const server = serve({ fetch: (request, env) => handler(request, env as HttpBindings), port, hostname: '127.0.0.1' })
  await new Promise<void>((resolve, reject) => server.once('listening', resolve).once('error', reject))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    handleWith: (site) => {
      handler = site
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
  console.log(`Open ${url}${sandbox ? `\nThe local service runs at ${sandbox.url}` : ''}`)
}
