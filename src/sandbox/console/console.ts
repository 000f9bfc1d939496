// src/sandbox/console holds the page at the sandbox's address. It is served only over HTTP, and it is not part of the
// service: its requests are not recorded, and they have no faults, rate limit and CORS headers.

import { Hono } from 'hono'
import type { ConsoleContext } from '../app-env.ts'
import { readFault } from '../faults/fault-text.ts'
import { badRequest, HttpError, notFound } from '../http-error.ts'
import { consoleIcon, consolePage } from './console-page.ts'
import { consoleScript } from './console-script.ts'
import { readConsoleState } from './console-state.ts'
import { consoleStyle } from './console-style.ts'
import { EventStreams } from './event-streams.ts'
import { checkJson, checkSameOrigin, contentTooLarge, parseJsonObject, readBodyText, securityHeaders } from './guard.ts'
import { TryLogin } from './try-login.ts'

interface ConsoleRoute {
  readonly method: 'GET' | 'POST'
  /** Whether a link can lead here. Otherwise only the console's own script may send the request. */
  readonly linkable?: boolean
  readonly handle: (request: { url: URL; body: Record<string, unknown> }) => Response | Promise<Response>
}

export function createConsole(parts: ConsoleContext): Hono {
  const routes = consoleRoutes(parts)

  const respond = async (request: Request, url: URL): Promise<Response> => {
    const route = Object.hasOwn(routes, url.pathname) ? routes[url.pathname] : undefined
    if (route === undefined) throw notFound('page of the console')
    const { method, linkable, handle } = route
    const isHead = request.method === 'HEAD' && linkable
    if (request.method !== method && !isHead) {
      throw new HttpError(405, 'method_not_allowed', `This path supports only ${method}.`, { allow: method })
    }
    if (!linkable) checkSameOrigin(request.headers, url)
    if (method === 'POST') checkJson(request.headers)
    const response = await handle({ url, body: method === 'POST' ? await readJson(request) : {} })
    return isHead ? new Response(null, response) : response
  }

  const app = new Hono()
  app.on(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], ['/', '/_sandbox', '/_sandbox/*'], async (context) => {
    const request = context.req.raw
    const response = await respond(request, new URL(request.url)).catch((error: unknown) => {
      if (error instanceof HttpError) return error.toResponse()
      throw error
    })
    for (const [name, value] of Object.entries(securityHeaders)) response.headers.set(name, value)
    return response
  })
  return app
}

function consoleRoutes(parts: ConsoleContext): Readonly<Record<string, ConsoleRoute>> {
  const { service, faults, log } = parts
  const login = new TryLogin(service, parts.fetch)
  const streams = new EventStreams()
  log.onFinish(() => streams.notify())

  const changed = (): Response => {
    streams.notify()
    return Response.json({})
  }

  return {
    '/': page(() => file('text/html', consolePage(service.settings.app))),
    '/_sandbox/icon.svg': page(() => file('image/svg+xml', consoleIcon)),
    '/_sandbox/console.css': page(() => file('text/css', consoleStyle)),
    '/_sandbox/console.js': page(() => file('text/javascript', `(${consoleScript})()\n`)),
    '/_sandbox/callback': page((url) => login.finish(url)),
    '/_sandbox/login': page(async (url) => {
      const { status, markup } = await login.resultPage(url.searchParams.get('id') ?? '')
      return file('text/html', markup, status)
    }),
    '/_sandbox/state': {
      method: 'GET',
      handle: ({ url }) => Response.json(readConsoleState(parts, url.searchParams.get('organization'))),
    },
    '/_sandbox/events': { method: 'GET', handle: () => streams.open() },
    '/_sandbox/revoke': action(({ id }) => {
      if (!service.grants.revokeById(String(id))) throw notFound('connection')
      return changed()
    }),
    '/_sandbox/tokens': action(({ actor }) => {
      service.renewReadyToken(readActor(actor))
      return changed()
    }),
    '/_sandbox/faults': action((fields) => {
      faults.add(orBadRequest(() => readFault(fields)))
      return changed()
    }),
    '/_sandbox/faults/remove': action(({ id }) => {
      if (!faults.removeById(Number(id))) throw notFound('fault')
      return changed()
    }),
    '/_sandbox/login/start': action(({ actor, scope }) =>
      Response.json({ location: login.start(parts.addresses.url, readActor(actor), String(scope)) }),
    ),
  }
}

async function readJson(request: Request): Promise<Record<string, unknown>> {
  const text = await readBodyText(request)
  if (text === undefined) throw contentTooLarge()
  return parseJsonObject(text)
}

function page(handle: (url: URL) => Response | Promise<Response>): ConsoleRoute {
  return { method: 'GET', linkable: true, handle: ({ url }) => handle(url) }
}

/** A route that changes something. The fields of its body are text. */
function action(handle: (fields: Record<string, string>, url: URL) => Response): ConsoleRoute {
  return {
    method: 'POST',
    handle({ body, url }) {
      for (const [name, value] of Object.entries(body)) {
        if (typeof value !== 'string') throw badRequest(`\`${name}\` must be a string.`)
      }
      return handle(body as Record<string, string>, url)
    },
  }
}

function file(type: string, text: string, status = 200): Response {
  return new Response(text, { status, headers: { 'content-type': `${type}; charset=utf-8` } })
}

function readActor(actor: string | undefined): 'app' | 'self' {
  if (actor === 'app' || actor === 'self') return actor
  throw badRequest('`actor` must be `app` or `self`.')
}

function orBadRequest<Value>(read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    throw error instanceof TypeError ? badRequest(error.message) : error
  }
}
