import { NotFoundError, type SupportWorkspace } from 'support-workspace-sdk'
import type { SyncParts } from './sync-connection.ts'

/** Time limit to record a note and to add it, in milliseconds. After it, the request is no longer in flight. */
const timeout = 5_000
const text = 'Copied to the archive.'

/** A note may still be in flight: its response was lost, or the worker that sent it was killed. */
export class NoteInFlightError extends Error {
  /** When it has either arrived or failed, in milliseconds since the Unix epoch. */
  readonly until: number

  constructor(until: number) {
    super('A note may still be in flight.')
    this.until = until
  }
}

/**
 * Adds an internal note to each new conversation, exactly once. The service has no idempotency keys, so the database
 * records a note before it is sent, and a note that was recorded before is looked for before it is sent again.
 *
 * Only a person can add notes, so connections with `actor=app` get none.
 */
export async function addNotes({ workspace, database, claim, signal }: SyncParts): Promise<void> {
  if (workspace.actor !== 'self') return
  for (const { conversation, startedAt } of await database.missingNotes(claim.key)) {
    try {
      if (startedAt === undefined || !(await hasNote(workspace, conversation, startedAt, signal))) {
        // Not after the recorded time, so that this process never sends the note once another may look for it.
        const until = Date.now() + timeout
        await database.startNote(claim, conversation)
        const totalTimeout = until - Date.now()
        if (totalTimeout <= 0) throw new NoteInFlightError(until)
        await workspace.notes.create(conversation, { body_html: `<p>${text}</p>` }, { totalTimeout, signal })
      }
    } catch (error) {
      // The conversation was deleted, so it needs no note.
      if (!(error instanceof NotFoundError)) throw error
    }
    await database.finishNote(claim.key, conversation)
  }
}

async function hasNote(
  workspace: SupportWorkspace,
  conversation: string,
  startedAt: number,
  signal: AbortSignal,
): Promise<boolean> {
  if (Date.now() < startedAt + timeout) throw new NoteInFlightError(startedAt + timeout)
  for await (const note of workspace.notes.list(conversation, {}, { signal })) {
    if (note.body_html?.includes(text)) return true
  }
  return false
}
