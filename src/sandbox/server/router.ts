import { Hono } from 'hono'
import { HttpError, notFound } from '../http-error.ts'
import { bearerToken, type IncomingRequest, type Route } from '../incoming-request.ts'
import { authorizeRoute, consentRoute } from '../oauth/authorize.ts'
import { tokenRoute } from '../oauth/token.ts'
import { operationRoutes } from '../operations/index.ts'
import type { Service } from '../service.ts'

export interface Router {
  /** Adds the operation of a request, and what its token is, to its record. */
  identify(incoming: IncomingRequest): Promise<void>
  /** Returns the response of the service, without faults and CORS headers. */
  respond(incoming: IncomingRequest): Promise<Response>
}

export function createRouter(service: Service): Router {
  const app = new Hono<{ Bindings: { incoming: IncomingRequest; identifyOnly: boolean } }>()
  const routes: Route[] = [
    authorizeRoute(service),
    consentRoute(service),
    tokenRoute(service),
    ...operationRoutes(service),
  ]
  for (const route of routes) {
    app.on(route.method, route.path, (context) => {
      const { incoming, identifyOnly } = context.env
      incoming.record.operation = route.name
      incoming.record.scope = route.scope
      if (identifyOnly) return context.body(null)
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
    // The message of the error could quote a code or a token.
    return new HttpError(500, 'server_error', 'The sandbox failed to handle the request.').toResponse()
  })

  const route = async (incoming: IncomingRequest, identifyOnly: boolean): Promise<Response> => {
    const { url, method, headers } = incoming
    // The body was already read and is in `incoming`.
    return app.fetch(new Request(url, { method, headers }), { incoming, identifyOnly })
  }
  return {
    async identify(incoming) {
      await route(incoming, true)
      incoming.record.actor = service.grants.token(bearerToken(incoming.headers) ?? '')?.actor
    },
    respond: (incoming) => route(incoming, false),
  }
}

function methodsByPath(routes: readonly Route[]): Map<string, string[]> {
  const methods = new Map<string, string[]>()
  for (const { path, method } of routes) methods.set(path, [...(methods.get(path) ?? []), method])
  return methods
}
