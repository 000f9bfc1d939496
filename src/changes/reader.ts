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
  SupportWorkspaceError,
} from '../errors/index.ts'
import { sleep, throwIfAborted } from '../shared/abort.ts'
import { notify } from '../shared/notify.ts'
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

/** How many levels an entry can have. The service sends four. With some thousands, `JSON.stringify` exceeds the stack. */
const mostLevels = 100

/** Reads the lists of the service, and waits out what goes wrong. */
export class Reader {
  readonly #client: SupportWorkspace
  readonly #settings: FeedSettings
  readonly #requests: VerifiedRequests
  readonly #withoutLimit = new Set<keyof Items>()

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

  /** The id of the person of the token. */
  get you(): string | undefined {
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
          checkEntries(list, data)
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
    const add = (page: readonly Message[]) => {
      for (const message of page) found.set(message.id, message)
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
    try {
      return await read()
    } catch (error) {
      this.#throwIfOfAll(error)
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
  async #pause(error: unknown, attempt: number, longest = 3_600_000, conversationId?: string): Promise<void> {
    const { signal } = this.#settings
    throwIfAborted(signal)
    if (this.#requests.refusal !== undefined) throw this.#requests.refusal
    if (!isPassing(error)) throw error
    const backoff = Math.min(60_000, 1000 * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2)
    const asked = error instanceof ApiError ? (error.retryAfter ?? 0) * 1000 : 0
    const retryIn = Math.max(backoff, Math.min(asked, longest))
    this.report({ error, retryIn, conversationId })
    await sleep(retryIn, signal)
  }
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

/** Refuses a page whose entries cannot be told apart by their ids, or that has an entry with too many levels. */
function checkEntries(list: keyof Items, items: readonly { readonly id?: unknown }[]): void {
  const ids = items.map((item) => item?.id)
  const areValid = ids.every((id) => typeof id === 'string' && id !== '' && id.isWellFormed())
  if (!areValid || new Set(ids).size !== ids.length) {
    throw new SupportWorkspaceError(
      `\`${list}.list\` returned ${areValid ? 'an id twice on a page' : 'an entry without a valid `id`'}.`,
      { hint: 'The feed tells entries apart by their ids. Report this to the service.' },
    )
  }
  const deep = items.find((item) => isDeep(item, mostLevels))
  if (deep === undefined) return
  throw new SupportWorkspaceError(`The entry "${deep.id}" has more than ${mostLevels} levels of arrays and objects.`, {
    hint: 'The feed cannot compare it. Report this to the service.',
  })
}

function isDeep(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((each) => isDeep(each, levels - 1))
}
