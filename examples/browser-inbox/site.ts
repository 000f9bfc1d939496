import { getConnInfo } from '@hono/node-server/conninfo'
import { serveStatic } from '@hono/node-server/serve-static'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { secureHeaders } from 'hono/secure-headers'
import { SupportWorkspaceError } from 'support-workspace-sdk'
import type { AuthorizationCodeGrant, OAuthApp } from 'support-workspace-sdk/oauth'
import { createRateLimit } from './rate-limit.ts'

export interface SiteOptions {
  app: OAuthApp
  /** Where browsers reach this site. */
  publicUrl: string
  /** Where the built page is. */
  directory: string
}

/** What the page needs to know to begin a login. Nothing of it is secret. */
export interface PageConfig {
  baseUrl: string
  clientId: string
  redirectUri: string
}

/** What the page gets for its grant: the access token, or what to tell the person. */
export type ExchangeAnswer = { accessToken: string } | { error: string }

export function createSite({ app, publicUrl, directory }: SiteOptions): Hono {
  const site = new Hono()

  site.use(
    secureHeaders({
      contentSecurityPolicy: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'"],
        // The page may talk to this server and to the service, and to nobody else.
        connectSrc: ["'self'", new URL(app.baseUrl).origin],
        formAction: ["'none'"],
        baseUri: ["'none'"],
        frameAncestors: ["'none'"],
      },
    }),
  )

  site.get('/config.json', (context) => {
    const { baseUrl, clientId, redirectUri } = app
    return context.json({ baseUrl, clientId, redirectUri } satisfies PageConfig)
  })

  const refuse = (error: string, status: number, headers: Record<string, string> = {}) =>
    Response.json({ error } satisfies ExchangeAnswer, { status, headers })
  const secondsToWait = createRateLimit({ limit: 20, window: 60_000 })
  const { origin } = new URL(publicUrl)

  site.use('/exchange', async (context, next) => {
    // Behind a proxy every request comes from the proxy: take the client's address from the header that it sets.
    const seconds = secondsToWait(getConnInfo(context).remote.address ?? '')
    if (seconds !== undefined) {
      return refuse('Too many logins. Try again in a minute.', 429, { 'retry-after': String(seconds) })
    }
    // A browser names the origin of the page in every POST. Other ports of this host are other origins too.
    if (context.req.header('origin') !== origin) return refuse('Only the page of this site can log in here.', 403)
    return next()
  })
  // A grant is a few hundred characters.
  const limit = bodyLimit({ maxSize: 8 * 1024, onError: () => refuse('The request is too large.', 413) })

  site.post('/exchange', limit, async (context) => {
    if (!/^application\/json\b/i.test(context.req.header('content-type') ?? '')) {
      return refuse('The request must be JSON.', 415)
    }
    const grant = await context.req.json<AuthorizationCodeGrant | null>().catch(() => null)
    if (grant === null) return refuse('The request is not JSON.', 400)
    context.header('cache-control', 'no-store')
    try {
      const { accessToken } = await app.exchangeCode(grant)
      return context.json({ accessToken } satisfies ExchangeAnswer)
    } catch (error) {
      if (!(error instanceof SupportWorkspaceError)) throw error
      return context.json({ error: error.message } satisfies ExchangeAnswer, 400)
    }
  })

  site.get('/callback', serveStatic({ root: directory, path: 'index.html' }))
  site.use(serveStatic({ root: directory }))
  return site
}
