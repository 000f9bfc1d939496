import { Hono } from 'hono'
import { notFound, Refusal } from '../http-error.ts'
import type { Exchange, Route } from '../incoming-request.ts'
import { authorizeRoute, consentRoute } from '../oauth/authorize.ts'
import { tokenRoute } from '../oauth/token.ts'
import { operationRoutes } from '../operations/index.ts'
import type { Service } from '../service.ts'

/** Answers an exchange: the service itself, without what goes wrong on purpose and without CORS. */
export type Router = (exchange: Exchange) => Promise<Response>

export function createRouter(service: Service): Router {
  const app = new Hono<{ Bindings: { exchange: Exchange } }>()
  const routes: Route[] = [
    authorizeRoute(service),
    consentRoute(service),
    tokenRoute(service),
    ...operationRoutes(service),
  ]
  for (const route of routes) {
    app.on(route.method, route.path, (context) => {
      const { exchange } = context.env
      exchange.record.operation = route.name
      return route.answer(exchange, (name) => context.req.param(name) ?? '')
    })
  }
  for (const [path, methods] of methodsByPath(routes)) {
    app.all(path, () => {
      const allow = methods.join(', ')
      throw new Refusal(405, 'method_not_allowed', `This path takes ${allow}.`, { allow })
    })
  }
  app.notFound(() => notFound('path').toResponse())
  app.onError((error) => {
    if (error instanceof Refusal) return error.toResponse()
    return new Refusal(500, 'server_error', `The sandbox itself failed: ${error.message}`).toResponse()
  })

  return async (exchange) => {
    const { url, method, headers } = exchange
    // The body was read when the request came in and travels in the exchange.
    return app.fetch(new Request(url, { method, headers }), { exchange })
  }
}

function methodsByPath(routes: readonly Route[]): Map<string, string[]> {
  const methods = new Map<string, string[]>()
  for (const { path, method } of routes) methods.set(path, [...(methods.get(path) ?? []), method])
  return methods
}
