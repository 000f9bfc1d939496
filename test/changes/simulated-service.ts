// A service whose lists behave in ways that the sandbox does not: other orders, cursors that are offsets, cursors that
// expire, entries that do not follow their messages, lists that show the newest five messages, hidden conversations.
import { Random } from '../helpers/random.ts'

export const orders = ['newest', 'oldest', 'activity', 'scattered'] as const
export const cursors = ['position', 'offset'] as const

export interface Traits {
  readonly seed: number
  readonly conversations: number
  readonly messages: number
  /** `activity`: the conversation with the newest message first. */
  readonly order: (typeof orders)[number]
  readonly cursors: (typeof cursors)[number]
  /** Whether the list entry changes when a message arrives. */
  readonly follows: boolean
  /** Probability that a cursor is rejected. */
  readonly rejects?: number
  /** Probability of a 503, 429 or 403 without an effect. */
  readonly fails?: number
  readonly maxLimit?: number
  /** How many messages a conversation shows, the newest first. */
  readonly newest?: number
}

export interface Entry {
  id: string
  inserted_at: number
  status: string
  last_message: string | null
  user: { id: string; profile_picture_url: string } | null
  unread_count: number
}

export interface Item {
  id: string
  conversation_id: string
  inserted_at: number | undefined
  body_html: string
  user?: { id: string } | null
  is_ai_message?: boolean
  attachments: { id: string; presigned_url: string }[]
}

export class SimulatedService {
  readonly random: Random
  readonly conversations = new Map<string, { entry: Entry; messages: Map<string, Item>; rank: number; at: number }>()
  /** Conversations that the list leaves out. */
  readonly hidden = new Set<string>()
  readonly counts = { lists: 0, messages: 0, me: 0 }
  onRequest: ((path: string, query: URLSearchParams) => void) | undefined
  /** Answers instead of the service. */
  answer: ((path: string, query: URLSearchParams, token: string) => Response | undefined) | undefined
  me: object = { actor: 'self', organization: { id: 'org_1' }, user: { id: 'usr_me' }, scopes: [] }
  traits: Traits
  #next = 1

  constructor(traits: Partial<Traits>) {
    this.traits = {
      ...{ seed: 1, conversations: 11, messages: 2, order: 'newest', cursors: 'position', follows: true, ...traits },
    }
    this.random = new Random(this.traits.seed)
    for (let index = 0; index < this.traits.conversations; index += 1) this.addConversation(this.traits.messages)
  }

  #id(prefix: string): string {
    this.#next += 1
    const scatter = Math.floor(this.random.next() * 0xffffff).toString(16)
    return `${prefix}_${scatter}${this.#next}`
  }

  addConversation(messages = 1): string {
    const id = this.#id('cnv')
    const entry: Entry = {
      ...{ id, inserted_at: Math.floor(Date.now() / 1000), status: 'open', last_message: null, unread_count: 0 },
      user: { id: `usr_${id}`, profile_picture_url: '' },
    }
    this.conversations.set(id, { entry, messages: new Map(), rank: this.random.next(), at: this.#next })
    for (let index = 0; index < messages; index += 1) this.addMessage(id)
    return id
  }

  addMessage(id: string, given: Partial<Item> = {}): string {
    const found = this.conversations.get(id)!
    const message: Item = {
      ...{ id: this.#id('msg'), conversation_id: id, inserted_at: Math.floor(Date.now() / 1000) },
      ...{ body_html: `<p>${Math.floor(this.random.next() * 1e9)}</p>`, user: { id: `usr_${id}` } },
      attachments: [{ id: 'att', presigned_url: '' }],
      ...given,
    }
    found.messages.set(message.id, message)
    found.at = this.#next
    if (this.traits.follows) found.entry.last_message = `${message.body_html} ${message.id}`
    return message.id
  }

  editMessage(id: string, message: string): void {
    const item = this.conversations.get(id)!.messages.get(message)!
    item.body_html = `<p>edit ${Math.floor(this.random.next() * 1e9)}</p>`
  }

  removeMessage(id: string, message: string): void {
    this.conversations.get(id)!.messages.delete(message)
  }

  editConversation(id: string): void {
    const { entry } = this.conversations.get(id)!
    entry.status = this.random.pick(['open', 'closed', 'waiting', 'resolved'])
  }

  /** Makes the list entry another one. */
  touch(id: string): void {
    this.conversations.get(id)!.entry.unread_count += 1
  }

  removeConversation(id: string): void {
    this.conversations.delete(id)
  }

  /** Changes nothing by itself any more, and answers each request. */
  calm(): void {
    this.onRequest = undefined
    this.traits = { ...this.traits, rejects: 0, fails: 0 }
  }

  has({ resource, id }: { readonly resource: string; readonly id: string }): boolean {
    if (resource === 'conversations') return this.conversations.has(id)
    return [...this.conversations.values()].some(({ messages }) => messages.has(id))
  }

  /** Makes one random change. */
  change(
    kinds: readonly string[] = ['arrive', 'arrive', 'new', 'edit', 'edit message', 'remove message', 'remove'],
  ): void {
    const ids = [...this.conversations.keys()]
    const id = this.random.pick(ids)
    const kind = this.random.pick(kinds)
    if (kind === 'new' || id === undefined) return void this.addConversation()
    const messages = [...this.conversations.get(id)!.messages.keys()]
    if (kind === 'arrive') this.addMessage(id)
    else if (kind === 'edit') this.editConversation(id)
    else if (kind === 'remove') this.removeConversation(id)
    else if (kind === 'hide') this.hidden[this.hidden.has(id) ? 'delete' : 'add'](id)
    else if (messages.length > 0 && kind === 'edit message') this.editMessage(id, this.random.pick(messages))
    else if (messages.length > 1 && kind === 'remove message') this.removeMessage(id, this.random.pick(messages))
  }

  #sorted(): Entry[] {
    const all = [...this.conversations.values()].filter(({ entry }) => !this.hidden.has(entry.id))
    const { order } = this.traits
    if (order === 'newest') all.reverse()
    else if (order === 'activity') all.sort((one, other) => other.at - one.at)
    else if (order === 'scattered') all.sort((one, other) => one.rank - other.rank)
    return all.map(({ entry }) => entry)
  }

  #page(items: readonly { id: string }[], query: URLSearchParams): Response {
    const limit = Math.min(Number(query.get('limit') ?? 20), this.traits.maxLimit ?? 100)
    const after = query.get('after')
    if (after !== null && this.random.next() < (this.traits.rejects ?? 0)) return failure(400, 'invalid_request')
    let start = 0
    if (after !== null && this.traits.cursors === 'offset') start = Number(atob(after))
    else if (after !== null) {
      const [id = '', position = '0'] = atob(after).split(' ')
      const found = items.findIndex((item) => item.id === id)
      // The item before the page was removed: its neighbours have taken its place.
      start = found === -1 ? Math.max(0, Number(position) - 1) : found + 1
    }
    const data = items.slice(start, start + limit)
    const end = start + data.length
    const next = this.traits.cursors === 'offset' ? `${end}` : `${data.at(-1)?.id} ${end}`
    return respond({ data, page_metadata: { after: end < items.length ? btoa(next) : null, before: null } })
  }

  readonly fetch = async (url: string, init?: { readonly headers: Readonly<Record<string, string>> }) => {
    const { pathname, searchParams: query } = new URL(url)
    const path = pathname.replace('/api/oauth/v1', '')
    this.onRequest?.(path, query)
    const answer = this.answer?.(path, query, init?.headers.authorization ?? '')
    if (answer !== undefined) return answer
    if (this.random.next() < (this.traits.fails ?? 0)) {
      const status = this.random.pick([503, 429, path.includes('messages') ? 403 : 500])
      return failure(status, status === 403 ? 'forbidden' : 'unavailable')
    }
    if (path === '/me') {
      this.counts.me += 1
      return respond(this.me)
    }
    if (path === '/conversations') {
      this.counts.lists += 1
      return this.#page(this.#sorted(), query)
    }
    const [, id = ''] = /^\/conversations\/([^/]+)\/messages$/.exec(path) ?? []
    this.counts.messages += 1
    const found = this.conversations.get(id)
    if (found === undefined) return failure(404, 'not_found')
    // Signed anew for each response.
    const messages = [...found.messages.values()]
      .reverse()
      .slice(0, this.traits.newest)
      .map((message) => ({
        ...message,
        attachments: [{ id: 'att', presigned_url: `https://files.example/att?signature=${this.counts.messages}` }],
      }))
    return this.#page(messages, query)
  }
}

/** Returns a response with the time of the service. */
export function respond(body: unknown, status = 200): Response {
  return Response.json(body, { status, headers: { date: new Date(Date.now()).toUTCString() } })
}

export function failure(status: number, code: string): Response {
  return respond({ error: code, error_description: `It is ${status}.` }, status)
}

/** The state of an item as text, without what changes by itself. */
export function textOf(value: object): string {
  return JSON.stringify(value, (name, found) => (name.endsWith('_url') ? '' : found))
}
