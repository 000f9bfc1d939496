import type { Paginated } from '../core/index.ts'
import { BadRequestError, SupportWorkspaceError, UnprocessableError } from '../errors/index.ts'

/**
 * Yields the pages of a list. The maximum of `limit` is not documented, so the service might reject 100.
 *
 * @throws SupportWorkspaceError if an item has no id, so that it cannot be told apart from others
 */
export async function* pagesOf<Item>(
  read: (query: { readonly limit?: number }) => Paginated<Item>,
): AsyncGenerator<readonly Item[], void, undefined> {
  let hasBegun = false
  try {
    for await (const { data } of read({ limit: 100 }).pages()) {
      hasBegun = true
      yield checked(data)
    }
  } catch (thrown) {
    const isOfLimit = !hasBegun && (thrown instanceof BadRequestError || thrown instanceof UnprocessableError)
    if (!isOfLimit) throw thrown
    for await (const { data } of read({}).pages()) yield checked(data)
  }
}

function checked<Item>(items: readonly Item[]): readonly Item[] {
  const ids = items.map((item) => (item as { readonly id?: unknown } | null)?.id)
  if (ids.every((id) => typeof id === 'string' && id !== '')) return items
  throw new SupportWorkspaceError('The service has listed an item without a valid `id`.', {
    hint: 'Report this to the service.',
  })
}
