import { WriteJournal } from 'support-workspace-sdk/journal'
import { sqliteStorage } from 'support-workspace-sdk/storage'
import { body_html, folder, newest, run, workspace } from './client.mjs'

await run(async () => {
  const journal = new WriteJournal({ workspace, storage: sqliteStorage(`${folder}/replies.db`) })
  for (const { id } of await newest(2)) {
    await journal.once(`reply:${id}`, (client) => client.messages.create(id, { body_html }))
  }
})
