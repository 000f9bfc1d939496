import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Operations } from './resource.ts'

/**
 * The operations of a resource that the documents name without a path: guesses by analogy with contacts and
 * conversations (see [what is known](docs/service.md#inferred-endpoints)).
 */
export function inferredOperations<
  const Name extends 'tasks' | 'segments',
  Item extends StandardSchemaV1,
  Create extends StandardSchemaV1,
  Update extends StandardSchemaV1,
>(name: Name, schemas: { readonly item: Item; readonly create: Create; readonly update: Update }) {
  const path = `/api/oauth/v1/${name}` as const
  const common = { evidence: 'inferred', response: schemas.item } as const
  const read = { method: 'GET', scope: `${name}:read` } as const
  const write = { scope: `${name}:write` } as const
  return {
    list: { id: `${name}.list`, path, envelope: 'list', ...read, ...common },
    get: { id: `${name}.get`, path: `${path}/{id}`, ...read, ...common },
    create: { id: `${name}.create`, method: 'POST', path, body: schemas.create, ...write, ...common },
    update: { id: `${name}.update`, method: 'PATCH', path: `${path}/{id}`, body: schemas.update, ...write, ...common },
    delete: {
      id: `${name}.delete`,
      method: 'DELETE',
      path: `${path}/{id}`,
      envelope: 'none',
      evidence: 'inferred',
      ...write,
    },
  } as const satisfies Operations
}
