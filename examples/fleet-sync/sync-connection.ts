import {
  BadRequestError,
  type Conversation,
  type Message,
  NotFoundError,
  type Paginated,
  type SupportWorkspace,
} from 'support-workspace-sdk'
import type { Checkpoint, Claim, Database, FetchedItem } from './database.ts'

export interface SyncParts {
  readonly workspace: SupportWorkspace<'app'> | SupportWorkspace<'self'>
  readonly database: Database
  readonly claim: Claim
  /** Aborted when the worker shuts down. */
  readonly signal: AbortSignal
}

const limit = 50
const start: Checkpoint = { cursor: null, done: false }
const end: Checkpoint = { cursor: null, done: true }

/**
 * Runs the rest of a sweep: the list of conversations, then the messages of each stored conversation, in the order of
 * their ids. Every response is stored together with the position after it, so whoever continues fetches no page again.
 */
export async function syncConnection(parts: SyncParts): Promise<void> {
  const { database, claim } = parts
  let { conversation, checkpoint } = claim.position
  if (conversation === undefined) await syncConversations(parts, checkpoint)
  else await syncMessages(parts, conversation, checkpoint)
  for (;;) {
    conversation = await database.nextConversation(claim.key, conversation)
    if (conversation === undefined) return
    await syncMessages(parts, conversation, start)
  }
}

async function syncConversations({ workspace, database, claim, signal }: SyncParts, from: Checkpoint): Promise<void> {
  await syncList<Conversation>(from, {
    list: (after) => workspace.conversations.list({ limit, after }, { signal }),
    save: (items, checkpoint) =>
      database.savePage(
        claim,
        items.map((data): FetchedItem => ({ kind: 'conversation', id: data.id, data })),
        { checkpoint },
      ),
  })
}

async function syncMessages(
  { workspace, database, claim, signal }: SyncParts,
  conversation: string,
  from: Checkpoint,
): Promise<void> {
  const save = (items: readonly Message[], checkpoint: Checkpoint) =>
    database.savePage(
      claim,
      items.map((data): FetchedItem => ({ kind: 'message', id: data.id, conversation, data })),
      { conversation, checkpoint },
    )
  const list = (after: string | null) => workspace.messages.list(conversation, { limit, after }, { signal })
  try {
    await syncList<Message>(from, { list, save })
  } catch (error) {
    // The conversation was deleted since it was listed.
    if (!(error instanceof NotFoundError)) throw error
    await save([], end)
  }
}

interface ListSync<Item> {
  readonly list: (after: string | null) => Paginated<Item>
  readonly save: (items: readonly Item[], checkpoint: Checkpoint) => Promise<void>
}

async function syncList<Item>(from: Checkpoint, sync: ListSync<Item>): Promise<void> {
  if (from.done) return
  try {
    for await (const page of sync.list(from.cursor).pages()) {
      await sync.save(page.data, { cursor: page.after, done: page.after === null })
    }
  } catch (error) {
    // A saved cursor may have expired. The list starts over within the same sweep, so that nothing counts as deleted.
    if (from.cursor === null || !(error instanceof BadRequestError)) throw error
    await sync.save([], start)
    await syncList(start, sync)
  }
}
