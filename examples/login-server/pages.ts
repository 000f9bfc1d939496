import { html } from 'hono/html'
import type { HtmlEscapedString } from 'hono/utils/html'
import { type Conversation, type Message, type Page, toDate, type User } from 'support-workspace-sdk'
import { htmlToText } from 'support-workspace-sdk/html'
import type { Connection } from 'support-workspace-sdk/oauth'
import { authorClass, statusClass } from '../shared/inbox-classes.ts'

/** Escaped HTML. `html` escapes every value that it includes. */
export type Markup = HtmlEscapedString | Promise<HtmlEscapedString>

export async function toResponse(page: Markup, status: number): Promise<Response> {
  return new Response(String(await page), { status, headers: { 'content-type': 'text/html; charset=utf-8' } })
}

export function welcomePage(): Markup {
  return layout({
    title: 'Connect your workspace',
    content: html`
      <section class="card">
        <h1>Connect your workspace</h1>
        <p>Read and reply to your conversations here. You approve access in your workspace; this site never sees your password.</p>
        ${connectLinks()}
      </section>`,
  })
}

/** Shows a message, with a link to the conversations or, without a connection, to a new login. */
export function noticePage(title: string, text: string, connection?: Connection): Markup {
  return layout({
    title,
    connection,
    content: html`
      <section class="card" role="alert">
        <h1>${title}</h1>
        <p>${text}</p>
        ${
          connection
            ? html`<p class="buttons"><a class="button main" href="/conversations">Go to your conversations</a></p>`
            : html`<p><a href="/">Go to the start page</a></p>${connectLinks()}`
        }
      </section>`,
  })
}

export function listPage(connection: Connection, page: Page<Conversation>): Markup {
  return layout({
    title: 'Conversations',
    connection,
    content: html`
      <h1>Conversations</h1>
      <ul class="list">${page.data.map(conversationItem)}</ul>
      ${page.data.length === 0 ? html`<p class="soft">There are no conversations.</p>` : ''}
      <nav class="pages" aria-label="Pages">
        ${page.before === null ? '' : html`<a href="/conversations">Newest</a>`}
        ${page.after === null ? html`<span class="soft">You have reached the end.</span>` : olderLink('/conversations', page)}
      </nav>`,
  })
}

export interface ConversationView {
  id: string
  messages: Page<Message>
  /** The customer who wrote the conversation; `undefined` if unknown. */
  customer: User | null | undefined
  failed?: { draft: string; reason: string }
}

export function conversationPage(connection: Connection, { id, messages, customer, failed }: ConversationView): Markup {
  const path = `/conversations/${encodeURIComponent(id)}`
  // The service returns the newest message first. The page shows the oldest first.
  const shown = messages.data.toReversed()
  const people = new Set(shown.map(({ user }) => nameOf(user)))
  return layout({
    title: 'Conversation',
    connection,
    content: html`
      <p><a href="/conversations">← Conversations</a></p>
      <h1>${people.size === 0 ? 'No messages yet' : [...people].join(', ')}</h1>
      ${messages.after === null ? '' : html`<p>${olderLink(path, messages)}</p>`}
      <ol class="messages">${shown.map((message) => messageItem(message, authorClass(message.user, connection.user, customer)))}</ol>
      ${replyForm(connection, path, failed)}`,
  })
}

interface Layout {
  title: string
  content: Markup
  connection?: Connection | undefined
}

function layout({ title, content, connection }: Layout): Markup {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>${title}</title>
        <link rel="icon" href="/icon.svg">
        <link rel="stylesheet" href="/style.css">
      </head>
      <body>
        <header class="bar">
          <a class="brand" href="/"><img src="/icon.svg" alt="" width="28" height="28">Inbox</a>
          ${connection ? account(connection) : ''}
        </header>
        <main>${content}</main>
      </body>
    </html>`
}

function connectLinks(): Markup {
  return html`
    <p class="buttons">
      <a class="button main" href="/login/self">Connect as yourself</a>
      <a class="button" href="/login/app">Connect as the app</a>
    </p>
    <p class="soft">As yourself, you can reply under your name. As the app, you can only read.</p>`
}

function account({ organization, actor, user, scopes }: Connection): Markup {
  return html`
    <details class="account">
      <summary>
        <strong>${organization.name ?? 'Workspace'}</strong>
        <span class="soft">${actor === 'self' ? `as ${nameOf(user)}` : 'as the app'}</span>
      </summary>
      <div class="menu">
        <p class="soft">This connection has access to</p>
        <ul class="scopes">${scopes?.map((scope) => html`<li>${scope}</li>`)}</ul>
        <form method="post" action="/disconnect"><button>Disconnect</button></form>
      </div>
    </details>`
}

function conversationItem(conversation: Conversation): Markup {
  const unread = conversation.unread_count ?? 0
  return html`
    <li>
      <a href="/conversations/${encodeURIComponent(conversation.id)}">
        <span class="face" aria-hidden="true">${initialOf(conversation.user)}</span>
        <span class="who">${nameOf(conversation.user)}</span>
        ${day(conversation.last_message_inserted_at)}
        <span class="excerpt">${htmlToText(conversation.last_message ?? '').text}</span>
        <span class="marks">
          ${unread > 0 ? html`<span class="mark unread">${unread} unread</span>` : ''}
          <span class="mark ${statusClass(conversation.status)}">${conversation.status ?? 'no status'}</span>
        </span>
      </a>
    </li>`
}

function messageItem({ user, inserted_at, body_html }: Message, author: ReturnType<typeof authorClass>): Markup {
  const { text, quoted } = htmlToText(body_html ?? '')
  return html`
    <li class="message ${author}">
      <p class="head">
        <strong>${author === 'mine' ? 'You' : nameOf(user)}</strong>
        ${author === 'colleague' ? html`<span class="mark">colleague</span>` : ''} ${time(inserted_at)}
      </p>
      <p class="text">${text}</p>
      ${quoted === '' ? '' : html`<blockquote class="text">${quoted}</blockquote>`}
    </li>`
}

function replyForm({ actor, scopes, user }: Connection, path: string, failed: ConversationView['failed']): Markup {
  if (actor !== 'self') {
    return html`<p class="hint">The app can read, but only a person can write. Connect as yourself to reply.</p>`
  }
  if (scopes?.includes('messages:write') === false) {
    return html`<p class="hint">This connection does not have permission to send messages.</p>`
  }
  return html`
    ${failed ? html`<p class="failed" role="alert">${failed.reason}</p>` : ''}
    <form id="reply" class="reply" method="post" action="${path}/messages">
      <label for="text">Your reply</label>
      <textarea id="text" name="text" rows="4" required>${failed?.draft ?? ''}</textarea>
      <button class="main">Send as ${nameOf(user)}</button>
    </form>`
}

function olderLink(path: string, { after }: { after: string | null }): Markup {
  return html`<a href="${path}?after=${encodeURIComponent(after ?? '')}">Older</a>`
}

type Named = { name?: string | null | undefined; email?: string | null | undefined }

function nameOf(user: Named | null | undefined): string {
  return user?.name ?? user?.email ?? 'Unknown'
}

function initialOf(user: User | null | undefined): string {
  return [...nameOf(user)][0]?.toUpperCase() ?? '?'
}

const days = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' })
const minutes = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })

function day(seconds: number | null | undefined): Markup {
  const date = toDate(seconds)
  return date ? html`<time datetime="${date.toISOString()}">${days.format(date)}</time>` : html``
}

function time(seconds: number | null | undefined): Markup {
  const date = toDate(seconds)
  return date ? html`<time datetime="${date.toISOString()}">${minutes.format(date)} UTC</time>` : html``
}
