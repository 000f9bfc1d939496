import { html } from 'hono/html'
import type { Collection } from '../data/collection.ts'
import type { Conversation, Message } from '../data/shapes.ts'
import type { Workspace } from '../data/workspace.ts'
import type { Markup } from '../html-page.ts'
import { link, openLink, paginate, section, type View } from './view.ts'

/** Returns the data of the selected organization. A conversation opens with its messages and notes. */
export function dataSection(view: View): Markup {
  const { service, url } = view
  const workspace = service.workspaces.get(url.searchParams.get('organization') ?? '') ?? service.firstWorkspace
  const lists = listsOf(view, workspace)
  const selected = lists.find(({ name }) => name === url.searchParams.get('list')) ?? lists[0]
  return section(
    'Data',
    html`<nav class="tabs" aria-label="Organization">${[...service.workspaces.values()].map(({ organization }) => {
      const { id, display_name: name } = organization
      return tab(view, { organization: id, page: undefined }, name, id === workspace.organization.id)
    })}</nav>
<nav class="tabs" aria-label="List">${lists.map(({ name, size }) => {
      const text = html`${name} <span class="soft">${size}</span>`
      return tab(view, { list: name, page: undefined }, text, name === selected?.name)
    })}</nav>
${selected?.table()}`,
    { isLive: true },
  )
}

type Changes = Parameters<typeof link>[1]

function tab(view: View, changes: Changes, text: string | Markup, isCurrent: boolean): Markup {
  return html`<a href="${link(view, changes, 'data')}"${isCurrent && html` aria-current="true"`}>${text}</a>`
}

function listsOf(view: View, workspace: Workspace) {
  const { conversations, contacts, members, tasks, segments } = workspace
  const list = <Item extends { id: string }>(name: string, items: Collection<Item>, table: Table<Item>) => {
    return { name, size: items.size, table: () => tableOf(view, items.all(), table) }
  }
  const records = { columns: ['Fields'], cells: fieldsOf }
  return [
    list('Conversations', conversations, {
      columns: ['Status', 'Customer', 'Last message'],
      cells: ({ status, user, last_message }) => [status, user.name ?? user.email, last_message],
      detail: (conversation) => thread(view, workspace, conversation),
    }),
    list('Contacts', contacts, {
      columns: ['Name', 'Email', 'Source'],
      cells: ({ user, source }) => [user.name ?? '', user.email, source],
    }),
    list('Team members', members, {
      columns: ['Name', 'Email', 'Role'],
      cells: ({ user, role, archived }) => [user.name ?? '', user.email, archived ? `${role}, archived` : role],
    }),
    list('Tasks', tasks, records),
    list('Segments', segments, records),
  ]
}

function fieldsOf({ id, ...fields }: { id: string }): string[] {
  return [Object.keys(fields).length === 0 ? '' : JSON.stringify(fields)]
}

interface Table<Item> {
  /** After the id. */
  readonly columns: readonly string[]
  readonly cells: (item: Item) => readonly string[]
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
  return html`<table>
<thead><tr><th>ID</th>${columns.map((column) => html`<th>${column}</th>`)}</tr></thead>
<tbody>${rows}</tbody>
</table>
${page.pager}`
}

/** Returns the messages and notes of a conversation, newest first. Their HTML is shown as it is stored. */
function thread(view: View, workspace: Workspace, { id }: Conversation): Markup {
  const notes = new Set<Message>(workspace.notes(id).all())
  const items = [...workspace.messages(id).all(), ...notes].sort((one, other) => other.inserted_at - one.inserted_at)
  if (items.length === 0) return html`<p class="soft">No messages and no notes.</p>`
  const page = paginate(view, { parameter: 'messages', section: id, items, size: 20 })
  const texts = page.items.map((item) => {
    const time = new Date(item.inserted_at * 1_000).toISOString()
    const tag = notes.has(item) && html`<span class="tag warn">note</span>`
    return html`<div class="message ${tag && 'note'}">
<p class="bar"><b>${item.user.name ?? item.user.email}</b> ${tag} <span class="soft">${item.source}, ${time.slice(0, 16).replace('T', ' ')} UTC</span></p>
<p><code>${item.body_html}</code></p>
</div>`
  })
  return html`${texts}${page.pager}`
}
