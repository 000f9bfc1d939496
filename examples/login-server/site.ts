import { readFileSync } from 'node:fs'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { csrf } from 'hono/csrf'
import { HTTPException } from 'hono/http-exception'
import { secureHeaders } from 'hono/secure-headers'
import {
  AuthenticationError,
  InvalidArgumentError,
  NotFoundError,
  type SupportWorkspace,
  SupportWorkspaceError,
} from 'support-workspace-sdk'
import {
  type Connection,
  ConnectionNotSavedError,
  ConnectionStore,
  createLoginHandlers,
  LoginError,
  type OAuthApp,
  scopesFor,
} from 'support-workspace-sdk/oauth'
import { addInbox } from './inbox.ts'
import { noticePage, toResponse, welcomePage } from './pages.ts'
import { createSessions } from './session.ts'

export interface SiteOptions {
  app: OAuthApp
  /** Encrypts the cookie of a login in progress, and signs the session cookie. */
  secret: string
  /** URL of this site for browsers. */
  publicUrl: string
}

/** The context variables of every route below `/conversations`. */
export interface SiteVariables {
  connection: Connection
  workspace: SupportWorkspace
}

const styles = ['../shared/inbox.css', 'style.css'].map((path) => readFileSync(new URL(path, import.meta.url), 'utf8'))
const icon = readFileSync(new URL('icon.svg', import.meta.url))

export function createSite({ app, secret, publicUrl }: SiteOptions): Hono<{ Variables: SiteVariables }> {
  // In memory, so a restart deletes every connection. Pass `storage` and `secret` to keep them.
  const store = new ConnectionStore({ baseUrl: app.baseUrl })
  const sessions = createSessions(secret, publicUrl)
  const site = new Hono<{ Variables: SiteVariables }>()

  /** Returns the connection of the browser's session. A session ends when someone else connects the same workspace. */
  async function connectionOf(request: Request): Promise<Connection | undefined> {
    const login = await sessions.find(request)
    const connection = login === undefined ? undefined : await store.get(login.key)
    return connection?.connectedAt === login?.connectedAt ? connection : undefined
  }

  const login = createLoginHandlers(app, {
    secret,
    actor: 'self',
    scope: scopesFor('conversations.list', 'messages.list', 'messages.create'),
    returnTo: '/conversations',
    async onConnected(token, { request, returnTo }) {
      const connection = await store.save(token).catch((error: unknown) => {
        // The service issues this token only once, so a single failure must not lose it.
        if (error instanceof ConnectionNotSavedError) return error.retry()
        throw error
      })
      return new Response(null, {
        status: 303,
        headers: { location: returnTo, 'set-cookie': await sessions.begin(request, connection) },
      })
    },
    async onError(error, { request, status }) {
      const connection = await connectionOf(request)
      const title = connection === undefined ? 'You are not connected' : 'Your connection is unchanged'
      console.error(error)
      // The message of the error is for you, not for visitors.
      const isDenied = error instanceof LoginError && error.reason === 'access_denied'
      const message = isDenied ? 'Access was not granted.' : 'The login failed. Try again, or tell the operator.'
      return toResponse(noticePage(title, message, connection), status)
    },
  })

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
    // Accepts forms only from pages of this site. SameSite alone would accept forms from other ports of the host.
    csrf({ origin: new URL(publicUrl).origin }),
    // The largest form is a reply.
    bodyLimit({
      maxSize: 1024 * 1024,
      onError: (context) => context.html(noticePage('Reply too long', 'A reply can have up to 1 MiB.'), 413),
    }),
  )
  site.get('/style.css', (context) => context.body(styles.join('\n'), 200, { 'content-type': 'text/css' }))
  site.get('/icon.svg', (context) => context.body(icon, 200, { 'content-type': 'image/svg+xml' }))

  site.get('/login/self', (context) => login.start(context.req.raw))
  site.get('/login/app', (context) => login.start(context.req.raw, { actor: 'app' }))
  site.get('/login/callback', (context) => login.callback(context.req.raw))

  site.get('/', async (context) => {
    const isConnected = (await connectionOf(context.req.raw)) !== undefined
    return isConnected ? context.redirect('/conversations') : context.html(welcomePage())
  })

  site.post('/disconnect', async (context) => {
    const connection = await connectionOf(context.req.raw)
    if (connection !== undefined) await store.remove(connection.key)
    context.header('set-cookie', await sessions.end(context.req.raw))
    const text =
      'This server has deleted its access token. To revoke the token itself, ask an admin to do it in the dashboard.'
    return context.html(noticePage('Disconnected', text))
  })

  site.use('/conversations/*', async (context, next) => {
    const connection = await connectionOf(context.req.raw)
    if (connection === undefined) return context.redirect('/')
    context.set('connection', connection)
    context.set('workspace', await store.workspace(connection.key))
    await next()
    // The pages are private, and must not be shown after a disconnect.
    context.header('cache-control', 'no-store')
  })
  addInbox(site)

  site.notFound(async (context) => {
    const connection = await connectionOf(context.req.raw)
    return context.html(noticePage('Page not found', 'This site has no page at this address.', connection), 404)
  })
  site.onError(async (error, context) => {
    const { connection } = context.var
    if (error instanceof HTTPException) {
      return context.html(noticePage('Form rejected', 'This form was not sent from a page of this site.'), error.status)
    }
    if (error instanceof AuthenticationError) {
      // The store has already removed the connection.
      context.header('set-cookie', await sessions.end(context.req.raw))
      const text = 'The connection has ended: an admin revoked it, or it has expired. Connect again to continue.'
      return context.html(noticePage('Connect again', text), 401)
    }
    // An invalid id in the path is treated like an unknown id.
    if (error instanceof NotFoundError || error instanceof InvalidArgumentError) {
      const text = 'It may have been deleted, or the link may be incomplete or belong to another workspace.'
      return context.html(noticePage('Conversation not found', text, connection), 404)
    }
    if (error instanceof SupportWorkspaceError) {
      return context.html(noticePage('Something went wrong', error.message, connection), 502)
    }
    console.error(error)
    const text = 'This server had an unexpected error. Try again later.'
    return context.html(noticePage('Something went wrong', text, connection), 500)
  })
  return site
}
