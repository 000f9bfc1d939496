import { NotFoundError, type SupportWorkspace, textToHtml } from 'support-workspace-sdk'
import { UnconfirmedWriteError, type WriteJournal } from 'support-workspace-sdk/journal'

/**
 * Answers each customer who had the last word, as a guide once taught it. It looks before `once`, so a journal that asks
 * who it is, or a 429, delays the reply after the look.
 */
export async function replyToAll(workspace: SupportWorkspace<'self'>, journal: WriteJournal<'self'>): Promise<void> {
  let unconfirmed: UnconfirmedWriteError | undefined
  for await (const { id, user } of workspace.conversations.list()) {
    try {
      const { data } = await workspace.messages.list(id, { limit: 50 })
      for (const message of data) {
        if (message.user?.id === undefined || message.user.id !== user?.id) continue
        const [reply, noted] = [`reply:${message.id}`, `note:${message.id}`]
        const state = (await journal.get(reply))?.state
        if (state === undefined && message !== data[0]) continue
        const body_html = textToHtml('Thank you, we are on it.')
        if (state !== 'applied') await journal.once(reply, (client) => client.messages.create(id, { body_html }))
        if ((await journal.get(noted))?.state === 'applied') continue
        await journal.once(noted, (client) => client.notes.create(id, { body_html: textToHtml('Replied.') }))
      }
    } catch (error) {
      if (error instanceof UnconfirmedWriteError) unconfirmed ??= error
      else if (!(error instanceof NotFoundError)) throw error
    }
  }
  if (unconfirmed !== undefined) throw unconfirmed
}
