import { InvalidArgumentError } from '../../errors/index.ts'
import type { Scope } from '../../shared/scopes.ts'
import { type OperationId, operations } from './built-in-operations.ts'

/**
 * Returns the scopes that the given operations need, without duplicates. Pass them to `startLogin`.
 *
 * @example
 * await app.startLogin({ scope: scopesFor('conversations.list', 'messages.create'), actor: 'self' })
 *
 * @throws InvalidArgumentError for an unknown operation id.
 */
export function scopesFor(...operationIds: OperationId[]): Scope[] {
  const scopes = new Set<Scope>()
  for (const id of operationIds) {
    const operation = operations.find((candidate) => candidate.id === id)
    if (operation === undefined) {
      throw new InvalidArgumentError(
        'operationIds',
        typeof id === 'string' ? `There is no operation "${id}".` : '`operationIds` must be the ids of operations.',
        'Use an id of the endpoint table, for example "conversations.list".',
      )
    }
    if (operation.scope !== undefined) scopes.add(operation.scope)
  }
  return [...scopes]
}
