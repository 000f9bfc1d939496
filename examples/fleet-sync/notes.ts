// Notes in conversations whose messages are skipped: a write that is sent at most once.
import { isSupportWorkspaceError, type SupportWorkspace } from 'support-workspace-sdk'
import { WriteJournal } from 'support-workspace-sdk/journal'
import { mostFailures } from './known.ts'
import { log } from './log.ts'
import type { OpenDatabase } from './open-database.ts'

type Parts = Pick<OpenDatabase, 'database' | 'storage'>
const body_html = '<p>The archive could not read the messages of this conversation.</p>'

/**
 * Adds a note to each conversation whose messages could not be read in three sync passes. The journal sends each note
 * at most once, also if the worker is killed meanwhile. A person has to resolve unconfirmed notes, which
 * `journal.list({ state: 'unconfirmed' })` returns.
 */
export async function noteSkipped(workspace: SupportWorkspace<'self'>, { database, storage }: Parts, key: string) {
  const journal = new WriteJournal({ workspace, storage })
  const failing = database.selectFrom('items').select('id').where('key', '=', key).where('problem', 'is not', null)
  for (const { id } of await failing.where('failures', '>=', mostFailures).execute()) {
    try {
      await journal.once(`skipped:${key}:${id}`, (workspace) => workspace.notes.create(id, { body_html }))
    } catch (error) {
      if (!isSupportWorkspaceError(error) || error.remedy === 'retry' || error.remedy === 'reconnect') throw error
      log('note', { organization: key, conversation: id, remedy: error.remedy, message: error.message })
    }
  }
}
