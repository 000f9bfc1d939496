import { operations } from '../api/index.ts'
import { isObject, type JsonObject } from '../shared/json.ts'
import { type Answer, type Get, openService, type ServiceOptions, Stopped } from './probe-requests.ts'

/** What a probe asks, by a name for programs. */
export const questions = {
  'conversations.get': 'Does GET /conversations/{id} exist?',
  'notes.list': 'Does GET /conversations/{id}/notes exist?',
  'contacts.get': 'Does GET /contacts/{id} exist?',
  'organization.getSettings': 'Does GET /organization/settings exist?',
  'tasks.list': 'Does GET /tasks exist?',
  'tasks.get': 'Does GET /tasks/{id} exist?',
  'segments.list': 'Does GET /segments exist?',
  'segments.get': 'Does GET /segments/{id} exist?',
  'list.closed': 'Does the list of conversations contain closed ones?',
  'list.message': 'Does the entry of a conversation change with a new message?',
  'order.conversations': 'In which order are conversations?',
  'order.messages': 'In which order are messages?',
  'pages.contacts': 'Are contacts paginated?',
  'pages.messages': 'Are messages paginated?',
  'limit.default': 'How many conversations has a page without limit?',
  'limit.largest': 'How many conversations has a page at most?',
  'headers.rateLimit': 'Which headers tell about rate limits?',
  'headers.requestId': 'Which header names the request?',
  'headers.date': 'Is there a Date header?',
  'headers.cors': 'Which header allows a page of another origin?',
} as const

export type Question = keyof typeof questions

/** A question with its answer, or why this is still not known. Neither has a text of the service. */
export interface Finding {
  readonly id: Question
  readonly question: string
  readonly answer: string | null
  readonly reason: string | null
}

type Known = Pick<Finding, 'answer' | 'reason'>
type Noted = Partial<Record<Question, Known>>
const found = (answer: string): Known => ({ answer, reason: null })
const open = (reason: string): Known => ({ answer: null, reason })

export const largestLimit = 200
const widest = { limit: String(largestLimit) }
const noSuchId = 'probe-no-such-id'

/** Asks the service all questions. Rejects only when the signal is aborted. */
export async function askService(options: ServiceOptions) {
  const { get, answers } = openService(options)
  const noted: Noted = {}
  let stopped: string | null = null
  try {
    await askAll(get, noted)
  } catch (thrown) {
    if (!(thrown instanceof Stopped)) throw thrown
    stopped = thrown.message
  }
  for (const [id, names] of answers.length > 3 ? headerNames : []) {
    const sent = names.filter((name) => answers.some(({ headers }) => headers.has(name)))
    noted[id] = found(sent.join(', ') || 'none')
  }
  const unknown = open(stopped ?? 'The token cannot read it, or the service answered in another form.')
  const ids = Object.keys(questions) as Question[]
  const findings = ids.map((id): Finding => ({ id, question: questions[id], ...(noted[id] ?? unknown) }))
  return { findings, requests: answers.length, stopped }
}

/** Answers for a path and an id that do not exist, to compare others with: a gateway can answer every path alike. */
type Controls = Readonly<Record<'path' | 'id', Answer>>

async function askAll(get: Get, noted: Noted): Promise<void> {
  const me = await get('/me')
  if (me.status !== 200 || !isObject(me.body?.organization ?? me.item?.organization)) {
    throw new Stopped(`It takes a token for which /me answers 200 with an organization, not ${me.status}.`)
  }
  const controls: Controls = { path: await get('/probe_no_such_path'), id: await get(`/users/${noSuchId}`) }
  if (controls.path.status === 200) throw new Stopped('It takes a service that refuses a path that does not exist.')

  const conversations = await askConversations(get, noted)
  const path = `/conversations/${encodeURIComponent(idOf(conversations[0]) ?? noSuchId)}`
  if (conversations.length > 0) {
    noted['list.message'] = await askMessages(get, conversations.slice(0, 5))
    const messages = await askPages(get, `${path}/messages`, noted, 'pages.messages')
    noted['order.messages'] = orderOf(messages, ['inserted_at'])
    noted['notes.list'] = (await askPath(get, 'notes.list', `${path}/notes`, controls)).known
  }
  noted['conversations.get'] = await askId(get, '/conversations', conversations[0], controls)

  const contacts = await askPages(get, '/contacts', noted, 'pages.contacts')
  noted['contacts.get'] = await askId(get, '/contacts', contacts[0], controls)

  const settings = await askPath(get, 'organization.getSettings', '/organization/settings', controls)
  noted['organization.getSettings'] = settings.known
  for (const name of ['tasks', 'segments'] as const) {
    const { known, items } = await askPath(get, `${name}.list`, `/${name}`, controls)
    noted[`${name}.list`] = known
    noted[`${name}.get`] = await askId(get, `/${name}`, items[0], controls)
  }
  // A page that no service knows (RFC 6761, section 6.4).
  await get('/me', {}, { origin: 'https://probe.invalid' })
}

/** Asks about the list of conversations. Returns the first of them. */
async function askConversations(get: Get, noted: Noted): Promise<readonly JsonObject[]> {
  const first = await get('/conversations')
  const one = await get('/conversations', { limit: '1' })
  const large = await get('/conversations', widest)
  const { length: size } = first.items ?? []
  const { length: largest } = large.items ?? []
  if (first.items === undefined) return []
  const isShort = first.after === undefined && largest <= size
  noted['limit.default'] = isShort ? open('It takes more conversations than one page has.') : found(String(size))
  if (size > 1 && one.items?.length === size) noted['limit.largest'] = found('it ignores limit')
  else if (large.status === 400 || large.status === 422) noted['limit.largest'] = found(`it rejects ${largestLimit}`)
  else if (largest === largestLimit) noted['limit.largest'] = found(`at least ${largestLimit}`)
  else if (large.after !== undefined && largest > 1) noted['limit.largest'] = found(String(largest))
  else noted['limit.largest'] = open(`It takes more than ${largestLimit} conversations, or a lower maximum.`)
  const page = large.items === undefined ? first : large
  noted['order.conversations'] = orderOf(page.items ?? [], ['inserted_at', 'last_message_inserted_at'])
  noted['list.closed'] = await askClosed(get, page)
  return page.items ?? []
}

const vocabulary = ['open', 'waiting', 'on hold', 'closed', 'resolved']

/** Counts the statuses of the unfiltered list. Only the words of the documents are shown. */
async function askClosed(get: Get, first: Answer): Promise<Known> {
  const counts = new Map<string, number>()
  let page = first
  for (let pages = 1; ; pages += 1) {
    for (const { status } of page.items ?? []) {
      const word = String(status).toLowerCase().replace(/[_-]/g, ' ')
      const shown = vocabulary.includes(word) ? word : 'another status'
      counts.set(shown, (counts.get(shown) ?? 0) + 1)
    }
    if (page.after === undefined || pages === 5 || counts.has('closed') || counts.has('resolved')) break
    page = await get('/conversations', { ...widest, after: page.after })
  }
  const shown = [...counts].map(([word, count]) => `${word}: ${count}`).join(', ')
  if (counts.has('closed') || counts.has('resolved')) return found(`yes (${shown})`)
  return open(`None of those read is closed (${shown}). If the dashboard shows closed ones, the list leaves them out.`)
}

/** Compares entries of the list with the newest message of their conversation. */
async function askMessages(get: Get, entries: readonly JsonObject[]): Promise<Known> {
  let [equal, older] = [0, 0]
  for (const entry of entries) {
    const id = idOf(entry)
    if (id === undefined) continue
    const { items = [], after } = await get(`/conversations/${encodeURIComponent(id)}/messages`, widest)
    const times = items.map(({ inserted_at: time }) => time).filter((time) => typeof time === 'number')
    const newest = Math.max(...times)
    const isNewest = after === undefined || times[0] === newest
    // With one time, the entry could have been written when the conversation was created.
    if (!isNewest || times.length < items.length || new Set(times).size < 2) continue
    if (Number(entry.last_message_inserted_at) >= newest) equal += 1
    else older += 1
  }
  const all = equal + older
  if (all === 0) return open('It takes a conversation with two messages of different times.')
  if (older === 0) return found(`yes, last_message_inserted_at (${all} of ${all})`)
  return equal === 0 ? found(`no (${all} of ${all})`) : open(`It did not in ${older} of ${all}.`)
}

/** Asks whether a list is paginated. Returns its entries, or those of the first page. */
async function askPages(get: Get, path: string, noted: Noted, id: Question): Promise<readonly JsonObject[]> {
  const { items } = await get(path, widest)
  const one = await get(path, { limit: '1' })
  if (items === undefined || one.items === undefined) return items ?? []
  if (items.length < 2) noted[id] = open('It takes a list with at least two entries.')
  else if (one.items.length === 1) noted[id] = found(one.after === undefined ? 'limit without cursors' : 'paginated')
  else if (one.items.length === items.length && !one.body?.page_metadata) noted[id] = found('complete')
  return items
}

/** Finds the one time and direction that all entries agree with. */
function orderOf(items: readonly JsonObject[], times: readonly string[]): Known {
  const fitting = times.flatMap((name) => {
    const values = items.map((item) => item[name])
    if (!values.every((value) => typeof value === 'number') || new Set(values).size < 3) return []
    const steps = values.slice(1).map((value, index) => value - (values[index] ?? 0))
    if (steps.every((step) => step >= 0)) return [`${name} ascending`]
    return steps.every((step) => step <= 0) ? [`${name} descending`] : []
  })
  if (fitting.length === 1) return found(String(fitting[0]))
  return open('It takes at least three entries whose times tell one order from the others.')
}

/** Asks whether an inferred path without a last id exists. */
async function askPath(get: Get, id: keyof typeof operations & Question, path: string, controls: Controls) {
  const answer = await get(path)
  const { envelope, scope } = operations[id]
  const hasForm = envelope === 'list' ? answer.items !== undefined : answer.item !== undefined
  const exists = answer.status === 200 && hasForm && controls.path.status === 404
  const known = exists ? found('yes') : refusal(answer, controls, `It takes a token that can read it (${scope}).`)
  return { known, items: answer.items ?? [] }
}

/** Asks whether an inferred path exists that ends with an id, which a list has returned. */
async function askId(get: Get, list: string, item: JsonObject | undefined, controls: Controls): Promise<Known> {
  const id = idOf(item)
  if (id === undefined) return open('It takes a list with an entry that has an id.')
  const answer = await get(`${list}/${encodeURIComponent(id)}`)
  if (answer.status !== 200) return refusal(answer, controls, 'It takes a token that can read it, or another id.')
  const control = await get(`${list}/${noSuchId}`)
  const exists = answer.item?.id === id && control.status === 404
  return exists ? found('yes') : open('It takes a service that refuses an id that does not exist.')
}

function refusal(answer: Answer, { path, id }: Controls, reason: string): Known {
  const isSame = ({ status, body }: Answer, other: Answer) =>
    status === other.status && JSON.stringify(body) === JSON.stringify(other.body)
  if (path.status !== 404) return open(reason)
  if (answer.status === 405) return found('no, another method')
  if (!isSame(answer, path)) return open(reason)
  return isSame(path, id) ? open('It takes a service whose 404 for a path differs from that for an id.') : found('no')
}

const headerNames: readonly (readonly [Question, readonly string[]])[] = [
  ['headers.rateLimit', ['ratelimit', 'ratelimit-limit', 'x-ratelimit-limit', 'x-rate-limit-limit', 'retry-after']],
  ['headers.requestId', ['x-request-id', 'request-id', 'x-correlation-id', 'x-trace-id', 'traceparent']],
  ['headers.date', ['date']],
  ['headers.cors', ['access-control-allow-origin']],
]

function idOf(item: JsonObject | undefined): string | undefined {
  return typeof item?.id === 'string' && item.id !== '' ? item.id : undefined
}
