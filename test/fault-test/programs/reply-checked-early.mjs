import { WriteJournal } from 'support-workspace-sdk/journal'
import { sqliteStorage } from 'support-workspace-sdk/storage'
import { folder, run, workspace } from './client.mjs'
import { replyToAll } from './reply-checked-early.ts'

await run(() => replyToAll(workspace, new WriteJournal({ workspace, storage: sqliteStorage(`${folder}/replies.db`) })))
