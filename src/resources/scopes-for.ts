import { InvalidArgumentError } from '../errors/index.ts'
import type { Scope } from '../scopes.ts'
import { type OperationId, operations } from './operations.ts'

/**
 * The scopes that some operations need together, each once, in the order of the operations: what to ask for at login.
 *
 * @example
 * await app.startLogin({ scope: scopesFor('conversations.list', 'messages.create'), actor: 'self' })
 *
 * @throws InvalidArgumentError for an id that is no operation of this package.
 */
export function scopesFor(...operationIds: OperationId[]): Scope[] {
  const scopes = new Set<Scope>()
  for (const id of operationIds) {
    const operation = operations.find((candidate) => candidate.id === id)
    if (operation === undefined) {
      throw new InvalidArgumentError(
        'operationIds',
        `There is no operation "${id}".`,
        'Use an id of the endpoint table, for example "conversations.list".',
      )
    }
    if (operation.scope !== undefined) scopes.add(operation.scope)
  }
  return [...scopes]
}
