import { type Checkpoint, type ListOptions, NotFoundError, type SupportWorkspace } from 'support-workspace-sdk'
import type { Claim, Database, FetchedItem } from './database.ts'

export interface SyncParts {
  readonly workspace: SupportWorkspace<'app'> | SupportWorkspace<'self'>
  readonly database: Database
  readonly claim: Claim
  /** Aborted when the worker shuts down. */
  readonly signal: AbortSignal
}

const query = { limit: 50 }
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

async function syncConversations(parts: SyncParts, resumeFrom: Checkpoint): Promise<void> {
  const { workspace, database, claim } = parts
  const list = workspace.conversations.list(query, optionsOf(parts, resumeFrom))
  for await (const { data, checkpoint } of list.pages()) {
    const items = data.map((item): FetchedItem => ({ kind: 'conversation', id: item.id, data: item }))
    await database.savePage(claim, items, { checkpoint })
  }
}

async function syncMessages(parts: SyncParts, conversation: string, resumeFrom: Checkpoint): Promise<void> {
  const { workspace, database, claim } = parts
  const list = workspace.messages.list(conversation, query, optionsOf(parts, resumeFrom))
  try {
    for await (const { data, checkpoint } of list.pages()) {
      const items = data.map((item): FetchedItem => ({ kind: 'message', id: item.id, conversation, data: item }))
      await database.savePage(claim, items, { conversation, checkpoint })
    }
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error
    // The conversation was deleted since it was listed.
    await database.savePage(claim, [], { conversation, checkpoint: end })
  }
}

function optionsOf({ signal }: SyncParts, resumeFrom: Checkpoint): ListOptions {
  // A saved cursor may have expired. The list starts over within the same sweep, so that nothing counts as deleted.
  return { resumeFrom, onRejectedCursor: 'restart', signal }
}
