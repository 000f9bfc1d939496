import { type Checkpoint, NotFoundError, type SupportWorkspace } from 'support-workspace-sdk'
import type { Claim, Database, FetchedItem, Position } from './database.ts'

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

/** The longest id, in UTF-16 code units. One of a few thousand bytes fits neither a URL nor an index of Postgres. */
const longestId = 200
const skipped = `Skipped items without a usable id, which has 1 to ${longestId} characters and is not "." or "..".`

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

async function syncConversations(parts: SyncParts, from: Checkpoint): Promise<void> {
  const { workspace, signal } = parts
  const pages = workspace.conversations.list({ limit }, { ...resume(from), signal }).pages()
  for await (const { data, checkpoint } of pages) await savePage(parts, data, { checkpoint })
}

async function syncMessages(parts: SyncParts, conversation: string, from: Checkpoint): Promise<void> {
  const { workspace, signal } = parts
  const pages = workspace.messages.list(conversation, { limit }, { ...resume(from), signal }).pages()
  try {
    for await (const { data, checkpoint } of pages) await savePage(parts, data, { conversation, checkpoint })
  } catch (error) {
    // The conversation was deleted since it was listed.
    if (!(error instanceof NotFoundError)) throw error
    await savePage(parts, [], { conversation, checkpoint: end })
  }
}

/** A single item that cannot be stored or read must not stop its connection, so it is skipped and reported. */
async function savePage(
  { database, claim }: SyncParts,
  data: readonly { readonly id: string }[],
  position: Position,
): Promise<void> {
  const { conversation } = position
  const kind = conversation === undefined ? 'conversation' : 'message'
  const usable = data.filter(hasUsableId)
  const items = usable.map((each): FetchedItem => ({ kind, id: each.id, conversation, data: each }))
  await database.savePage(claim, items, position, usable.length < data.length ? skipped : undefined)
}

/** The service may send something else than its documents say. */
function hasUsableId(item: { readonly id: unknown } | null): boolean {
  const id = item?.id
  return typeof id === 'string' && id !== '' && id.length <= longestId && id !== '.' && id !== '..'
}

/** A saved cursor may have expired. The list then starts over within the same sweep, so that nothing counts as deleted. */
function resume(from: Checkpoint) {
  return { resumeFrom: from, onRejectedCursor: 'restart' } as const
}
