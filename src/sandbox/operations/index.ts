import { badRequest } from '../http-error.ts'
import { type Exchange, mediaType, parseJsonObject, type Route } from '../incoming-request.ts'
import type { Service } from '../service.ts'
import { authorize, identify } from './access-control.ts'
import { contactOperations } from './contacts.ts'
import { conversationOperations } from './conversations.ts'
import { identityOperations } from './identity.ts'
import { messageOperations } from './messages.ts'
import { organizationOperations } from './organization.ts'
import { recordOperations } from './records.ts'
import type { Call, Operation } from './service-operation.ts'
import { userOperations } from './users.ts'

/** A route for each operation that a token can be used for. */
export function operationRoutes(service: Service): Route[] {
  return operations.map((operation) => operationRoute(service, operation))
}

const operations: readonly Operation[] = [
  ...identityOperations,
  ...conversationOperations,
  ...messageOperations,
  ...contactOperations,
  ...userOperations,
  ...organizationOperations,
  ...recordOperations,
]

function operationRoute(service: Service, operation: Operation): Route {
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
  return parseJsonObject(bodyText)
}
