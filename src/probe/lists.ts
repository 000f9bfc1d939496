import type { JsonObject } from '../shared/json.ts'
import type { Answer } from './asker.ts'
import type { Questions } from './questions.ts'

/** The largest page that the probe asks for. */
export const largestLimit = 200

/** Asks for the list of conversations: pages, cursors, order. Returns the first conversation. */
export async function askConversations(questions: Questions): Promise<JsonObject | undefined> {
  const { find, leave } = questions
  const list = (query: Record<string, string> = {}) => questions.ask('conversations.list', '/conversations', { query })
  const first = await list()
  const one = await list({ limit: '1' })
  const size = sizeOf(first)
  if (size === undefined || sizeOf(one) === undefined) return undefined
  if (size < 2) return first.items?.[0]

  const hasEffect = sizeOf(one) === 1
  if (hasEffect || sizeOf(one) === size) find('limit.effect', hasEffect ? 'honored' : 'ignored')
  const large = await list({ limit: String(largestLimit) })
  const isLonger = hasMore(first) || (hasEffect && (sizeOf(large) ?? 0) > size)
  if (isLonger) find('limit.default', String(size))
  else leave('limit.default', 'It takes more conversations than one page without `limit` has.')
  if (hasEffect) findLargest(questions, large)

  const unknown = await list({ probe_unknown_parameter: '1' })
  if (isRefusal(unknown)) find('query.unknown', 'rejected')
  else if (firstId(unknown) === firstId(first) && sizeOf(unknown) === size) find('query.unknown', 'ignored')
  await askCursors(questions, list, one)
  findOrder(questions, 'order.conversations', large.items ?? first.items, ['inserted_at', 'last_message_inserted_at'])
  return first.items?.[0]
}

function findLargest({ find, leave }: Questions, large: Answer): void {
  const size = sizeOf(large)
  if (isRefusal(large)) find('limit.largest', `rejects ${largestLimit}`)
  else if (size === largestLimit) find('limit.largest', `at least ${largestLimit}`)
  else if (size !== undefined && size > 1 && hasMore(large)) find('limit.largest', String(size))
  else
    leave('limit.largest', `It takes more than ${largestLimit} conversations, or a lower limit than the list is long.`)
}

type List = (query: Record<string, string>) => Promise<Answer>

/** Walks three pages of one entry and back, because the page before the second is the first page as well. */
async function askCursors({ find, leave }: Questions, list: List, one: Answer): Promise<void> {
  const invalid = await list({ limit: '1', after: 'probe-made-this-up' })
  if (!hasMore(one)) {
    leave('cursor.after', 'It takes a page with a cursor of the next one.')
    return
  }
  const two = await list({ limit: '1', after: String(one.cursors?.after) })
  if (sizeOf(two) === undefined || firstId(two) === undefined) return
  const isNext = firstId(two) !== firstId(one)
  find('cursor.after', isNext ? 'next page' : 'ignored')
  if (!isNext) return
  if (isRefusal(invalid)) find('cursor.invalid', `rejected with ${invalid.status}`)
  else if (firstId(invalid) === firstId(one)) find('cursor.invalid', 'ignored')
  else if (sizeOf(invalid) === 0) find('cursor.invalid', 'empty page')

  if (!hasMore(two)) return
  const three = await list({ limit: '1', after: String(two.cursors?.after) })
  if (firstId(three) === undefined || [firstId(one), firstId(two)].includes(firstId(three))) return
  if (typeof three.cursors?.before !== 'string') {
    find('cursor.before', 'no cursor of the previous page')
    return
  }
  const back = await list({ limit: '1', before: three.cursors.before })
  if (isRefusal(back)) find('cursor.before', 'rejected')
  else if (firstId(back) === firstId(two)) find('cursor.before', 'previous page')
  else if (firstId(back) === firstId(one)) find('cursor.before', 'ignored')
  else
    leave('cursor.before', 'The page was neither the previous one nor the first: it takes a list that does not change.')
}

/** Asks whether a list is paginated. Returns all that it has, or the first page. */
export async function askPages(
  questions: Questions,
  name: 'contacts' | 'members' | 'messages',
  path: string,
): Promise<Answer> {
  const { find, leave } = questions
  const ask = (limit: number) => questions.ask(`${name}.list`, path, { query: { limit: String(limit) } })
  const all = await ask(largestLimit)
  const one = await ask(1)
  const [size, sizeOfOne] = [sizeOf(all), sizeOf(one)]
  if (size === undefined || sizeOfOne === undefined) return all
  if (size < 2) leave(`pages.${name}`, 'It takes a list with at least two entries.')
  else if (sizeOfOne === 1 && hasMore(one)) find(`pages.${name}`, 'paginated')
  else if (sizeOfOne === size && one.cursors === undefined) find(`pages.${name}`, 'complete')
  else if (sizeOfOne === 1 && one.cursors === undefined) find(`pages.${name}`, 'limit without cursors')
  return all
}

/** Asks for a page that is exactly as long as the list. */
export async function askEnd(questions: Questions, all: Answer): Promise<void> {
  const { find, leave } = questions
  const size = sizeOf(all) ?? 0
  if (size < 2 || size >= largestLimit || hasMore(all) || all.cursors === undefined) {
    leave('pages.last', `It takes a paginated list of contacts with 2 to ${largestLimit - 1} entries.`)
    return
  }
  const exact = await questions.ask('contacts.list', '/contacts', { query: { limit: String(size) } })
  if (sizeOf(exact) !== size) return
  if (!hasMore(exact)) {
    if (exact.cursors !== undefined) find('pages.last', 'no cursor')
    return
  }
  const query = { limit: String(size), after: String(exact.cursors?.after) }
  const next = await questions.ask('contacts.list', '/contacts', { query })
  if (sizeOf(next) === 0) find('pages.last', 'empty page')
}

type Order = 'order.conversations' | 'order.messages' | 'order.contacts'

/** Finds the one time and direction that all entries agree with. */
export function findOrder(
  { find, leave }: Questions,
  trait: Order,
  items: readonly JsonObject[] | undefined,
  times: readonly string[],
): void {
  if (items === undefined) return
  const fitting = times.flatMap((name) => {
    const values = items.map((item) => item[name])
    if (!values.every((value) => typeof value === 'number') || new Set(values).size < 3) return []
    const steps = values.slice(1).map((value, index) => value - (values[index] ?? 0))
    if (steps.every((step) => step >= 0)) return [`${name} ascending`]
    return steps.every((step) => step <= 0) ? [`${name} descending`] : []
  })
  if (fitting.length === 1) find(trait, String(fitting[0]))
  else leave(trait, 'It takes at least three entries whose times tell one order from the others.')
}

export function isRefusal({ status, body }: Answer): boolean {
  return [400, 404, 410, 422].includes(status) && body !== undefined
}

function sizeOf({ items }: Answer): number | undefined {
  return items?.length
}

function hasMore({ cursors }: Answer): boolean {
  return typeof cursors?.after === 'string' && cursors.after !== ''
}

function firstId({ items }: Answer): unknown {
  return items?.[0]?.id
}
