import { serveStatic } from '@hono/node-server/serve-static'
import { Hono } from 'hono'
import { csrf } from 'hono/csrf'
import { secureHeaders } from 'hono/secure-headers'
import { SupportWorkspaceError } from 'support-workspace-sdk'
import type { AuthorizationCodeGrant, OAuthApp } from 'support-workspace-sdk/oauth'

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
    // A page of another site can send forms and plain text, which this refuses, but JSON only if CORS let it.
    csrf({ origin: new URL(publicUrl).origin }),
  )

  site.get('/config.json', (context) => {
    const { baseUrl, clientId, redirectUri } = app
    return context.json({ baseUrl, clientId, redirectUri } satisfies PageConfig)
  })

  site.post('/exchange', async (context) => {
    const grant = await context.req.json<AuthorizationCodeGrant | null>().catch(() => null)
    if (grant === null) return context.body(null, 400)
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
