import { html } from 'hono/html'
import type { Addresses } from '../addresses.ts'
import type { Grant } from '../data/grants.ts'
import type { OrganizationData } from '../data/organization-data.ts'
import type { FaultList } from '../faults/inject-faults.ts'
import { htmlPage, type Markup } from '../html-page.ts'
import type { RequestLog } from '../request-log.ts'
import type { SandboxData } from '../sandbox-data.ts'

/** The parts of the sandbox that the console shows and changes. */
export interface ConsoleContext {
  readonly sandbox: SandboxData
  readonly faults: FaultList
  readonly log: RequestLog
  /** Sends a request to the service in process, as an app would. */
  readonly fetch: (request: Request) => Promise<Response>
  readonly addresses: Addresses
}

/** The parts of the sandbox, and the URL of the page. The query of the URL selects pages and opened rows. */
export interface View extends ConsoleContext {
  readonly url: URL
}

/** Returns a page of the console. `more` is in its header, beside the icon that leads to the console. */
export function consoleFrame(title: string, main: Markup, more?: Markup): Markup {
  return htmlPage(
    `${title} – Sandbox`,
    html`<div class="console">
<header class="top"><a href="/" aria-label="Sandbox"><img src="/_sandbox/icon.svg" alt="" width="24" height="24"></a>
<h1>${title}</h1> ${more}</header>
${main}
<footer>A local imitation of the service. Its people and organizations are made up.</footer>
<div id="notice" role="status"></div></div>`,
    html`<script src="/_sandbox/idiomorph.js" defer></script>
<script type="module" src="/_sandbox/console.js"></script>`,
  )
}

/** Returns a section, whose name is its id. The script replaces it if it is live. */
export function section(name: string, content: Markup, { title = name, isLive = false } = {}): Markup {
  const id = name.toLowerCase()
  return html`<section class="card" id="${id}" aria-labelledby="${id}-title"${isLive && html` data-live`}>
<h2 id="${id}-title" tabindex="-1">${title}</h2>
${content}
</section>`
}

/** Returns the address of this view with other parameters. `undefined` removes a parameter. */
export function link(
  { url }: View,
  changes: Readonly<Record<string, string | number | undefined>>,
  to: string,
): string {
  const query = new URLSearchParams(url.search)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) query.delete(name)
    else query.set(name, String(value))
  }
  return `/?${query}#${to}`
}

/** Returns a link that opens the details of a row, or closes them. The first of `changes` names the row. */
export function openLink(view: View, changes: Readonly<Record<string, string | undefined>>, text: Markup): Markup {
  const [[parameter, id] = ['', '']] = Object.entries(changes)
  const isOpen = view.url.searchParams.get(parameter) === id
  const address = link(view, isOpen ? { ...changes, [parameter]: undefined } : changes, id ?? '')
  return html`<a class="open" href="${address}" aria-expanded="${isOpen ? 'true' : 'false'}">${text}</a>`
}

/** Returns the page of a list that a parameter of the URL selects, and links to the others if there are any. */
export function paginate<Item>(
  view: View,
  { parameter, section, items, size }: { parameter: string; section: string; items: readonly Item[]; size: number },
) {
  const pages = Math.max(1, Math.ceil(items.length / size))
  const selected = Number(view.url.searchParams.get(parameter))
  const page = Number.isInteger(selected) ? Math.min(Math.max(1, selected), pages) : 1
  const start = (page - 1) * size
  const shown = items.slice(start, start + size)
  if (pages === 1) return { items: shown, pager: undefined }
  const to = (number: number, text: string): Markup =>
    html`<a href="${link(view, { [parameter]: number === 1 ? undefined : number }, section)}">${text}</a>`
  const pager = html`<p class="bar"><span class="soft">${start + 1} to ${start + shown.length} of ${items.length}</span>
${page > 1 && to(page - 1, 'Previous')} ${page < pages && to(page + 1, 'Next')}</p>`
  return { items: shown, pager }
}

/** Returns a button that copies a text. `what` names the text for screen readers. */
export function copyButton(text: string, what: string, label = 'Copy'): Markup {
  return html`<button type="button" class="small" data-copy="${text}" aria-label="${label} ${what}">${label}</button>`
}

/** Returns a form with one button. Its fields are sent as they are. `done` is announced once it was sent. */
export function actionButton(
  action: string,
  fields: Readonly<Record<string, string>>,
  button: Markup,
  done: string,
): Markup {
  const inputs = Object.entries(fields).map(([name, value]) => {
    return html`<input type="hidden" name="${name}" value="${value}">`
  })
  return html`<form method="post" action="/_sandbox/${action}" data-inline data-done="${done}">${inputs}${button}</form>`
}

/** Returns the person that a token acts as, such as `Ada Abara (admin)`, or "The app". */
export function personOf(grant: Grant | undefined, data: OrganizationData): Markup {
  const member = data.members.get(grant?.memberId ?? '')
  return member === undefined ? html`The app` : html`<bdi>${member.user.name}</bdi> (${member.role})`
}

/** Returns a time in milliseconds since the epoch, in UTC, as all times of the console. */
export function timeOf(at: number): Markup {
  const iso = new Date(at).toISOString()
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')}</time>`
}

/** Returns whether the name or the id of an organization contains a text, in any case. */
export function contains({ id, display_name: name }: { id: string; display_name: string }, text: string): boolean {
  return `${id} ${name}`.toLowerCase().includes(text.trim().toLowerCase())
}

/** Returns a form that changes the view: it sends its fields, and the other parameters of this view as they are. */
export function viewForm({ url }: View, fields: readonly string[], to: string, content: Markup): Markup {
  const others = [...url.searchParams].filter(([name]) => !fields.includes(name))
  const inputs = others.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)
  return html`<form action="/#${to}" class="bar filter">${inputs}${content}</form>`
}
