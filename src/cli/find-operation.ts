import { operations } from '../client/index.ts'
import { findSimilar } from '../shared/similar.ts'
import { usage } from './errors.ts'

export type BuiltIn = (typeof operations)[number]

/** Returns an operation by its id. The error for a wrong one lists all of them. */
export function findOperation(id: string): BuiltIn {
  const operation = operations.find((each) => each.id === id)
  if (operation !== undefined) return operation
  const similar = findSimilar(
    id,
    operations.map((each) => each.id),
  )
  const hint = similar === undefined ? `Use one of these:\n${operationList()}` : `Did you mean ${similar}?`
  throw usage(`There is no operation "${id}".`, hint)
}

/** Returns the operation that lists or gets a kind of item. The error for a wrong kind names the others. */
export function findKind(kind: string, verb: 'list' | 'get', isAllowed = (_: BuiltIn) => true): BuiltIn {
  const kinds = operations.filter((each) => each.id.endsWith(`.${verb}`) && isAllowed(each))
  const operation = kinds.find(({ id }) => id === `${kind}.${verb}`)
  if (operation !== undefined) return operation
  const names = kinds.map(({ id }) => id.slice(0, -verb.length - 1))
  const similar = findSimilar(kind, names)
  const hint = similar === undefined ? `Use one of: ${names.join(', ')}.` : `Did you mean ${similar}?`
  throw usage(`"${kind}" is no kind of item that this command has.`, hint)
}

/** Returns the ids of all operations, a line for each resource. */
export function operationList(): string {
  const groups = Map.groupBy(operations, ({ id }) => id.split('.')[0])
  return [...groups]
    .map(([resource, group]) =>
      wrap(
        `${resource}:`,
        group.map(({ id }) => id),
      ),
    )
    .join('\n')
}

/** Joins names to lines of at most 80 columns. */
function wrap(start: string, names: readonly string[]): string {
  const lines = [`  ${start}`]
  for (const name of names) {
    const line = `${lines.at(-1)} ${name}`
    if (line.length < 80) lines[lines.length - 1] = line
    else lines.push(`    ${name}`)
  }
  return lines.join('\n')
}

/** Returns the values of the path's parameters, from the ids of the command line in their order. */
export function pathOf({ id, path }: BuiltIn, ids: readonly string[]): Record<string, string> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  if (ids.length === names.length) return Object.fromEntries(names.map((name, index) => [name, ids[index] ?? '']))
  const wanted = names.length === 0 ? 'no id' : names.map((name) => name.toUpperCase()).join(' and ')
  throw usage(`${id} takes ${wanted}, and got ${ids.length} ids.`, 'Pass the ids in that order.')
}
