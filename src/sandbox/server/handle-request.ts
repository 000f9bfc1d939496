import { randomUUID } from 'node:crypto'
import { applyFault, type ResponseOrDrop, statusResponse } from '../faults/apply-fault.ts'
import type { Fault } from '../faults/fault.ts'
import type { FaultList } from '../faults/fault-list.ts'
import { type IncomingRequest, type RecordedRequest, readIncomingRequest } from '../incoming-request.ts'
import type { Service } from '../service.ts'
import { createRouter } from './router.ts'

/** Takes a request, whichever way it came in, and says what becomes of it. */
export type RequestHandler = (request: Request) => Promise<ResponseOrDrop>

export interface RequestHandlerParts {
  service: Service
  faults: FaultList
  requests: RecordedRequest[]
  /** How many requests to remember: a sandbox that runs for days must not fill the memory with them. */
  keptRequests: number
  waits: Delays
}

export function createRequestHandler({
  service,
  faults,
  requests,
  keptRequests,
  waits,
}: RequestHandlerParts): RequestHandler {
  const { settings } = service
  const route = createRouter(service)

  const answer = async (incoming: IncomingRequest, fault: Fault): Promise<Response> => {
    const { status, effect = false } = fault
    const handled = status === undefined || effect ? await route(incoming) : undefined
    return status === undefined ? (handled ?? new Response()) : statusResponse({ ...fault, status })
  }

  const decide = async (incoming: IncomingRequest): Promise<ResponseOrDrop> => {
    const { method, headers, url } = incoming
    const fault = faults.take(method, url.pathname) ?? {}
    if (fault.drop === 'before-effect') {
      await waits.wait(fault.latency)
      return { kind: 'drop', at: 'before-headers' }
    }
    const preflight = isPreflight(method, headers) && settings.cors !== false && fault.status === undefined
    const response = preflight ? preflightResponse() : await answer(incoming, fault)
    await waits.wait(fault.latency)
    return await applyFault(response, fault)
  }

  return async (request) => {
    const incoming = await readIncomingRequest(request, settings.now())
    requests.push(incoming.record)
    if (requests.length > keptRequests) requests.shift()
    const outcome = await decide(incoming)
    if (!('response' in outcome)) return outcome
    const { headers, status } = outcome.response
    // A fault may bring an id of its own, to compare with.
    if (!headers.has('x-request-id')) headers.set('x-request-id', randomUUID())
    const cors = corsHeaders(settings.cors, incoming.headers.get('origin'))
    for (const [name, value] of Object.entries(cors)) headers.set(name, value)
    incoming.record.status = status
    return outcome
  }
}

/** Waits that all end at once when the sandbox closes, so that nothing keeps the process alive. */
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

  end(): void {
    for (const finish of this.#pending) finish()
  }
}

/**
 * Headers that let a page of this origin read the answer. The service's documents do not speak of CORS:
 * the sandbox has it so that browser code can be tried at all.
 */
export function corsHeaders(allowed: boolean | readonly string[], origin: string | null): Record<string, string> {
  if (origin === null || allowed === false) return {}
  if (allowed !== true && !allowed.includes(origin)) return { vary: 'Origin' }
  return {
    'access-control-allow-origin': allowed === true ? '*' : origin,
    'access-control-expose-headers': 'retry-after, x-request-id',
    ...(allowed !== true && { vary: 'Origin' }),
  }
}

/** The answer to a preflight. A page may send these two headers and the four methods that the service takes. */
export function preflightResponse(): Response {
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
      'access-control-allow-headers': 'authorization, content-type',
    },
  })
}

export function isPreflight(method: string, headers: Headers): boolean {
  return method === 'OPTIONS' && headers.has('origin') && headers.has('access-control-request-method')
}
