import { type Contact, type Conversation, fetchOf, type Message, type SupportWorkspace } from '../client/index.ts'
import type { Paginated } from '../core/index.ts'
import { InvalidArgumentError, NotFoundError, SupportWorkspaceError } from '../errors/index.ts'
import { sha256 } from '../shared/bytes.ts'
import { isObject, parseObject } from '../shared/json.ts'
import type { FetchInit, FetchResponse, WebFetch } from '../shared/web-types.ts'
import type { FeedSettings } from './feed-options.ts'

/** The items of the lists. */
export interface Items {
  readonly conversations: Conversation
  readonly contacts: Contact
  readonly messages: Message
}

/**
 * The service as a feed reads it. Notices when a token provider returns another token, and then asks `/me` before the
 * token reads anything, because another token can belong to another organization.
 */
export class Service {
  readonly #client: SupportWorkspace
  readonly #fetch: WebFetch
  readonly #settings: FeedSettings
  readonly #onRequest: () => void
  /** Address of `/me`. */
  #address: string | undefined
  #verified: string | undefined
  readonly #withoutLimit = new Set<keyof Items>()
  /** The time of the last response, in milliseconds since the Unix epoch, by the clock of the service. */
  time = Date.now()
  /** Digest of the address of the service and the organization. */
  place: string | undefined
  /** The id of the person of the token. */
  you: string | undefined
  /** Why the token must not read. */
  refusal: SupportWorkspaceError | undefined

  constructor(settings: FeedSettings, onRequest: () => void) {
    this.#settings = settings
    this.#onRequest = onRequest
    this.#fetch = fetchOf(settings.workspace)
    this.#client = settings.workspace.withOptions({
      ...{ fresh: true, background: true },
      fetch: (url, init) => this.#verifiedFetch(url, init),
    })
  }

  /** Asks `/me`. The first request of a feed. */
  async identify(): Promise<string> {
    await this.#client.me({ signal: this.#settings.signal })
    return this.place as string
  }

  /**
   * Lists the items of a list.
   *
   * @param owner the conversation of the messages
   */
  list<List extends keyof Items>(
    list: List,
    owner = '',
    resumeFrom: { readonly cursor: string | null; readonly done: boolean } | null = null,
  ): Paginated<Items[List]> {
    const { limit, signal } = this.#settings
    const query = this.#withoutLimit.has(list) ? {} : { limit }
    // A page that is requested ahead would be read twice if the loop ends before.
    const options = { prefetch: false, signal, resumeFrom }
    const { conversations, contacts, messages } = this.#client
    const lists = { conversations, contacts, messages: { list: messages.list.bind(messages, owner) } }
    return lists[list].list(query, options) as unknown as Paginated<Items[List]>
  }

  /** Whether the service has no messages of a conversation: a 404. */
  async isGone(id: string): Promise<boolean> {
    const query = this.#withoutLimit.has('messages') ? {} : { limit: 1 }
    try {
      await this.#client.messages.list(id, query, { signal: this.#settings.signal })
      return false
    } catch (error) {
      if (error instanceof NotFoundError) return true
      throw error
    }
  }

  /** Stops sending `limit` to a list that has rejected it. Returns false if it was not sent. */
  omitLimit(list: keyof Items): boolean {
    const isNew = !this.#withoutLimit.has(list)
    this.#withoutLimit.add(list)
    return isNew
  }

  async #verifiedFetch(url: string, init: FetchInit): Promise<FetchResponse> {
    if (this.refusal !== undefined) throw this.refusal
    this.#address ??= url
    const { authorization } = init.headers
    if (authorization === this.#verified) return this.#send(url, init)
    const response = await this.#send(this.#address, init)
    if (response.status !== 200) return response
    const text = await response.text()
    await this.#learn(parseObject(text), this.#address)
    this.#verified = authorization
    const { status, headers } = response
    return url === this.#address ? { status, headers, text: async () => text } : this.#send(url, init)
  }

  async #learn(me: unknown, address: string): Promise<void> {
    const { organization, user } = isObject(me) ? me : {}
    const id = isObject(organization) ? organization.id : undefined
    if (typeof id !== 'string' || id === '') {
      this.refusal = new SupportWorkspaceError('The service does not tell the organization of the token.', {
        hint: 'Without it, a feed would take the items of another organization for changes.',
      })
      throw this.refusal
    }
    const place = await sha256(JSON.stringify([address, id]))
    if (this.place !== undefined && this.place !== place) {
      this.refusal = otherOrganization()
      throw this.refusal
    }
    this.place = place
    this.you = isObject(user) && typeof user.id === 'string' ? user.id : undefined
  }

  async #send(url: string, init: FetchInit): Promise<FetchResponse> {
    this.#onRequest()
    const response = await this.#fetch(url, init)
    const time = Date.parse(response.headers.get('date') ?? '')
    this.time = Number.isNaN(time) ? Date.now() : time
    return response
  }
}

/** Returns the error for a token whose organization is not the one of the storage. */
export function otherOrganization(): InvalidArgumentError {
  return new InvalidArgumentError(
    'storage',
    'The feed in this storage reads another organization, or another service.',
    'Pass another `name` or another storage. Otherwise everything would count as deleted.',
  )
}
