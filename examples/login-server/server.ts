/**
 * A support inbox on a web server. An admin connects the workspace, then reads conversations and replies to them.
 *
 *   npm run example:login-server starts it with a local sandbox and prints the URL to open
 *
 * To use the real service, set these variables and register `<PUBLIC_URL>/login/callback` as a redirect URI of your
 * app:
 *
 *   BASE_URL base URL of the service, for example https://api.supportwire.app CLIENT_ID client id of your app
 *   CLIENT_SECRET client secret of your app PUBLIC_URL URL of this server for browsers, for example
 *   https://inbox.example.com COOKIE_SECRET at least 32 characters, for example from `openssl rand -base64 32` PORT
 *   port to listen on, 3000 by default
 */
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { OAuthApp } from 'support-workspace-sdk/oauth'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { createSite } from './site.ts'

export interface LoginServerOptions {
  /** Port to listen on; 0 selects a free one. */
  port: number
  /** A local service to use. Defaults to the service in the environment variables. */
  sandbox?: Sandbox | undefined
}

export interface RunningServer {
  url: string
  close(): Promise<void>
}

export async function startLoginServer({ port, sandbox }: LoginServerOptions): Promise<RunningServer> {
  const { secret, ...service } = sandbox ? sandboxSettings(sandbox) : settingsFromEnvironment()
  const { url, handleWith, close } = await listen(port)
  const publicUrl = sandbox ? url : (process.env.PUBLIC_URL ?? url).replace(/\/$/, '')
  const redirectUri = `${publicUrl}/login/callback`
  sandbox?.registerRedirectUri(redirectUri)
  handleWith(createSite({ app: new OAuthApp({ ...service, redirectUri }), secret, publicUrl }).fetch)
  return { url, close }
}

function sandboxSettings({ url, app: { clientId, clientSecret } }: Sandbox) {
  // A new secret at each start ends all sessions, which is acceptable only with a local service.
  return { baseUrl: url, clientId, clientSecret, secret: randomBytes(32).toString('base64') }
}

function settingsFromEnvironment() {
  return {
    baseUrl: requireVariable('BASE_URL'),
    clientId: requireVariable('CLIENT_ID'),
    clientSecret: requireVariable('CLIENT_SECRET'),
    secret: requireVariable('COOKIE_SECRET'),
  }
}

function requireVariable(name: string): string {
  const value = process.env[name]
  if (value) return value
  throw new Error(`Set ${name}, or leave BASE_URL unset to use a local service.`)
}

type Handler = (request: Request) => Response | Promise<Response>

/** Starts listening before the site exists, because the site's redirect URI contains the port. */
async function listen(port: number): Promise<RunningServer & { handleWith(handler: Handler): void }> {
  let handler: Handler = () => new Response('Starting.', { status: 503 })
  const server = serve({ fetch: (request) => handler(request), port, hostname: '127.0.0.1' })
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
  const sandbox = process.env.BASE_URL
    ? undefined
    : await startSandbox({ app: { name: 'Login server', description: 'An example of the SDK: an inbox on a server.' } })
  const { url } = await startLoginServer({ port: Number(process.env.PORT ?? 3000), sandbox })
  console.log(`Open ${url}${sandbox ? `\nThe local service runs at ${sandbox.url}` : ''}`)
}
