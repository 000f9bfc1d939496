import type { KnownScope } from '../shared/scopes.ts'
import { frozen } from './fact.ts'
import { conversationOperations } from './operations/conversations.ts'
import type { ApiOperation, Entry } from './operations/operation.ts'
import { organizationOperations } from './operations/organization.ts'
import { unnamed } from './operations/unnamed.ts'

const { me, ...ofOrganization } = organizationOperations

/** The operations in the order of the documentation. */
const entries = {
  me,
  ...conversationOperations,
  ...ofOrganization,
  ...unnamed('tasks', 'Task'),
  ...unnamed('segments', 'Segment'),
}

/** The id of an operation. */
export type OperationId = keyof typeof entries

/**
 * The facts about each operation, by its id, as frozen plain data: scope, actor, evidence, sources, and whether it can
 * be repeated.
 */
export const operations: { readonly [Id in OperationId]: ApiOperation & { readonly id: Id } } =
  /* @__PURE__ */ withIds()

function withIds(): { [Id in OperationId]: ApiOperation & { readonly id: Id } } {
  const named = Object.entries<Entry>(entries).map(([id, entry]) => {
    const scope = scopeOf(id, entry)
    return [id, { id, ...entry, ...(scope && { scope }) }]
  })
  return frozen(Object.fromEntries(named))
}

/** A scope is `<resource>:<read|write>` (specification, section 5). Members are users in it, and `me` needs none. */
function scopeOf(id: string, { method }: Entry): KnownScope | undefined {
  if (id === 'me') return undefined
  const [resource] = id.replace('members', 'users').split('.')
  return `${resource}:${method === 'GET' ? 'read' : 'write'}` as KnownScope
}
