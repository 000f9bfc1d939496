// src/sandbox/server receives requests over HTTP, in process or from msw, records them, and adds faults and CORS
// headers to the responses. Only start-sandbox.ts imports it.

import { Hono, type MiddlewareHandler } from 'hono'
import { cors } from 'hono/cors'
import { matchedRoutes } from 'hono/route'
import { allowsOrigin } from '../addresses.ts'
import type { AppEnv, Operation } from '../app-env.ts'
import { injectFaults } from '../faults/inject-faults.ts'
import { HttpError, notFound } from '../http.ts'
import { authorize, authorizeConsent } from '../oauth/authorize.ts'
import { token } from '../oauth/token.ts'
import { conversationOperations } from '../operations/conversations.ts'
import { organizationOperations } from '../operations/organization.ts'
import type { SandboxData } from '../sandbox-data.ts'
import { checkRate, type RequestRate, type SandboxSettings } from '../sandbox-options.ts'
import { type AppParts, readBodies, recordRequests } from './record.ts'

/** Every operation, by the service's name for it. */
export const operations: Readonly<Record<string, Operation>> = {
  authorize,
  authorizeConsent,
  token,
  ...organizationOperations,
  ...conversationOperations,
}

/** Creates the service: the middleware that each request passes through, and all operations. */
export function createApp(parts: AppParts): Hono<AppEnv> {
  const { sandbox, faults, log, delays } = parts
  const app = new Hono<AppEnv>()
  const routes = Object.entries(operations).map(([name, { route, scope, handler }]) => {
    const [method = '', path = ''] = route.split(' ')
    return { name, method, path, scope, handler: handler(sandbox) }
  })
  const routeOf = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]))
  const inject = injectFaults(faults, delays)

  app.use(
    recordRequests(parts, (c) => {
      const matched = matchedRoutes(c).find(({ method }) => method !== 'ALL' && method !== 'OPTIONS')
      return matched && routeOf.get(`${matched.method} ${matched.path}`)
    }),
  )
  // `cors` answers a preflight, so a fault for one comes first.
  app.on('OPTIONS', '*', inject)
  app.use(corsHeaders(sandbox.settings.cors))
  app.use(readBodies(log))
  if (sandbox.settings.rateLimit !== undefined) app.use('/api/oauth/v1/*', limitRate(sandbox))
  app.use((c, next) => (c.req.method === 'OPTIONS' ? next() : inject(c, next)))
  for (const { method, path, handler } of routes) app.on(method, path, handler)
  for (const [path, others] of Map.groupBy(routes, (route) => route.path)) {
    app.all(path, () => {
      const allow = others.map(({ method }) => method).join(', ')
      throw new HttpError(405, 'method_not_allowed', `This path supports only ${allow}.`, { allow })
    })
  }
  app.notFound(() => notFound('path').toResponse())
  app.onError((error) => {
    if (error instanceof HttpError) return error.toResponse()
    // The message of the error could quote a code or a token.
    return new HttpError(500, 'server_error', 'The sandbox failed to handle the request.').toResponse()
  })
  return app
}

// The service's documents do not mention CORS. The sandbox supports it so that browser code can be tested.
function corsHeaders(setting: SandboxSettings['cors']): MiddlewareHandler<AppEnv> {
  const addHeaders = cors({
    origin: setting === true ? '*' : (origin) => (allowsOrigin(setting, origin) ? origin : null),
    allowMethods: ['GET', 'POST', 'PATCH', 'DELETE'],
    allowHeaders: ['authorization', 'content-type'],
    exposeHeaders: ['retry-after', 'x-request-id', 'x-sandbox-ignored'],
  })
  return async (c, next) => {
    const origin = c.req.header('origin')
    if (origin === undefined || setting === false) return next()
    // `cors` answers every OPTIONS request, and exposes headers to every origin.
    const isPreflight = c.req.method === 'OPTIONS' && c.req.header('access-control-request-method') !== undefined
    if (isPreflight || (c.req.method !== 'OPTIONS' && allowsOrigin(setting, origin))) return addHeaders(c, next)
    await next()
    c.header('vary', 'Origin', { append: true })
  }
}

/** Responds with 429 to requests above the limit. CORS preflights are not counted. */
function limitRate({ settings, organizations }: SandboxData): MiddlewareHandler<AppEnv> {
  const { rateLimit, now } = settings
  const limitOf = typeof rateLimit === 'function' ? rateLimit : undefined
  const shared = typeof rateLimit === 'string' ? tokenBucket(rateLimit) : undefined
  const buckets = new Map(limitOf && [...organizations.keys()].map((id) => [id, bucketFor(id, limitOf(id))]))
  return (c, next) => {
    const take = shared ?? buckets.get(c.get('grant')?.organizationId ?? '')
    const wait = c.req.method === 'OPTIONS' ? 0 : (take?.(now()) ?? 0)
    if (wait === 0) return next()
    c.get('entry').request.fault = 'rate limit'
    const seconds = String(Math.ceil(wait / 1_000))
    throw new HttpError(429, 'rate_limited', `The rate limit is exceeded. Retry after ${seconds} s.`, {
      'retry-after': seconds,
    })
  }
}

function bucketFor(organizationId: string, rate: RequestRate | undefined): TakeToken | undefined {
  if (rate === undefined) return undefined
  checkRate(`rateLimit(${organizationId})`, rate)
  return tokenBucket(rate)
}

/** `now` is in milliseconds since the epoch. */
type TakeToken = (now: number) => number

const intervals: Readonly<Record<string, number>> = { s: 1_000, min: 60_000, h: 3_600_000 }

/**
 * Returns a function that takes a token from a bucket, which starts full and refills evenly. It returns 0, or the
 * milliseconds until a token is available if there is none.
 */
function tokenBucket(rate: RequestRate): TakeToken {
  const [requests, unit = ''] = rate.split('/')
  const capacity = Number(requests)
  const perToken = (intervals[unit] ?? 0) / capacity
  let available = capacity
  let updatedAt = 0
  return (now) => {
    available = Math.min(capacity, available + Math.max(0, now - updatedAt) / perToken)
    updatedAt = now
    // Rounding must not refuse a request that comes exactly when a token is available.
    if (available < 1 - 1e-6) return (1 - available) * perToken
    available = Math.max(0, available - 1)
    return 0
  }
}
