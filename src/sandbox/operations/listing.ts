import type { Collection } from '../data/collection.ts'
import { badRequest } from '../http-error.ts'
import type { OperationContext, OperationResponse } from './service-operation.ts'

/** Returns a page of a list, with `page_metadata` (docs/service.md#paging). */
export function pageResponse<Item extends { id: string }>(
  context: OperationContext,
  collection: Collection<Item>,
): OperationResponse {
  const { defaultLimit, maxLimit } = context.service.settings
  const after = single(context.query, 'after')
  const before = single(context.query, 'before')
  if (after !== undefined && before !== undefined) throw badRequest('Send `after` or `before`, not both.')
  const page = collection.page({
    limit: Math.min(readLimit(context.query) ?? defaultLimit, maxLimit),
    ...(after !== undefined && { after }),
    ...(before !== undefined && { before }),
  })
  if (page === 'bad-cursor') throw badRequest('The cursor was not issued by this list. Send one from `page_metadata`.')
  return { status: 200, body: { data: page.items, page_metadata: { after: page.after, before: page.before } } }
}

/**
 * Returns a list other than conversations. Depending on the option `pagination` it is a page
 * (docs/service.md#conventions), or complete and without `page_metadata`, as in the reference's samples.
 */
export function listResponse<Item extends { id: string }>(
  context: OperationContext,
  collection: Collection<Item>,
): OperationResponse {
  if (context.service.settings.pagination === 'all') return pageResponse(context, collection)
  return { status: 200, body: { data: collection.all() } }
}

function readLimit(query: URLSearchParams): number | undefined {
  const text = single(query, 'limit')
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(text)) throw badRequest('`limit` must be an integer of at least 1.')
  return Number(text)
}

function single(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name)
  if (values.length > 1) throw badRequest(`\`${name}\` was sent more than once.`)
  return values[0]
}
