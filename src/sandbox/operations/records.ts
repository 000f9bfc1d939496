import type { Collection } from '../data/collection.ts'
import type { LooseRecord } from '../data/shapes.ts'
import type { Workspace } from '../data/workspace.ts'
import { notFound } from '../http-error.ts'
import { listResponse } from './listing.ts'
import { created, noContent, type OperationContext, ok, type ServiceOperation } from './service-operation.ts'

/**
 * Operations on tasks and segments. Their scopes show that they exist (docs/service.md#scopes), but the documents have
 * no path and no field: the paths are inferred by analogy, and any JSON object is stored unchanged.
 */
export const recordOperations: readonly ServiceOperation[] = [
  ...operationsOn('task', (workspace) => workspace.tasks),
  ...operationsOn('segment', (workspace) => workspace.segments),
]

function operationsOn(
  kind: 'task' | 'segment',
  collectionOf: (workspace: Workspace) => Collection<LooseRecord>,
): ServiceOperation[] {
  const noun = kind === 'task' ? 'Task' : 'Segment'
  const path = `/api/oauth/v1/${kind}s`
  const read = { scope: `${kind}s:read` } as const
  const write = { scope: `${kind}s:write` } as const
  const recordOf = (context: OperationContext): LooseRecord => {
    const record = collectionOf(context.workspace).get(context.parameter('id'))
    if (record === undefined) throw notFound(kind)
    return record
  }

  return [
    {
      name: `list${noun}s`,
      method: 'GET',
      path,
      ...read,
      handle: (context) => listResponse(context, collectionOf(context.workspace)),
    },
    {
      name: `create${noun}`,
      method: 'POST',
      path,
      ...write,
      handle: (context) => {
        const { workspace } = context
        const id = workspace.random.id(kind === 'task' ? 'tsk' : 'seg')
        return created(collectionOf(workspace).add({ ...context.json(), id }))
      },
    },
    { name: `get${noun}`, method: 'GET', path: `${path}/:id`, ...read, handle: (context) => ok(recordOf(context)) },
    {
      name: `update${noun}`,
      method: 'PATCH',
      path: `${path}/:id`,
      ...write,
      handle: (context) => {
        const record = recordOf(context)
        return ok(collectionOf(context.workspace).replace({ ...record, ...context.json(), id: record.id }))
      },
    },
    {
      name: `delete${noun}`,
      method: 'DELETE',
      path: `${path}/:id`,
      ...write,
      handle: (context) => {
        collectionOf(context.workspace).remove(recordOf(context).id)
        return noContent()
      },
    },
  ]
}
