// src/sandbox/server receives requests over HTTP, in process or from msw, records them, and adds faults and CORS headers
// to the responses. Only start-sandbox.ts imports it.

import { randomUUID } from 'node:crypto'
import { applyFault, type ResponseOrDrop, statusResponse } from '../faults/apply-fault.ts'
import type { Fault } from '../faults/fault.ts'
import type { FaultList } from '../faults/fault-list.ts'
import { describeFault } from '../faults/fault-text.ts'
import { HttpError } from '../http-error.ts'
import { contentTooLarge, type IncomingRequest, readIncomingRequest } from '../incoming-request.ts'
import type { RequestLog } from '../request-log.ts'
import { allowsOrigin, type SandboxSettings } from '../sandbox-settings.ts'
import type { Service } from '../service.ts'
import { createRateLimit } from './rate-limit.ts'
import { createRouter } from './router.ts'

/** Returns what the client receives for a request. */
export type RequestHandler = (request: Request) => Promise<ResponseOrDrop>

export interface RequestHandlerParts {
  service: Service
  faults: FaultList
  log: RequestLog
  delays: Delays
}

export function createRequestHandler(parts: RequestHandlerParts): RequestHandler {
  const { service, faults, log, delays } = parts
  const { settings } = service
  const router = createRouter(service)
  const takeFromLimit = createRateLimit(service)

  const responseTo = async (incoming: IncomingRequest, fault: Fault): Promise<Response> => {
    const { status, effect = false } = fault
    const response = status === undefined || effect ? await router.respond(incoming) : undefined
    return status === undefined ? (response ?? new Response()) : statusResponse({ ...fault, status })
  }

  const handle = async (incoming: IncomingRequest): Promise<ResponseOrDrop> => {
    const { method, headers, url, record } = incoming
    if (incoming.isTooLarge) return { kind: 'response', response: contentTooLarge().toResponse() }
    const isLimited = method !== 'OPTIONS' && url.pathname.startsWith('/api/oauth/v1/')
    const wait = isLimited ? takeFromLimit(headers) : 0
    if (wait > 0) {
      record.fault = 'rate limit'
      return { kind: 'response', response: rateLimited(wait).toResponse() }
    }
    const fault = faults.take(method, url.pathname) ?? {}
    record.fault = describeFault(fault) || undefined
    if (fault.drop === 'before-effect') {
      await delays.wait(fault.latency)
      return { kind: 'drop', at: 'before-headers' }
    }
    const preflight = isPreflight(method, headers) && settings.cors !== false && fault.status === undefined
    const response = preflight ? preflightResponse() : await responseTo(incoming, fault)
    await delays.wait(fault.latency)
    return await applyFault(response, fault)
  }

  return async (request) => {
    const incoming = await readIncomingRequest(request, settings.now())
    const entry = log.add(incoming.record, JSON.stringify(incoming.record).length)
    await router.identify(incoming)
    const result = await handle(incoming)
    if ('response' in result) {
      const { headers, status } = result.response
      // A fault can set its own request id.
      if (!headers.has('x-request-id')) headers.set('x-request-id', randomUUID())
      const cors = corsHeaders(settings.cors, incoming.headers.get('origin'))
      for (const [name, value] of Object.entries(cors)) headers.set(name, value)
      incoming.record.status = status
    }
    log.finish(entry)
    return result
  }
}

function rateLimited(wait: number): HttpError {
  const seconds = String(Math.ceil(wait / 1_000))
  return new HttpError(429, 'rate_limited', `The rate limit is exceeded. Retry after ${seconds} s.`, {
    'retry-after': seconds,
  })
}

/** Delays that end early when the sandbox closes, so that no timer keeps the process alive. */
export class Delays {
  readonly #pending = new Set<() => void>()

  wait(milliseconds: number | undefined): Promise<void> {
    if (milliseconds === undefined) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(() => finish(), milliseconds)
      const finish = (): void => {
        clearTimeout(timer)
        this.#pending.delete(finish)
        resolve()
      }
      this.#pending.add(finish)
    })
  }

  endAll(): void {
    for (const finish of this.#pending) finish()
  }
}

// The service's documents do not mention CORS. The sandbox supports it so that browser code can be tested.
function corsHeaders(cors: SandboxSettings['cors'], origin: string | null): Record<string, string> {
  if (origin === null || cors === false) return {}
  if (!allowsOrigin(cors, origin)) return { vary: 'Origin' }
  return {
    'access-control-allow-origin': cors === true ? '*' : origin,
    'access-control-expose-headers': 'retry-after, x-request-id',
    ...(cors !== true && { vary: 'Origin' }),
  }
}

function isPreflight(method: string, headers: Headers): boolean {
  return method === 'OPTIONS' && headers.has('origin') && headers.has('access-control-request-method')
}

function preflightResponse(): Response {
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
      'access-control-allow-headers': 'authorization, content-type',
    },
  })
}
