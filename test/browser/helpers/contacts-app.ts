import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { html } from 'hono/html'
import { parse } from 'hono/utils/cookie'
import { InsufficientScopeError } from 'support-workspace-sdk'
import {
  type Connection,
  ConnectionStore,
  createLoginHandlers,
  LoginError,
  OAuthApp,
  toNodeListener,
} from 'support-workspace-sdk/oauth'
import type { Sandbox } from 'support-workspace-sdk/sandbox'

export interface ContactsApp {
  readonly url: string
  readonly store: ConnectionStore
  /** The arguments of `onError`, one entry per failed login. */
  readonly failures: readonly Failure[]
  close(): Promise<void>
}

interface Failure {
  readonly reason: string
  readonly data: LoginData | undefined
  readonly returnTo: string
}

/** The data that the app seals into a login: the user who started it. */
interface LoginData {
  readonly userId: string
}

/**
 * An app on `node:http` with its own users and one pair of login handlers. A login requests the scope for conversations;
 * the contacts page requests one more. `/sign-in?user=bob` changes the app's user, which is alice by default.
 */
export async function startContactsApp(sandbox: Sandbox): Promise<ContactsApp> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const redirectUri = `${url}/login/callback`
  sandbox.registerRedirectUri(redirectUri)

  const { clientId, clientSecret } = sandbox.app
  const app = new OAuthApp({ baseUrl: sandbox.url, clientId, clientSecret, redirectUri })
  const store = new ConnectionStore({ baseUrl: sandbox.url })
  const keys = new Map<string, string>()
  const failures: Failure[] = []

  const login = createLoginHandlers<LoginData>(app, {
    secret: 'a secret of this app, 32 characters or more',
    scope: ['conversations:read'],
    actor: 'self',
    returnTo: '/conversations',
    async onConnected(token, { request, data }) {
      const user = userOf(request)
      if (data?.userId !== user) {
        const text = `${data?.userId} started this login, but you are signed in as ${user}. Nothing was connected.`
        return page('You are signed in as another user', html`<p>${text}</p>`, 403)
      }
      keys.set(user, (await store.save(token)).key)
    },
    async onError(error, { request, data, returnTo, status }) {
      failures.push({ reason: error instanceof LoginError ? error.reason : error.name, data, returnTo })
      const title = (await connectionOf(request)) ? 'Your connection is unchanged' : 'You are not connected'
      return page(title, html`<p>${error.message}</p><a href="${returnTo}">Go back</a>`, status)
    },
  })

  async function connectionOf(request: Request): Promise<Connection | undefined> {
    const key = keys.get(userOf(request))
    return key === undefined ? undefined : store.get(key)
  }

  async function list(request: Request, resource: 'conversations' | 'contacts'): Promise<Response> {
    const connection = await connectionOf(request)
    if (connection === undefined) return home(request)
    const workspace = await store.workspace(connection.key)
    const { data } = await workspace[resource].list()
    return page(`${data.length} ${resource}`, html`<p>Connected as ${connection.user?.name ?? 'the app'}</p>`)
  }

  /** A GET explains which permission is missing. The POST of its button requests it. */
  async function contacts(request: Request): Promise<Response> {
    try {
      return await list(request, 'contacts')
    } catch (error) {
      if (!(error instanceof InsufficientScopeError)) throw error
      if (request.method === 'POST') {
        const actor = (await connectionOf(request))?.actor
        return login.start(request, { scope: error.scopesToRequest, actor, data: { userId: userOf(request) } })
      }
      const form = html`<form method="post" action="/contacts?return_to=/contacts"><button>Allow contacts</button></form>`
      return page('One more permission', html`<p>This page needs ${error.missing.join(', ')}.</p>${form}`)
    }
  }

  async function home(request: Request): Promise<Response> {
    const links = html`<a href="/login/self">Connect as yourself</a> <a href="/login/app">Connect as the app</a>`
    return page(`Signed in as ${userOf(request)}`, links)
  }

  function signIn(request: Request): Response {
    const user = new URL(request.url).searchParams.get('user') === 'bob' ? 'bob' : 'alice'
    const headers = { location: '/', 'set-cookie': `user=${user}; Path=/; HttpOnly; SameSite=Lax` }
    return new Response(null, { status: 303, headers })
  }

  const routes: Readonly<Record<string, (request: Request) => Response | Promise<Response>>> = {
    '/': home,
    '/sign-in': signIn,
    '/conversations': (request) => list(request, 'conversations'),
    '/contacts': contacts,
    '/login/self': (request) => login.start(request, { data: { userId: userOf(request) } }),
    '/login/app': (request) =>
      login.start(request, { actor: 'app', parameters: { prompt: 'consent' }, data: { userId: userOf(request) } }),
    '/login/callback': login.callback,
  }
  const listener = toNodeListener(async (request) => (routes[new URL(request.url).pathname] ?? home)(request))
  server.on('request', listener)

  return {
    url,
    store,
    failures,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The app's own session. A real one is signed. */
function userOf(request: Request): string {
  return parse(request.headers.get('cookie') ?? '', 'user').user ?? 'alice'
}

async function page(title: string, content: ReturnType<typeof html>, status = 200): Promise<Response> {
  const text = await html`<!doctype html>
    <html lang="en">
      <head><meta charset="utf-8"><title>${title}</title><link rel="icon" href="data:,"></head>
      <body><h1>${title}</h1>${content}</body>
    </html>`
  return new Response(String(text), { status, headers: { 'content-type': 'text/html; charset=utf-8' } })
}
