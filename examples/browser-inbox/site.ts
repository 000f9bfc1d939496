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
  /** URL of this site for browsers. */
  publicUrl: string
  /** Folder of the built page. */
  directory: string
}

/** The settings that the page needs to start a login. They contain no secret. */
export interface PageConfig {
  baseUrl: string
  clientId: string
  redirectUri: string
}

/** The response to a code exchange: the access token, or an error message for the user. */
export type ExchangeResponse = { accessToken: string } | { error: string }

export function createSite({ app, publicUrl, directory }: SiteOptions): Hono {
  const site = new Hono()

  site.use(
    secureHeaders({
      contentSecurityPolicy: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'"],
        // The page can connect only to this server and to the service.
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

  const reject = (error: string, status: number, headers: Record<string, string> = {}) =>
    Response.json({ error } satisfies ExchangeResponse, { status, headers })
  const secondsToWait = createRateLimit({ limit: 20, window: 60_000 })
  const { origin } = new URL(publicUrl)

  site.use('/exchange', async (context, next) => {
    // Browsers send the origin of the page with every POST. Another port of this host is another origin.
    if (context.req.header('origin') !== origin) return reject('Logins must come from a page of this site.', 403)
    // Only then is the login counted, so that pages of other sites cannot use up the limit.
    // Behind a proxy, this is the proxy's address. Use the header in which it passes on the client's address instead.
    const seconds = secondsToWait(getConnInfo(context).remote.address ?? '')
    if (seconds !== undefined) {
      return reject('Too many logins. Try again in a minute.', 429, { 'retry-after': String(seconds) })
    }
    return next()
  })
  // A grant has a few hundred characters.
  const limit = bodyLimit({ maxSize: 8 * 1024, onError: () => reject('The request is too large.', 413) })

  site.post('/exchange', limit, async (context) => {
    if (!/^application\/json\b/i.test(context.req.header('content-type') ?? '')) {
      return reject('The request must be JSON.', 415)
    }
    const grant = await context.req.json<AuthorizationCodeGrant | null>().catch(() => null)
    if (grant === null) return reject('The request body is not valid JSON.', 400)
    context.header('cache-control', 'no-store')
    try {
      const { accessToken } = await app.exchangeCode(grant)
      return context.json({ accessToken } satisfies ExchangeResponse)
    } catch (error) {
      if (!(error instanceof SupportWorkspaceError)) throw error
      return context.json({ error: error.message } satisfies ExchangeResponse, 400)
    }
  })

  site.get('/callback', serveStatic({ root: directory, path: 'index.html' }))
  site.use(serveStatic({ root: directory }))
  return site
}
