import type { Paginated } from '../core/index.ts'
import { BadRequestError, UnprocessableError } from '../errors/index.ts'

/** Yields the pages of a list. The maximum of `limit` is not documented, so the service might reject 100. */
export async function* pagesOf<Item>(
  read: (query: { readonly limit?: number }) => Paginated<Item>,
): AsyncGenerator<readonly Item[], void, undefined> {
  let hasBegun = false
  try {
    for await (const { data } of read({ limit: 100 }).pages()) {
      hasBegun = true
      yield data
    }
  } catch (thrown) {
    const isOfLimit = !hasBegun && (thrown instanceof BadRequestError || thrown instanceof UnprocessableError)
    if (!isOfLimit) throw thrown
    for await (const { data } of read({}).pages()) yield data
  }
}
