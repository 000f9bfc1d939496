import { type Contact, type Conversation, fetchOf, type Message, type SupportWorkspace } from '../client/index.ts'
import type { Checkpoint, Paginated } from '../core/index.ts'
import {
  ApiError,
  CursorRejectedError,
  InvalidArgumentError,
  isSupportWorkspaceError,
  NotFoundError,
  PaginationError,
  RateLimitError,
} from '../errors/index.ts'
import { sleep, throwIfAborted } from '../shared/abort.ts'
import { notify } from '../shared/notify.ts'
import { entriesById } from './entries.ts'
import type { Counts, FeedProblem, FeedSettings } from './feed-options.ts'
import { VerifiedRequests } from './verified-requests.ts'

/** The items of the lists. */
export interface Items {
  readonly conversations: Conversation
  readonly contacts: Contact
  readonly messages: Message
}

interface Limit {
  readonly limit?: number
}

/** After this many rejected cursors, a list is not begun again. */
const mostRejected = 3

/**
 * After this many attempts at a page, although the service answers `/me`, a conversation counts as unreadable. Also after
 * the time `longestAttempts`, so that it does not hold up the others.
 */
const mostAttempts = 3
const longestAttempts = 60_000

/** How long the feed waits at most if the service asks for it, in milliseconds. */
const longestWait = 3_600_000

/** Reads the lists of the service, and waits out what goes wrong. */
export class Reader {
  readonly #client: SupportWorkspace
  readonly #settings: FeedSettings
  readonly #requests: VerifiedRequests
  readonly #withoutLimit = new Set<keyof Items>()
  /** Until when a conversation must not be read, by its id. In milliseconds of this machine's time. */
  readonly #resting = new Map<string, number>()

  constructor(settings: FeedSettings, counts: Counts) {
    this.#settings = settings
    this.#requests = new VerifiedRequests(fetchOf(settings.workspace), counts)
    this.#client = settings.workspace.replaceOptions(() => ({
      ...{ fresh: true, background: true },
      fetch: (url, init) => this.#requests.send(url, init),
    }))
  }

  /** The time of the last response, in milliseconds since the Unix epoch, by the clock of the service. */
  get time(): number {
    return this.#requests.time
  }

  /** The id of the person of the token. Null if the service has not sent it, undefined for a token of an app. */
  get you(): string | null | undefined {
    return this.#requests.you
  }

  /** A digest of the address of the service and the organization. */
  get place(): string {
    return this.#requests.place as string
  }

  /** Asks `/me`, and waits until it is answered. The first request of a feed. Returns whether it had to wait. */
  async identify(): Promise<boolean> {
    let attempts = 0
    await this.patiently(() => {
      attempts += 1
      return this.#client.me({ signal: this.#settings.signal })
    })
    return attempts > 1
  }

  /**
   * Reads a list. Returns whether it was read in one go. A list that was resumed or begun again can lack items that have
   * moved meanwhile, so a missing item means nothing.
   *
   * @param owner the conversation of the messages. If they cannot be read, the error is thrown.
   * @param use can return false to end the reading
   */
  async read<List extends keyof Items>(
    list: List,
    owner: string,
    use: (items: readonly Items[List][]) => unknown,
    limit = this.#settings.limit,
  ): Promise<boolean> {
    let isComplete = true
    let resumeFrom: Checkpoint | null = null
    let query: Limit = this.#withoutLimit.has(list) ? {} : { limit }
    let ofLimit: unknown
    const conversationId = owner || undefined
    let began = Date.now()
    for (let attempt = 1, rejected = 0; ; attempt += 1) {
      try {
        for await (const { data, checkpoint } of this.#list(list, owner, resumeFrom, query).pages()) {
          if (ofLimit !== undefined) {
            this.#withoutLimit.add(list)
            this.report({ error: ofLimit, conversationId })
            ofLimit = undefined
          }
          if ((await use(data)) === false) return isComplete
          throwIfAborted(this.#settings.signal)
          resumeFrom = checkpoint
          attempt = 1
          began = Date.now()
        }
        return isComplete
      } catch (error) {
        isComplete &&= resumeFrom === null
        // An item that has moved can make a cursor come twice.
        const isOfCursor = error instanceof CursorRejectedError || error instanceof PaginationError
        if (isOfCursor) {
          this.report({ error, conversationId })
          resumeFrom = null
          if (++rejected === mostRejected) return false
        } else if (error instanceof ApiError && [400, 422].includes(error.status) && 'limit' in query) {
          // Only if the page can be read without `limit` is this about `limit`. Then it is left out from now on.
          ofLimit = error
          resumeFrom = null
          query = {}
        } else if (owner === '') await this.#pause(error, attempt)
        else if (!isPassing(error) || attempt >= mostAttempts) throw error
        else {
          const timeLeft = () => began + longestAttempts - Date.now()
          if (error instanceof RateLimitError) await this.#pause(error, attempt, timeLeft(), conversationId)
          // An outage ends when this is answered. What fails afterwards is about the conversation.
          // If `/me` itself is refused, that says nothing about the conversation.
          const wasOutage = await this.identify().catch((refused) => this.#throwIfOfAll(refused))
          if (wasOutage) began = Date.now()
          else if (timeLeft() <= 0) throw error
        }
      }
    }
  }

  /** Reads the messages of a conversation. Undefined if they cannot be read. */
  messagesOf(id: string): Promise<{ found: Map<string, Message>; isComplete: boolean } | undefined> {
    const found = new Map<string, Message>()
    const refuse = (error: unknown) => {
      throw error
    }
    const add = (page: readonly Message[]) => {
      for (const [each, message] of entriesById('messages', page, refuse)) found.set(each, message)
    }
    return this.#ofConversation(id, async () => ({ found, isComplete: await this.read('messages', id, add) }))
  }

  /** Whether the service has no messages of a conversation: a 404. Undefined if that is unclear. */
  isGone(id: string): Promise<boolean | undefined> {
    const isGone = (error: unknown) => {
      // A 404 for `/me` is no answer about the conversation.
      if (error instanceof NotFoundError && !this.#requests.isOfMe) return true
      throw error
    }
    return this.#ofConversation(id, () => this.read('messages', id, () => false, 1).then(() => false, isGone))
  }

  /** Repeats a step while its error says `retry`. */
  async patiently<Value>(step: () => PromiseLike<Value>): Promise<Value> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await step()
      } catch (error) {
        await this.#pause(error, attempt)
      }
    }
  }

  report(problem: FeedProblem): void {
    notify(this.#settings.onProblem, problem)
  }

  #list<List extends keyof Items>(list: List, owner: string, resumeFrom: Checkpoint | null, query: Limit) {
    // A page that is requested ahead would be read twice if the loop ends before.
    const options = { prefetch: false, signal: this.#settings.signal, resumeFrom }
    const { conversations, contacts, messages } = this.#client
    const lists = { conversations, contacts, messages: { list: messages.list.bind(messages, owner) } }
    return lists[list].list(query, options) as unknown as Paginated<Items[List]>
  }

  /** Returns undefined if a conversation cannot be read. It is then skipped until the next pass. */
  async #ofConversation<Value>(id: string, read: () => Promise<Value>): Promise<Value | undefined> {
    if ((this.#resting.get(id) ?? 0) > Date.now()) return undefined
    this.#resting.delete(id)
    try {
      return await read()
    } catch (error) {
      this.#throwIfOfAll(error)
      // Without this, its 429s would be the only answers of passes without changes, and the rate limiter would take them
      // for an outage. What the limiter has not sent says nothing about the conversation.
      const isRefused = error instanceof RateLimitError && error.outcome !== 'not-sent'
      if (isRefused) this.#resting.set(id, Date.now() + waitOf(error))
      this.report({ error, conversationId: id })
      return undefined
    }
  }

  /** Throws an error after which other conversations cannot be read either. */
  #throwIfOfAll(error: unknown): void {
    throwIfAborted(this.#settings.signal)
    if (this.#requests.refusal !== undefined || !isOfConversation(error)) throw error
  }

  /**
   * Waits before a step is repeated. Throws the error if repeating does not help.
   *
   * @param longest how long to wait at most if the service asks for it, in milliseconds
   */
  async #pause(error: unknown, attempt: number, longest = longestWait, conversationId?: string): Promise<void> {
    const { signal } = this.#settings
    throwIfAborted(signal)
    if (this.#requests.refusal !== undefined) throw this.#requests.refusal
    if (!isPassing(error)) throw error
    const backoff = Math.min(60_000, 1000 * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2)
    const retryIn = Math.max(backoff, Math.min(waitOf(error), longest))
    this.report({ error, retryIn, conversationId })
    await sleep(retryIn, signal)
  }
}

/** Returns how long the service asks to wait, in milliseconds. */
function waitOf(error: unknown): number {
  return error instanceof ApiError ? Math.min((error.retryAfter ?? 0) * 1000, longestWait) : 0
}

/** Whether repeating can help. */
function isPassing(error: unknown): boolean {
  return isSupportWorkspaceError(error) && error.remedy === 'retry'
}

/** Whether an error in reading a conversation can be about this conversation alone, so that others can still be read. */
function isOfConversation(error: unknown): boolean {
  // The service has sent an id that no path can have.
  if (error instanceof InvalidArgumentError) return error.argument === 'conversation_id'
  // A missing scope and a revoked token are about all conversations.
  return isSupportWorkspaceError(error) && error.remedy !== 'reconnect'
}
