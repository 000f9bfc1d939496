import { isSupportWorkspaceError, type SupportWorkspace } from 'support-workspace-sdk'
import { WriteJournal } from 'support-workspace-sdk/journal'
import { log } from './log.ts'
import type { OpenDatabase } from './open-database.ts'

const body_html = '<p>The archive could not read the messages of this conversation.</p>'

/**
 * Adds a note to each conversation whose messages are skipped: once, also if the worker is killed meanwhile. One whose note may
 * have been added, and cannot be found, is left to a person: see `journal.list({ state: 'unconfirmed' })`.
 */
export async function noteSkipped(
  workspace: SupportWorkspace<'self'>,
  { database, storage }: Pick<OpenDatabase, 'database' | 'storage'>,
  key: string,
): Promise<void> {
  const journal = new WriteJournal({ workspace, storage })
  const skipped = database.selectFrom('items').select('id').where('key', '=', key).where('problem', 'is not', null)
  for (const { id } of await skipped.execute()) {
    try {
      await journal.once(`skipped:${key}:${id}`, (workspace) => workspace.notes.create(id, { body_html }))
    } catch (error) {
      if (!isSupportWorkspaceError(error) || error.remedy === 'retry' || error.remedy === 'reconnect') throw error
      log('note', { organization: key, conversation: id, remedy: error.remedy, message: error.message })
    }
  }
}
