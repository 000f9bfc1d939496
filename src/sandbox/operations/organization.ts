import * as z from 'zod/mini'
import type { Collection } from '../data/collection.ts'
import type { LooseRecord } from '../data/shapes.ts'
import type { Workspace } from '../data/workspace.ts'
import { notFound } from '../http-error.ts'
import { flag, mustBe } from '../schema.ts'
import { type Caller, type Operation, operation, requiredText } from './operation.ts'

/** Operations on the token, on the organization and on its tasks and segments. */
export const organizationOperations = [
  operation({
    name: 'getMe',
    method: 'GET',
    path: '/me',
    // The only resource that is not wrapped in `data` (docs/service.md#identity).
    unwrapped: true,
    handle: ({ service, workspace, grant, scopes, person }) => {
      const { clientId, name } = service.settings.app
      return {
        application: { id: `application_${clientId}`, name, client_id: clientId },
        organization: workspace.organization,
        actor: grant.actor,
        scopes,
        user: person?.user ?? null,
      }
    },
  }),
  operation({
    name: 'getOrganization',
    method: 'GET',
    path: '/organization',
    scope: 'organization:read',
    handle: ({ workspace }) => workspace.organization,
  }),
  operation({
    name: 'updateOrganization',
    method: 'PATCH',
    path: '/organization',
    scope: 'organization:write',
    actor: 'self',
    role: 'owner',
    body: z.object({ display_name: z.optional(requiredText) }),
    handle: ({ workspace, body }) => Object.assign(workspace.organization, body),
  }),
  operation({
    name: 'getOrganizationSettings',
    method: 'GET',
    path: '/organization/settings',
    scope: 'organization:read',
    handle: ({ workspace }) => workspace.settings,
  }),
  operation({
    name: 'updateOrganizationSettings',
    method: 'PATCH',
    path: '/organization/settings',
    scope: 'organization:write',
    body: z.object({
      allow_guest_submission: z.optional(flag),
      enable_ai_assistant: z.optional(flag),
      bot_configuration: z.optional(mustBe('an object', z.record(z.string(), z.unknown()))),
      locale: z.optional(requiredText),
    }),
    handle: ({ workspace, body }) => Object.assign(workspace.settings, body),
  }),
  ...recordOperations('Task', 'tsk', (workspace) => workspace.tasks),
  ...recordOperations('Segment', 'seg', (workspace) => workspace.segments),
]

/**
 * Returns operations on tasks or segments. Their scopes show that they exist (docs/service.md#scopes), but the documents
 * have no path and no field: the paths are inferred by analogy, and any JSON object is stored unchanged.
 */
function recordOperations(
  noun: 'Task' | 'Segment',
  idPrefix: string,
  collectionOf: (workspace: Workspace) => Collection<LooseRecord>,
): Operation[] {
  const kind = noun === 'Task' ? 'task' : 'segment'
  const path = `/${kind}s`
  const read = { scope: `${kind}s:read` } as const
  const write = { scope: `${kind}s:write` } as const
  const body = z.looseObject({})
  const find = ({ workspace, parameters }: Caller): LooseRecord => {
    const record = collectionOf(workspace).get(parameters.id ?? '')
    if (record === undefined) throw notFound(kind)
    return record
  }
  return [
    operation({
      name: `list${noun}s`,
      method: 'GET',
      path,
      ...read,
      list: ({ workspace }) => collectionOf(workspace),
    }),
    operation({
      name: `create${noun}`,
      method: 'POST',
      path,
      ...write,
      body,
      handle: ({ workspace, body }) => {
        return collectionOf(workspace).add({ ...body, id: workspace.random.id(idPrefix) })
      },
    }),
    operation({
      name: `get${noun}`,
      method: 'GET',
      path: `${path}/:id`,
      ...read,
      find,
      handle: ({ found }) => found,
    }),
    operation({
      name: `update${noun}`,
      method: 'PATCH',
      path: `${path}/:id`,
      ...write,
      find,
      body,
      handle: ({ workspace, found, body }) => collectionOf(workspace).replace({ ...found, ...body, id: found.id }),
    }),
    operation({
      name: `delete${noun}`,
      method: 'DELETE',
      path: `${path}/:id`,
      ...write,
      find,
      handle: ({ workspace, found }) => collectionOf(workspace).remove(found.id),
    }),
  ]
}
