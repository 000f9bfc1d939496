// Compiled with Node's types, the DOM library, and the library of workers: one of them is needed.
import {
  type Conversation,
  defineOperation,
  RateLimitError,
  SupportWorkspace,
  SupportWorkspaceError,
  schemas,
  textToHtml,
  toDate,
} from 'support-workspace-sdk'
import { OAuthApp, type Scope, scopesFor } from 'support-workspace-sdk/oauth'

const baseUrl = 'https://api.supportwire.app'
const workspace = new SupportWorkspace({ baseUrl, accessToken: () => 'swot_abc', actor: 'self', timeout: 5_000 })

export async function read(client: SupportWorkspace): Promise<string[]> {
  const ids: string[] = []
  for await (const conversation of client.conversations.list({ limit: 50 })) ids.push(conversation.id)
  const page = await client.contacts.list()
  return [...ids, ...page.data.map(({ id }) => id)]
}

export async function write(conversation: Conversation): Promise<string | undefined> {
  const began: Date | undefined = toDate(conversation.inserted_at)
  const call = workspace.messages.create(conversation.id, { body_html: textToHtml(`${began?.toISOString()}`) })
  const { data, response } = await call.withResponse()
  return data.body_html ?? response.headers.get('date') ?? response.requestId
}

export const listTags = defineOperation({
  id: 'tags.list',
  method: 'GET',
  path: '/api/oauth/v1/conversations/{conversation_id}/tags',
  envelope: 'list',
  response: schemas.segment,
})
export const tags = workspace.call(listTags, { path: { conversation_id: 'c' } })

export function explain(error: unknown): string {
  if (error instanceof RateLimitError) return `Retry after ${error.retryAfter} seconds`
  return error instanceof SupportWorkspaceError ? `${error.message} ${error.hint}` : String(error)
}

export const scope: Scope[] = scopesFor('conversations.list', 'messages.create')
export const app = new OAuthApp({ baseUrl, clientId: 'a', clientSecret: 's', redirectUri: 'https://app.test/callback' })
export const login = app.startLogin({ scope, actor: 'self' })

// @ts-expect-error: every compiler reports this mistake
new SupportWorkspace({ baseUrl, accessToken: 't', actor: 'app' }).messages.create('c', { body_html: '' })
