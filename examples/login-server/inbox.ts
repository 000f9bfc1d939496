import type { Hono } from 'hono'
import { AuthenticationError, RequestError, type SupportWorkspace, textToHtml, type User } from 'support-workspace-sdk'
import { conversationPage, listPage } from './pages.ts'
import type { SiteVariables } from './site.ts'

/** Adds the pages of a connected workspace: the conversations, one conversation, and the form for a reply. */
export function addInbox(site: Hono<{ Variables: SiteVariables }>): void {
  site.get('/conversations', async (context) => {
    const { connection, workspace } = context.var
    const page = await workspace.conversations.list({ limit: 20, after: context.req.query('after') })
    return context.html(listPage(connection, page))
  })

  site.get('/conversations/:id', async (context) => {
    const { connection, workspace } = context.var
    const id = context.req.param('id')
    const messages = await workspace.messages.list(id, { limit: 20, after: context.req.query('after') })
    const customer = await customerOf(workspace, id)
    return context.html(conversationPage(connection, { id, messages, customer }))
  })

  site.post('/conversations/:id/messages', async (context) => {
    const { connection, workspace } = context.var
    const id = context.req.param('id')
    const path = `/conversations/${encodeURIComponent(id)}`
    const { text } = await context.req.parseBody()
    const draft = typeof text === 'string' ? text : ''
    // Only a person can write. With this check, TypeScript knows that the actor is `self`, which `messages.create`
    // requires.
    if (workspace.actor !== 'self' || draft.trim() === '') return context.redirect(path, 303)
    try {
      await workspace.messages.create(id, { body_html: textToHtml(draft) })
    } catch (error) {
      if (!(error instanceof RequestError) || error instanceof AuthenticationError) throw error
      // The message says whether the reply might have been sent anyway. The page keeps the text.
      const messages = await workspace.messages.list(id, { limit: 20 })
      const customer = await customerOf(workspace, id)
      const failed = { draft, reason: error.message }
      return context.html(conversationPage(connection, { id, messages, customer, failed }), 502)
    }
    return context.redirect(`${path}#reply`, 303)
  })
}

/**
 * Returns the customer of a conversation. The call is undocumented, so if it fails, the page shows the conversation
 * without the customer.
 */
async function customerOf(workspace: SupportWorkspace, id: string): Promise<User | null | undefined> {
  try {
    return (await workspace.conversations.get(id)).user
  } catch (error) {
    if (error instanceof RequestError && !(error instanceof AuthenticationError)) return undefined
    throw error
  }
}
