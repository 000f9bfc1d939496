import { SupportWorkspaceError } from '../errors/index.ts'
import { isDeeperThan } from '../shared/json.ts'

/** How many levels an entry can have. The service sends four. */
const mostLevels = 100

/**
 * Returns the entries of a page by their ids. If an id comes twice, the first entry counts.
 *
 * @param refuse called for each entry that cannot be compared, with its id if it has one
 */
export function entriesById<Item extends { readonly id?: unknown }>(
  list: string,
  items: readonly Item[],
  refuse: (error: SupportWorkspaceError, id?: string) => void,
): Map<string, Item> {
  const entries = new Map<string, Item>()
  for (const item of items) {
    const id = item?.id
    if (typeof id !== 'string' || id === '' || !id.isWellFormed()) {
      const hint = 'The feed tells entries apart by their ids. Report this to the service.'
      refuse(new SupportWorkspaceError(`\`${list}.list\` returned an entry without a valid \`id\`.`, { hint }))
    } else if (isDeeperThan(mostLevels, item)) {
      const hint = 'The feed cannot compare it. Report this to the service.'
      const message = `The entry "${id}" has more than ${mostLevels} levels of arrays and objects.`
      refuse(new SupportWorkspaceError(message, { hint }), id)
    } else if (!entries.has(id)) entries.set(id, item)
  }
  return entries
}
