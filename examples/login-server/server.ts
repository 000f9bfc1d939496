/**
 * A support inbox as a web server: an admin connects the workspace, then reads conversations and answers them.
 *
 *   npm run example:login-server      with a local service of its own
 *
 * Against the real service, set these and register `<PUBLIC_URL>/login/callback` as a redirect URI of your app:
 *
 *   BASE_URL        the service, for example https://api.supportwire.app
 *   CLIENT_ID       your app
 *   CLIENT_SECRET   its secret
 *   PUBLIC_URL      where browsers reach this server, for example https://inbox.example.com
 *   COOKIE_SECRET   at least 32 characters, for example from `openssl rand -base64 32`
 *   PORT            where to listen, 3000 by default
 */
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { OAuthApp } from 'support-workspace-sdk/oauth'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { createSite } from './site.ts'

export interface LoginServerOptions {
  /** 0 takes any free port. */
  port: number
  /** A local service to use; without it the service is the one that the environment names. */
  sandbox?: Sandbox | undefined
}

export interface RunningServer {
  url: string
  close(): Promise<void>
}

export async function startLoginServer({ port, sandbox }: LoginServerOptions): Promise<RunningServer> {
  const { secret, ...service } = sandbox ? localSettings(sandbox) : settingsFromEnvironment()
  const { url, answerWith, close } = await listen(port)
  const publicUrl = sandbox ? url : (process.env.PUBLIC_URL ?? url).replace(/\/$/, '')
  const redirectUri = `${publicUrl}/login/callback`
  sandbox?.registerRedirectUri(redirectUri)
  answerWith(createSite({ app: new OAuthApp({ ...service, redirectUri }), secret, publicUrl }).fetch)
  return { url, close }
}

function localSettings({ url, app: { clientId, clientSecret } }: Sandbox) {
  // A secret made at start logs everybody out at the next start: good enough for a local service only.
  return { baseUrl: url, clientId, clientSecret, secret: randomBytes(32).toString('base64') }
}

function settingsFromEnvironment() {
  return {
    baseUrl: need('BASE_URL'),
    clientId: need('CLIENT_ID'),
    clientSecret: need('CLIENT_SECRET'),
    secret: need('COOKIE_SECRET'),
  }
}

function need(name: string): string {
  const value = process.env[name]
  if (value) return value
  throw new Error(`Set ${name}, or leave BASE_URL unset to use a local service.`)
}

type Answer = (request: Request) => Response | Promise<Response>

/** Listens first and takes the site afterwards: the redirect URI has the port in it. */
async function listen(port: number): Promise<RunningServer & { answerWith(answer: Answer): void }> {
  let answer: Answer = () => new Response('Starting.', { status: 503 })
  const server = serve({ fetch: (request) => answer(request), port, hostname: '127.0.0.1' })
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
  const sandbox = process.env.BASE_URL
    ? undefined
    : await startSandbox({ app: { name: 'Login server', description: 'An example of the SDK: an inbox on a server.' } })
  const { url } = await startLoginServer({ port: Number(process.env.PORT ?? 3000), sandbox })
  console.log(`Open ${url}${sandbox ? `\nThe local service is at ${sandbox.url}` : ''}`)
}
