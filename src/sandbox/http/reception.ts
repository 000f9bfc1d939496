import { randomUUID } from 'node:crypto'
import type { Fault } from '../faults/fault.ts'
import type { FaultList } from '../faults/fault-list.ts'
import { type Outcome, spoil, statusAnswer } from '../faults/spoil.ts'
import type { Service } from '../service.ts'
import { corsHeaders, isPreflight, preflightAnswer } from './cors.ts'
import { type Exchange, type RecordedRequest, readExchange } from './exchange.ts'
import { createRouter } from './router.ts'
import type { Waits } from './waits.ts'

/** Takes a request, whichever way it came in, and says what becomes of it. */
export type Reception = (request: Request) => Promise<Outcome>

export interface ReceptionParts {
  service: Service
  faults: FaultList
  requests: RecordedRequest[]
  /** How many requests to remember: a sandbox that runs for days must not fill the memory with them. */
  keptRequests: number
  waits: Waits
}

export function createReception({ service, faults, requests, keptRequests, waits }: ReceptionParts): Reception {
  const { settings } = service
  const route = createRouter(service)

  const answer = async (exchange: Exchange, fault: Fault): Promise<Response> => {
    const { status, effect = false } = fault
    const handled = status === undefined || effect ? await route(exchange) : undefined
    return status === undefined ? (handled ?? new Response()) : statusAnswer({ ...fault, status })
  }

  const decide = async (exchange: Exchange): Promise<Outcome> => {
    const { method, headers, url } = exchange
    const fault = faults.take(method, url.pathname) ?? {}
    if (fault.drop === 'before-effect') {
      await waits.wait(fault.latency)
      return { kind: 'drop', at: 'before-headers' }
    }
    const preflight = isPreflight(method, headers) && settings.cors !== false && fault.status === undefined
    const response = preflight ? preflightAnswer() : await answer(exchange, fault)
    await waits.wait(fault.latency)
    return await spoil(response, fault)
  }

  return async (request) => {
    const exchange = await readExchange(request, settings.now())
    requests.push(exchange.record)
    if (requests.length > keptRequests) requests.shift()
    const outcome = await decide(exchange)
    if (!('response' in outcome)) return outcome
    const { headers, status } = outcome.response
    // A fault may bring an id of its own, to compare with.
    if (!headers.has('x-request-id')) headers.set('x-request-id', randomUUID())
    const cors = corsHeaders(settings.cors, exchange.headers.get('origin'))
    for (const [name, value] of Object.entries(cors)) headers.set(name, value)
    exchange.record.status = status
    return outcome
  }
}
