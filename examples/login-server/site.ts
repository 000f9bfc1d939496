import { readFileSync } from 'node:fs'
import { Hono } from 'hono'
import { csrf } from 'hono/csrf'
import { HTTPException } from 'hono/http-exception'
import { secureHeaders } from 'hono/secure-headers'
import { AuthenticationError, type SupportWorkspace, SupportWorkspaceError } from 'support-workspace-sdk'
import {
  type AccessToken,
  type Connection,
  ConnectionNotSavedError,
  ConnectionStore,
  createLoginHandlers,
  type OAuthApp,
  scopesFor,
} from 'support-workspace-sdk/oauth'
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
  connection: Connection
  workspace: SupportWorkspace
}

const styles = readFileSync(new URL('style.css', import.meta.url))
const icon = readFileSync(new URL('icon.svg', import.meta.url))

export function createSite({ app, secret, publicUrl }: SiteOptions): Hono<{ Variables: SiteVariables }> {
  // In memory, so a restart forgets every connection: pass `storage` and `secret` to keep them.
  const store = new ConnectionStore({ baseUrl: app.baseUrl })
  const session = createSession(secret, publicUrl)
  const site = new Hono<{ Variables: SiteVariables }>()

  const login = {
    secret,
    scope: scopesFor('conversations.list', 'messages.list', 'messages.create'),
    returnTo: '/conversations',
    async onConnected(token: AccessToken, { returnTo }: { returnTo: string }) {
      const { key } = await store.save(token).catch((error: unknown) => {
        // The service will not give this token again, so one failure must not lose it.
        if (error instanceof ConnectionNotSavedError) return error.retry()
        throw error
      })
      return new Response(null, {
        status: 303,
        headers: { location: returnTo, 'set-cookie': await session.begin(key) },
      })
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
    const key = await session.read(context)
    const isConnected = key !== undefined && (await store.get(key)) !== undefined
    return isConnected ? context.redirect('/conversations') : context.html(welcomePage())
  })

  site.post('/disconnect', async (context) => {
    const key = await session.read(context)
    if (key !== undefined) await store.remove(key)
    session.end(context)
    const text = 'This server has forgotten its access. To end it for good, an admin revokes it in the dashboard.'
    return context.html(noticePage('Disconnected', text))
  })

  site.use('/conversations/*', async (context, next) => {
    const key = await session.read(context)
    const connection = key === undefined ? undefined : await store.get(key)
    if (connection === undefined) return context.redirect('/')
    context.set('connection', connection)
    context.set('workspace', await store.workspace(connection.key))
    await next()
    // What a support inbox shows is nobody else's business, and stale after a disconnect.
    context.header('cache-control', 'no-store')
  })
  addInbox(site)

  site.notFound((context) => context.html(noticePage('Not found', 'There is no such page.'), 404))
  site.onError((error, context) => {
    if (error instanceof HTTPException) {
      return context.html(noticePage('Refused', 'This form did not come from a page of this site.'), error.status)
    }
    if (error instanceof AuthenticationError) {
      // The store has removed the connection already.
      session.end(context)
      const text = 'The connection has ended: an admin revoked it, or it has expired. Connect again to go on.'
      return context.html(noticePage('Connect again', text), 401)
    }
    if (error instanceof SupportWorkspaceError) return context.html(noticePage('That did not work', error.message), 502)
    console.error(error)
    return context.html(noticePage('Something is wrong here', 'Try again; the server has noted the failure.'), 500)
  })
  return site
}
