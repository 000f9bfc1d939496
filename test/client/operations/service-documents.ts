/**
 * The operations of the service, copied by hand from its documents, independently of `src`:
 * `[method, path, scope, actor, evidence]`. `docs/service.md` names the sources.
 */
export const documentedOperations: readonly (readonly [string, string, string, 'self' | 'any', string])[] = [
  // from the specification; the scope of the second one is from the reference
  ['GET', '/api/oauth/v1/me', 'none', 'any', 'specification'],
  ['GET', '/api/oauth/v1/conversations', 'conversations:read', 'any', 'specification'],

  // from the reference
  ['POST', '/api/oauth/v1/conversations', 'conversations:write', 'self', 'reference'],
  ['POST', '/api/oauth/v1/conversations/{conversation_id}/assignee', 'conversations:write', 'self', 'reference'],
  ['GET', '/api/oauth/v1/conversations/{conversation_id}/messages', 'messages:read', 'any', 'reference'],
  ['POST', '/api/oauth/v1/conversations/{conversation_id}/messages', 'messages:write', 'self', 'reference'],
  ['PATCH', '/api/oauth/v1/conversations/{conversation_id}/messages/{id}', 'messages:write', 'any', 'reference'],
  ['DELETE', '/api/oauth/v1/conversations/{conversation_id}/messages/{id}', 'messages:write', 'self', 'reference'],
  ['POST', '/api/oauth/v1/conversations/{conversation_id}/notes', 'notes:write', 'self', 'reference'],
  ['GET', '/api/oauth/v1/contacts', 'contacts:read', 'any', 'reference'],
  ['POST', '/api/oauth/v1/contacts', 'contacts:write', 'self', 'reference'],
  ['PATCH', '/api/oauth/v1/contacts/{id}', 'contacts:write', 'any', 'reference'],
  ['GET', '/api/oauth/v1/users', 'users:read', 'any', 'reference'],
  ['POST', '/api/oauth/v1/users', 'users:write', 'self', 'reference'],
  ['GET', '/api/oauth/v1/users/{id}', 'users:read', 'any', 'reference'],
  ['PATCH', '/api/oauth/v1/users/{id}', 'users:write', 'self', 'reference'],
  ['GET', '/api/oauth/v1/organization', 'organization:read', 'any', 'reference'],
  ['PATCH', '/api/oauth/v1/organization', 'organization:write', 'self', 'reference'],
  ['PATCH', '/api/oauth/v1/organization/settings', 'organization:write', 'any', 'reference'],

  // inferred, for any actor because no document restricts one. Two more operations that the documents name have no
  // path at all: the filter options of conversations and the attributes of contacts.
  ['GET', '/api/oauth/v1/conversations/{conversation_id}', 'conversations:read', 'any', 'inferred'],
  ['PATCH', '/api/oauth/v1/conversations/{conversation_id}', 'conversations:write', 'any', 'inferred'],
  ['DELETE', '/api/oauth/v1/conversations/{conversation_id}/assignee', 'conversations:write', 'any', 'inferred'],
  ['GET', '/api/oauth/v1/conversations/{conversation_id}/notes', 'notes:read', 'any', 'inferred'],
  ['GET', '/api/oauth/v1/contacts/{id}', 'contacts:read', 'any', 'inferred'],
  ['DELETE', '/api/oauth/v1/users/{id}', 'users:write', 'any', 'inferred'],
  ['GET', '/api/oauth/v1/organization/settings', 'organization:read', 'any', 'inferred'],
  ['GET', '/api/oauth/v1/tasks', 'tasks:read', 'any', 'inferred'],
  ['GET', '/api/oauth/v1/tasks/{id}', 'tasks:read', 'any', 'inferred'],
  ['POST', '/api/oauth/v1/tasks', 'tasks:write', 'any', 'inferred'],
  ['PATCH', '/api/oauth/v1/tasks/{id}', 'tasks:write', 'any', 'inferred'],
  ['DELETE', '/api/oauth/v1/tasks/{id}', 'tasks:write', 'any', 'inferred'],
  ['GET', '/api/oauth/v1/segments', 'segments:read', 'any', 'inferred'],
  ['GET', '/api/oauth/v1/segments/{id}', 'segments:read', 'any', 'inferred'],
  ['POST', '/api/oauth/v1/segments', 'segments:write', 'any', 'inferred'],
  ['PATCH', '/api/oauth/v1/segments/{id}', 'segments:write', 'any', 'inferred'],
  ['DELETE', '/api/oauth/v1/segments/{id}', 'segments:write', 'any', 'inferred'],
]
