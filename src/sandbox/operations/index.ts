// src/sandbox/operations holds the API that an access token gives access to, one file per resource. It must not import
// the sandbox's logins, faults or server.

import { badRequest } from '../http-error.ts'
import { type IncomingRequest, mediaType, parseJsonObject, type Route } from '../incoming-request.ts'
import type { Service } from '../service.ts'
import { authenticate, checkAccess } from './access-control.ts'
import { contactOperations } from './contacts.ts'
import { conversationOperations } from './conversations.ts'
import { identityOperations } from './identity.ts'
import { messageOperations } from './messages.ts'
import { organizationOperations } from './organization.ts'
import { recordOperations } from './records.ts'
import type { OperationContext, ServiceOperation } from './service-operation.ts'
import { userOperations } from './users.ts'

/** Returns a route for each operation. */
export function operationRoutes(service: Service): Route[] {
  return operations.map((operation) => operationRoute(service, operation))
}

const operations: readonly ServiceOperation[] = [
  ...identityOperations,
  ...conversationOperations,
  ...messageOperations,
  ...contactOperations,
  ...userOperations,
  ...organizationOperations,
  ...recordOperations,
]

function operationRoute(service: Service, operation: ServiceOperation): Route {
  const handle: Route['handle'] = (incoming, parameter) => {
    const caller = authenticate(service, incoming.headers)
    checkAccess(caller, operation)
    const context: OperationContext = {
      ...caller,
      service,
      parameter,
      query: incoming.url.searchParams,
      json: () => readJsonObject(incoming),
    }
    const { status, body } = operation.handle(context)
    if (operation.method !== 'GET') {
      service.addWrite({ operation: operation.name, path: incoming.url.pathname, at: service.settings.now() })
    }
    return body === undefined ? new Response(null, { status }) : Response.json(body, { status })
  }
  const { name, method, path, scope } = operation
  return { name, method, path, ...(scope !== undefined && { scope }), handle }
}

function readJsonObject({ headers, bodyText }: IncomingRequest): Record<string, unknown> {
  const type = mediaType(headers.get('content-type'))
  if (type !== 'application/json') throw badRequest('The body must be sent as `content-type: application/json`.')
  return parseJsonObject(bodyText)
}
