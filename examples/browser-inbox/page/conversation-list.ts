import type { Conversation, Message, SupportWorkspace } from 'support-workspace-sdk'
import { htmlToText } from 'support-workspace-sdk/html'
import { statusClass } from '../../shared/inbox-classes.ts'
import { announce, element } from './elements.ts'
import type { Fail } from './inbox.ts'
import { initialOf, nameOf, time } from './names.ts'

interface Options {
  workspace: SupportWorkspace
  fail: Fail
  /** Aborts the calls. */
  signal: AbortSignal
}

export interface ConversationList {
  element: HTMLElement
  /** Marks a conversation as the open one. */
  mark(id: string): void
  /** Returns a conversation of the list; undefined if it is not loaded. */
  find(id: string): Conversation | undefined
  /** Shows a message as the last one of its conversation. */
  update(id: string, message: Message): void
}

/** Lists all conversations. Loads the next page when the end of the list becomes visible. */
export function conversationList({ workspace, fail, signal }: Options): ConversationList {
  const items = element('ul', { className: 'list' })
  const end = element('div', { className: 'end' })
  const section = element('section', { className: 'pane side', ariaLabel: 'Conversations' }, items, end)
  const pagesFrom = (after: string | null) => workspace.conversations.list({ limit: 20, after }, { signal }).pages()
  const shown = new Map<string, { conversation: Conversation; row: HTMLElement }>()
  let pages = pagesFrom(null)
  let resumeFrom: string | null = null
  let openId = ''

  const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && void loadMore(), {
    root: section,
    rootMargin: '300px',
  })
  observer.observe(end)

  async function loadMore(): Promise<void> {
    observer.unobserve(end)
    end.textContent = 'Loading…'
    try {
      const { value: page } = await pages.next()
      for (const conversation of page?.data ?? []) {
        const row = conversationItem(conversation)
        shown.set(conversation.id, { conversation, row })
        items.append(row)
      }
      markOpen()
      resumeFrom = page?.after ?? null
    } catch (error) {
      // A generator is finished once it has thrown. A new one resumes after the last page that was loaded.
      pages = pagesFrom(resumeFrom)
      fail(error, end)
      end.append(element('button', { onclick: () => void loadMore() }, 'Try again'))
      return
    }
    const count = items.childElementCount
    announce(`${count} conversations`)
    end.textContent = resumeFrom === null ? `All ${count} conversations are shown.` : ''
    // `observe` always reports the current state, so a list that does not fill the screen loads another page.
    if (resumeFrom !== null) observer.observe(end)
  }

  function markOpen(): void {
    for (const link of items.querySelectorAll('a')) link.ariaCurrent = link.hash === hashOf(openId) ? 'true' : null
  }

  return {
    element: section,
    mark(id) {
      openId = id
      markOpen()
    },
    find: (id) => shown.get(id)?.conversation,
    update(id, { body_html, inserted_at }) {
      const found = shown.get(id)
      if (found === undefined) return
      const conversation = {
        ...found.conversation,
        last_message: body_html ?? null,
        last_message_inserted_at: inserted_at ?? null,
      }
      const row = conversationItem(conversation)
      found.row.replaceWith(row)
      shown.set(id, { conversation, row })
      markOpen()
    },
  }
}

function hashOf(id: string): string {
  return `#${encodeURIComponent(id)}`
}

function conversationItem({
  id,
  user,
  last_message,
  last_message_inserted_at,
  status,
  unread_count,
}: Conversation): HTMLElement {
  const marks = element('span', { className: 'marks' })
  if (unread_count) marks.append(element('span', { className: 'mark unread' }, `${unread_count} unread`))
  marks.append(element('span', { className: `mark ${statusClass(status)}` }, status ?? 'no status'))
  return element(
    'li',
    {},
    element(
      'a',
      { href: hashOf(id) },
      element('span', { className: 'face', ariaHidden: 'true' }, initialOf(user)),
      element('span', { className: 'who' }, nameOf(user)),
      element('span', { className: 'excerpt' }, htmlToText(last_message ?? '').text),
      time(last_message_inserted_at, 'short'),
      marks,
    ),
  )
}
