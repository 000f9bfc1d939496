import { Hono } from 'hono'
import { authorizeRoute, consentRoute } from '../oauth/authorize.ts'
import { tokenRoute } from '../oauth/token.ts'
import { isObject } from '../operations/fields.ts'
import { operations } from '../operations/index.ts'
import type { Call, Operation } from '../operations/operation.ts'
import type { Service } from '../service.ts'
import { type Exchange, mediaType } from './exchange.ts'
import { authorize, identify } from './guard.ts'
import { badRequest, notFound, Refusal } from './refusal.ts'
import type { Route } from './route.ts'

/** Answers an exchange: the service itself, without what goes wrong on purpose and without CORS. */
export type Router = (exchange: Exchange) => Promise<Response>

export function createRouter(service: Service): Router {
  const app = new Hono<{ Bindings: { exchange: Exchange } }>()
  const routes: Route[] = [
    authorizeRoute(service),
    consentRoute(service),
    tokenRoute(service),
    ...operations.map((operation) => dataRoute(service, operation)),
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

function dataRoute(service: Service, operation: Operation): Route {
  const answer: Route['answer'] = (exchange, parameter) => {
    const caller = identify(service, exchange.headers.get('authorization'))
    authorize(caller, operation)
    const call: Call = {
      ...caller,
      service,
      parameter,
      query: exchange.url.searchParams,
      json: () => readJsonObject(exchange),
    }
    const { status, body } = operation.answer(call)
    if (operation.method !== 'GET') {
      service.writes.push({ operation: operation.name, path: exchange.url.pathname, at: service.settings.now() })
    }
    return body === undefined ? new Response(null, { status }) : Response.json(body, { status })
  }
  return { name: operation.name, method: operation.method, path: operation.path, answer }
}

function readJsonObject({ headers, bodyText }: Exchange): Record<string, unknown> {
  const type = mediaType(headers.get('content-type'))
  if (type !== 'application/json') throw badRequest('The body must be sent as `content-type: application/json`.')
  let value: unknown
  try {
    value = JSON.parse(bodyText)
  } catch {
    throw badRequest('The body is not JSON.')
  }
  if (!isObject(value)) throw badRequest('The body must be a JSON object.')
  return value
}

function methodsByPath(routes: readonly Route[]): Map<string, string[]> {
  const methods = new Map<string, string[]>()
  for (const { path, method } of routes) methods.set(path, [...(methods.get(path) ?? []), method])
  return methods
}
