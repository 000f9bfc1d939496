import * as z from 'zod/mini'
import type { Operation } from '../app-env.ts'
import type { Collection } from '../data/collection.ts'
import type { LooseRecord } from '../data/shapes.ts'
import type { Workspace } from '../data/workspace.ts'
import { notFound } from '../http-error.ts'
import { flag, mustBe } from '../schema.ts'
import { type Caller, operation, requiredText } from './operation.ts'

/** Operations on the token, on the organization and on its tasks and segments. */
export const organizationOperations = {
  getMe: operation({
    route: 'GET /me',
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
  getOrganization: operation({
    route: 'GET /organization',
    scope: 'organization:read',
    find: ({ workspace }) => workspace.organization,
  }),
  updateOrganization: operation({
    route: 'PATCH /organization',
    scope: 'organization:write',
    actor: 'self',
    role: 'owner',
    body: z.object({ display_name: z.optional(requiredText) }),
    find: ({ workspace }) => workspace.organization,
  }),
  getOrganizationSettings: operation({
    route: 'GET /organization/settings',
    scope: 'organization:read',
    find: ({ workspace }) => workspace.settings,
  }),
  updateOrganizationSettings: operation({
    route: 'PATCH /organization/settings',
    scope: 'organization:write',
    body: z.object({
      allow_guest_submission: z.optional(flag),
      enable_ai_assistant: z.optional(flag),
      bot_configuration: z.optional(mustBe('an object', z.record(z.string(), z.unknown()))),
      locale: z.optional(requiredText),
    }),
    find: ({ workspace }) => workspace.settings,
  }),
  ...recordOperations('Task', 'tsk', (workspace) => workspace.tasks),
  ...recordOperations('Segment', 'seg', (workspace) => workspace.segments),
}

/**
 * Returns operations on tasks or segments. Their scopes show that they exist (docs/service.md#scopes), but the documents
 * have no path and no field: the paths are inferred by analogy, and any JSON object is stored unchanged.
 */
function recordOperations(
  noun: 'Task' | 'Segment',
  idPrefix: string,
  collectionOf: (workspace: Workspace) => Collection<LooseRecord>,
): Record<string, Operation> {
  const kind = noun === 'Task' ? 'task' : 'segment'
  const path = `/${kind}s` as const
  const read = `${kind}s:read` as const
  const write = `${kind}s:write` as const
  const body = z.looseObject({})
  const find = ({ workspace, parameters }: Caller): LooseRecord => {
    const record = collectionOf(workspace).get(parameters.id ?? '')
    if (record === undefined) throw notFound(kind)
    return record
  }
  return {
    [`list${noun}s`]: operation({
      route: `GET ${path}`,
      scope: read,
      list: ({ workspace }) => collectionOf(workspace),
    }),
    [`create${noun}`]: operation({
      route: `POST ${path}`,
      scope: write,
      body,
      handle: ({ workspace, body }) => collectionOf(workspace).add({ ...body, id: workspace.random.id(idPrefix) }),
    }),
    [`get${noun}`]: operation({
      route: `GET ${path}/:id`,
      scope: read,
      find,
    }),
    [`update${noun}`]: operation({
      route: `PATCH ${path}/:id`,
      scope: write,
      find,
      body,
      handle: ({ workspace, found, body }) => collectionOf(workspace).replace({ ...found, ...body, id: found.id }),
    }),
    [`delete${noun}`]: operation({
      route: `DELETE ${path}/:id`,
      scope: write,
      find,
      handle: ({ workspace, found }) => collectionOf(workspace).remove(found.id),
    }),
  }
}
