import { html } from 'hono/html'
import type { Message } from 'support-workspace-sdk'
import type { Proposal } from 'support-workspace-sdk/approvals'
import { htmlToText } from 'support-workspace-sdk/html'

/** Markup that `html` returns. It escapes every value that it includes. */
type Markup = ReturnType<typeof html>

/** A draft, and the newest messages of its conversation. */
type Card = { readonly draft: Proposal; readonly messages: readonly Message[] }

/** What a person can do in a state. `applied` and `absent` say what became of a reply whose response was lost. */
const steps: Partial<Record<Proposal['state'], Readonly<Record<string, string>>>> = {
  pending: { approve: 'Approve', reject: 'Reject' },
  approved: { reject: 'Take back' },
  sending: { applied: 'It was sent', absent: 'It was not sent' },
}

export function layout(content: Markup, version = ''): Markup {
  return html`<!doctype html>
    <html lang="en">
      <meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
      <title>Reply desk</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/style.css">
      <body data-version="${version}"><main>${content}</main></body>
    </html>`
}

export const loginPage = html`<h1>Reply desk</h1><p>Log in to see the drafts.</p><p><a href="/login">Log in</a></p>`

export const noticePage = (text: string): Markup =>
  html`<h1>Not done</h1><p role="alert">${text}</p><p><a href="/">Go to the drafts</a></p>`

export function draftsPage(person: string, sender: string, cards: readonly Card[]): Markup {
  return html`<p class="account">${person}</p>
    <p id="changed" role="status" hidden>The drafts have changed. <a href="/">Load them</a></p>
    <h1>Drafts</h1><p>What you approve is sent as <b>${sender}</b>.</p>${cards.map(card)}
    <script src="/update.js"></script>`
}

/** Returns a name without line breaks and the characters that could reorder or hide the text around it. */
export function shownName(name: string | null | undefined): string {
  const harmless = name?.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ').trim()
  return harmless || 'Nameless'
}

function card({ draft, messages }: Card): Markup {
  const { key, digest, state, reason = '', decisions } = draft
  const said = [...decisions.map((each) => `${each.decision} by ${each.by}`), reason].filter(Boolean).join(', ')
  const { text } = htmlToText(htmlOf(draft))
  // The parser drops the first line break of a textarea. Without `autocomplete`, Firefox keeps the text of another draft.
  const edit = html`<textarea name="text" aria-label="Reply" rows="6" required autocomplete="off">${`\n${text}`}</textarea>`
  const buttons = Object.entries(steps[state] ?? {}).map(([step, label]) => {
    return html`<button name="step" value="${step}" ${step === 'approve' ? '' : 'formnovalidate'}>${label}</button> `
  })
  return html`<article>
    <form method="post" action="/decide">
      <input type="hidden" name="key" value="${key}"><input type="hidden" name="digest" value="${digest}">
      ${frame(htmlOf(draft))}<p><b class="state">${state}</b> ${said}</p>${state === 'pending' ? edit : ''}${buttons}
    </form>
    <ol>${messages.map(({ user, body_html }) => html`<li><b>${shownName(user?.name ?? user?.email)}</b>${frame(body_html ?? '')}</li>`)}</ol>
  </article>`
}

export function htmlOf(draft: Proposal | undefined): string {
  return String((draft?.body as { body_html?: unknown } | undefined)?.body_html ?? '')
}

/** Shows the HTML of a stranger without its scripts, as docs/message-html.md explains. */
function frame(body: string): Markup {
  const policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
  const harmless = body.replaceAll(/<(?=link|meta|i?frame)/gi, '&lt;')
  const content = `<meta http-equiv="Content-Security-Policy" content="${policy}"><base target="_blank">${harmless}`
  return html`<iframe title="Message" sandbox="allow-popups" srcdoc="${content}"></iframe>`
}
