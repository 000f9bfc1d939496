import { WriteJournal } from 'support-workspace-sdk/journal'
import { sqliteStorage } from 'support-workspace-sdk/storage'
import { body_html, folder, newest, run, workspace } from './client.mjs'

// Wrong: a conversation that is closed between the two writes is no longer in the list.
await run(async () => {
  const journal = new WriteJournal({ workspace, storage: sqliteStorage(`${folder}/replies.db`) })
  const { id } = (await newest(4)).find(({ status }) => status === 'open')
  await journal.once(`reply:${id}`, (client) => client.messages.create(id, { body_html }))
  await journal.once(`note:${id}`, (client) => client.notes.create(id, { body_html }))
})
