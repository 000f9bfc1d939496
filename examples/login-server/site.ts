import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Context, Hono } from 'hono'
import { csrf } from 'hono/csrf'
import { HTTPException } from 'hono/http-exception'
import { secureHeaders } from 'hono/secure-headers'
import { AuthenticationError, SupportWorkspace, SupportWorkspaceError } from 'support-workspace-sdk'
import { type AccessToken, createLoginHandlers, type OAuthApp, scopesFor } from 'support-workspace-sdk/oauth'
import type { Connection } from './connection.ts'
import { addInbox } from './inbox.ts'
import { noticePage, toResponse, welcomePage } from './pages.ts'
import { createSession } from './session.ts'

export interface SiteOptions {
  app: OAuthApp
  /** Seals the login on its way, and signs the session. */
  secret: string
  /** Where browsers reach this site. */
  publicUrl: string
}

/** What every route below `/conversations` finds in its context. */
export interface SiteVariables {
  id: string
  connection: Connection
}

const styles = readFileSync(new URL('style.css', import.meta.url))
const icon = readFileSync(new URL('icon.svg', import.meta.url))

export function createSite({ app, secret, publicUrl }: SiteOptions): Hono<{ Variables: SiteVariables }> {
  const connections = new Map<string, Connection>()
  const session = createSession(secret, publicUrl)
  const site = new Hono<{ Variables: SiteVariables }>()

  const login = {
    secret,
    scope: scopesFor('conversations.list', 'messages.list', 'messages.create'),
    returnTo: '/conversations',
    async onConnected(token: AccessToken, { returnTo }: { returnTo: string }) {
      const workspace = await SupportWorkspace.connect({ baseUrl: app.baseUrl, accessToken: token.accessToken })
      const id = randomUUID()
      connections.set(id, { workspace, me: await workspace.me() })
      return new Response(null, { status: 303, headers: { location: returnTo, 'set-cookie': await session.begin(id) } })
    },
    onError: (error: Error) => toResponse(noticePage('You are not connected', error.message), 403),
  }
  // A login's scope and actor are fixed when its handlers are made: a pair for each way to connect, one callback.
  const asSelf = createLoginHandlers(app, { ...login, actor: 'self' })
  const asApp = createLoginHandlers(app, { ...login, actor: 'app' })

  site.use(
    secureHeaders({
      contentSecurityPolicy: {
        defaultSrc: ["'none'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'"],
        formAction: ["'self'"],
        baseUri: ["'none'"],
        frameAncestors: ["'none'"],
      },
    }),
    // Forms are taken from this site's own pages only. SameSite alone would let other ports of the host in.
    csrf({ origin: new URL(publicUrl).origin }),
  )
  site.get('/style.css', (context) => context.body(styles, 200, { 'content-type': 'text/css' }))
  site.get('/icon.svg', (context) => context.body(icon, 200, { 'content-type': 'image/svg+xml' }))

  site.get('/login/self', (context) => asSelf.start(context.req.raw))
  site.get('/login/app', (context) => asApp.start(context.req.raw))
  site.get('/login/callback', (context) => asSelf.callback(context.req.raw))

  site.get('/', async (context) => {
    const isConnected = connections.has((await session.read(context)) ?? '')
    return isConnected ? context.redirect('/conversations') : context.html(welcomePage())
  })

  site.post('/disconnect', async (context) => {
    await forget(context)
    const text = 'This server has forgotten its access. To end it for good, an admin revokes it in the dashboard.'
    return context.html(noticePage('Disconnected', text))
  })

  site.use('/conversations/*', async (context, next) => {
    const id = await session.read(context)
    const connection = connections.get(id ?? '')
    if (id === undefined || connection === undefined) return context.redirect('/')
    context.set('id', id)
    context.set('connection', connection)
    await next()
    // What a support inbox shows is nobody else's business, and stale after a disconnect.
    context.header('cache-control', 'no-store')
  })
  addInbox(site)

  site.notFound((context) => context.html(noticePage('Not found', 'There is no such page.'), 404))
  site.onError(async (error, context) => {
    if (error instanceof HTTPException) return error.getResponse()
    if (error instanceof AuthenticationError) {
      await forget(context)
      const text = 'The connection has ended: an admin revoked it, or it has expired. Connect again to go on.'
      return context.html(noticePage('Connect again', text), 401)
    }
    if (error instanceof SupportWorkspaceError) return context.html(noticePage('That did not work', error.message), 502)
    console.error(error)
    return context.html(noticePage('Something is wrong here', 'Try again; the server has noted the failure.'), 500)
  })
  return site

  async function forget(context: Context): Promise<void> {
    connections.delete((await session.read(context)) ?? '')
    session.end(context)
  }
}
