import { html } from 'hono/html'
import type { Collection } from '../data/collection.ts'
import type { OrganizationData } from '../data/organization-data.ts'
import type { Conversation, Message } from '../data/shapes.ts'
import type { Markup } from '../html-page.ts'
import { contains, link, openLink, paginate, section, timeOf, type View, viewForm } from './view.ts'

/** Returns the data of the selected organization. A conversation opens with its messages and notes. */
export function dataSection(view: View): Markup {
  const { sandbox, url } = view
  const data = sandbox.organizations.get(url.searchParams.get('organization') ?? '') ?? sandbox.firstOrganization
  const lists = listsOf(view, data)
  const selected = lists.find(({ name }) => name === url.searchParams.get('list')) ?? lists[0]
  return section(
    'Data',
    html`${organizations(view, data)}
<nav class="tabs" aria-label="List">${lists.map(({ name, size }) => {
      const text = html`${name} <span class="soft">${size}</span>`
      return tab(view, { list: name, page: undefined }, text, name === selected?.name)
    })}</nav>
${selected?.table()}`,
    { isLive: true },
  )
}

/** Number of organizations above which there is a search, because each update loads the page. */
const manyOrganizations = 50

/** Returns a tab for each organization: for the selected one, and those that are found, if there are many. */
function organizations(view: View, data: OrganizationData): Markup {
  const all = [...view.sandbox.organizations.values()].map(({ organization }) => organization)
  const find = view.url.searchParams.get('find') ?? ''
  const found = all.filter((each) => each === data.organization || contains(each, find))
  const tabs = found.slice(0, manyOrganizations).map(({ id, display_name: name }) => {
    return tab(view, { organization: id, page: undefined }, html`<bdi>${name}</bdi>`, id === data.organization.id)
  })
  const search = html`<label>Find <input name="find" value="${find}" placeholder="name or id"> of ${all.length}</label><button class="small">Find</button>`
  return html`${all.length > manyOrganizations && viewForm(view, ['find'], 'data', search)}
<nav class="tabs" aria-label="Organization">${tabs}</nav>
${found.length > manyOrganizations && html`<p class="soft">${found.length - manyOrganizations} more. Find them by name or id.</p>`}`
}

type Changes = Parameters<typeof link>[1]

function tab(view: View, changes: Changes, text: string | Markup, isCurrent: boolean): Markup {
  return html`<a href="${link(view, changes, 'data')}"${isCurrent && html` aria-current="true"`}>${text}</a>`
}

function listsOf(view: View, data: OrganizationData) {
  const { conversations, contacts, members, tasks, segments } = data
  const list = <Item extends { id: string }>(
    name: string,
    items: Collection<Item>,
    table: Table<Item>,
    turn = false,
  ) => {
    // Newest first, so that developers see the item that they have just created. The service lists some resources
    // oldest first.
    return { name, size: items.size, table: () => tableOf(view, turn ? items.all().reverse() : items.all(), table) }
  }
  const records = { columns: ['Fields'], cells: fieldsOf }
  return [
    list('Conversations', conversations, {
      columns: ['Status', 'Customer', 'Last message'],
      cells: ({ status, user, last_message }) => [status, nameOf(user), line(last_message)],
      detail: (conversation) => thread(view, data, conversation),
    }),
    list(
      'Contacts',
      contacts,
      {
        columns: ['Name', 'Email', 'Source'],
        cells: ({ user, source }) => [user.name ? nameOf(user) : '', user.email, source],
      },
      true,
    ),
    list('Team members', members, {
      columns: ['Name', 'Email', 'Role'],
      cells: ({ user, role, archived }) => [nameOf(user), user.email, archived ? `${role}, archived` : role],
    }),
    list('Tasks', tasks, records, true),
    list('Segments', segments, records),
  ]
}

function fieldsOf({ id, ...fields }: { id: string }): Markup[] {
  return [line(Object.keys(fields).length === 0 ? '' : JSON.stringify(fields))]
}

function nameOf({ name, email }: { name?: string | null; email: string }): Markup {
  return html`<bdi>${name ?? email}</bdi>`
}

/** Text on one line, which ends with an ellipsis if it is long. */
function line(text: string): Markup {
  return html`<span class="line" title="${text}">${text}</span>`
}

interface Table<Item> {
  /** After the id. */
  readonly columns: readonly string[]
  readonly cells: (item: Item) => readonly (string | Markup)[]
  /** What a row opens with. */
  readonly detail?: (item: Item) => Markup
}

function tableOf<Item extends { id: string }>(view: View, items: Item[], table: Table<Item>): Markup {
  if (items.length === 0) return html`<p class="soft">This list is empty.</p>`
  const { columns, cells, detail } = table
  const page = paginate(view, { parameter: 'page', section: 'data', items, size: 15 })
  const rows = page.items.map((item) => {
    const id = html`<code>${item.id}</code>`
    const isOpen = detail !== undefined && view.url.searchParams.get('row') === item.id
    return html`<tr id="${item.id}">
<td class="main">${detail === undefined ? id : openLink(view, { row: item.id, messages: undefined }, id)}</td>
${cells(item).map((cell) => html`<td>${cell}</td>`)}
</tr>
${isOpen && html`<tr class="detail"><td colspan="${columns.length + 1}">${detail(item)}</td></tr>`}`
  })
  return html`<table class="data">
<thead><tr><th>ID</th>${columns.map((column) => html`<th data-column="${column}">${column}</th>`)}</tr></thead>
<tbody>${rows}</tbody>
</table>
${page.pager}`
}

/** Returns the messages and notes of a conversation, newest first. Their HTML is shown as it is stored. */
function thread(view: View, data: OrganizationData, { id }: Conversation): Markup {
  const notes = new Set<Message>(data.notes(id).all())
  const items = [...data.messages(id).all(), ...notes].sort((one, other) => other.inserted_at - one.inserted_at)
  const page = paginate(view, { parameter: 'messages', section: id, items, size: 20 })
  const texts = page.items.map((item) => {
    const tag = notes.has(item) && html`<span class="tag warn">note</span>`
    return html`<div class="message ${tag && 'note'}">
<p class="bar"><b>${nameOf(item.user)}</b> ${tag} <span class="soft">${item.source}, ${timeOf(item.inserted_at * 1_000)} UTC</span></p>
<p><code>${item.body_html}</code></p>
</div>`
  })
  return html`<form method="post" action="/_sandbox/messages" class="bar" data-inline data-done="Sent">
<input type="hidden" name="conversation" value="${id}">
<label class="grow"><span class="hidden">New message</span>
<input name="text" placeholder="A message" autocomplete="off" required></label>
<button>Send as customer</button>
<button name="as" value="colleague">Answer as a colleague</button></form>
${items.length === 0 && html`<p class="soft">No messages and no notes.</p>`}${texts}${page.pager}`
}
