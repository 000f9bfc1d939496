import type { Collection } from '../data/collection.ts'
import type { LooseRecord } from '../data/shapes.ts'
import type { Workspace } from '../data/workspace.ts'
import { notFound } from '../http-error.ts'
import { pageOrAll } from './listing.ts'
import { type Call, created, noContent, type Operation, ok } from './service-operation.ts'

/**
 * Tasks and segments. Scopes show that they can be read, created, updated and deleted (reference, section 5.2), but no
 * page prints a path or a field: the paths are guesses by analogy, and any JSON object is kept as it is.
 */
export const recordOperations: readonly Operation[] = [
  ...operationsOn('task', (workspace) => workspace.tasks),
  ...operationsOn('segment', (workspace) => workspace.segments),
]

function operationsOn(
  kind: 'task' | 'segment',
  collectionOf: (workspace: Workspace) => Collection<LooseRecord>,
): Operation[] {
  const noun = kind === 'task' ? 'Task' : 'Segment'
  const path = `/api/oauth/v1/${kind}s`
  const read = { scope: `${kind}s:read` } as const
  const write = { scope: `${kind}s:write` } as const
  const recordOf = (call: Call): LooseRecord => {
    const record = collectionOf(call.workspace).get(call.parameter('id'))
    if (record === undefined) throw notFound(kind)
    return record
  }

  return [
    {
      name: `list${noun}s`,
      method: 'GET',
      path,
      ...read,
      answer: (call) => pageOrAll(call, collectionOf(call.workspace)),
    },
    {
      name: `create${noun}`,
      method: 'POST',
      path,
      ...write,
      answer: (call) => {
        const { workspace } = call
        const id = workspace.random.id(kind === 'task' ? 'tsk' : 'seg')
        return created(collectionOf(workspace).add({ ...call.json(), id }))
      },
    },
    { name: `get${noun}`, method: 'GET', path: `${path}/:id`, ...read, answer: (call) => ok(recordOf(call)) },
    {
      name: `update${noun}`,
      method: 'PATCH',
      path: `${path}/:id`,
      ...write,
      answer: (call) => {
        const record = recordOf(call)
        return ok(collectionOf(call.workspace).replace({ ...record, ...call.json(), id: record.id }))
      },
    },
    {
      name: `delete${noun}`,
      method: 'DELETE',
      path: `${path}/:id`,
      ...write,
      answer: (call) => {
        collectionOf(call.workspace).remove(recordOf(call).id)
        return noContent()
      },
    },
  ]
}
