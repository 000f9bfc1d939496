import type { Collection } from '../data/collection.ts'
import { badRequest } from '../http-error.ts'
import type { SandboxSettings } from '../settings.ts'

export type Query = Readonly<Record<string, string | string[]>>

/** Returns a page of a list, with `page_metadata` (docs/service.md#paging). */
export function page<Item extends { id: string }>(
  collection: Collection<Item>,
  query: Query,
  { defaultLimit, maxLimit }: SandboxSettings,
): { data: Item[]; page_metadata: { after: string | null; before: string | null } } {
  const after = single(query, 'after')
  const before = single(query, 'before')
  if (after !== undefined && before !== undefined) throw badRequest('Send `after` or `before`, not both.')
  const limit = Math.min(readLimit(query) ?? defaultLimit, maxLimit)
  const found = collection.page({ limit, after, before })
  if (found === 'bad-cursor') throw badRequest('The cursor was not issued by this list. Send one from `page_metadata`.')
  return { data: found.items, page_metadata: { after: found.after, before: found.before } }
}

function readLimit(query: Query): number | undefined {
  const text = single(query, 'limit')
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(text)) throw badRequest('`limit` must be an integer of at least 1.')
  return Number(text)
}

function single(query: Query, name: string): string | undefined {
  const value = query[name]
  if (Array.isArray(value)) throw badRequest(`\`${name}\` was sent more than once.`)
  return value
}
