import { type Checkpoint, NotFoundError, type SupportWorkspace } from 'support-workspace-sdk'
import type { Claim, Database, FetchedItem } from './database.ts'

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
  const pages = workspace.conversations.list({ limit }, { ...resume(from), signal }).pages()
  for await (const { data, checkpoint } of pages) {
    const items = data.map(
      (conversation): FetchedItem => ({ kind: 'conversation', id: conversation.id, data: conversation }),
    )
    await database.savePage(claim, items, { checkpoint })
  }
}

async function syncMessages(
  { workspace, database, claim, signal }: SyncParts,
  conversation: string,
  from: Checkpoint,
): Promise<void> {
  const pages = workspace.messages.list(conversation, { limit }, { ...resume(from), signal }).pages()
  try {
    for await (const { data, checkpoint } of pages) {
      const items = data.map(
        (message): FetchedItem => ({ kind: 'message', id: message.id, conversation, data: message }),
      )
      await database.savePage(claim, items, { conversation, checkpoint })
    }
  } catch (error) {
    // The conversation was deleted since it was listed.
    if (!(error instanceof NotFoundError)) throw error
    await database.savePage(claim, [], { conversation, checkpoint: end })
  }
}

/** A saved cursor may have expired. The list then starts over within the same sweep, so that nothing counts as deleted. */
function resume(from: Checkpoint) {
  return { resumeFrom: from, onRejectedCursor: 'restart' } as const
}
