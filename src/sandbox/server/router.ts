import { Hono } from 'hono'
import { HttpError, notFound } from '../http-error.ts'
import type { IncomingRequest, Route } from '../incoming-request.ts'
import { authorizeRoute, consentRoute } from '../oauth/authorize.ts'
import { tokenRoute } from '../oauth/token.ts'
import { operationRoutes } from '../operations/index.ts'
import type { Service } from '../service.ts'

/** Returns the response of the service, without faults and CORS headers. */
export type Router = (incoming: IncomingRequest) => Promise<Response>

export function createRouter(service: Service): Router {
  const app = new Hono<{ Bindings: { incoming: IncomingRequest } }>()
  const routes: Route[] = [
    authorizeRoute(service),
    consentRoute(service),
    tokenRoute(service),
    ...operationRoutes(service),
  ]
  for (const route of routes) {
    app.on(route.method, route.path, (context) => {
      const { incoming } = context.env
      incoming.record.operation = route.name
      return route.handle(incoming, (name) => context.req.param(name) ?? '')
    })
  }
  for (const [path, methods] of methodsByPath(routes)) {
    app.all(path, () => {
      const allow = methods.join(', ')
      throw new HttpError(405, 'method_not_allowed', `This path supports only ${allow}.`, { allow })
    })
  }
  app.notFound(() => notFound('path').toResponse())
  app.onError((error) => {
    if (error instanceof HttpError) return error.toResponse()
    return new HttpError(500, 'server_error', `The sandbox failed: ${error.message}`).toResponse()
  })

  return async (incoming) => {
    const { url, method, headers } = incoming
    // The body was already read and is in `incoming`.
    return app.fetch(new Request(url, { method, headers }), { incoming })
  }
}

function methodsByPath(routes: readonly Route[]): Map<string, string[]> {
  const methods = new Map<string, string[]>()
  for (const { path, method } of routes) methods.set(path, [...(methods.get(path) ?? []), method])
  return methods
}
