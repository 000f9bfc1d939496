import type { AnyWorkspace, Conversation } from 'support-workspace-sdk'
import { toText } from '../../shared/message-text.ts'
import { announce, element } from './elements.ts'
import type { Fail } from './inbox.ts'
import { initialOf, nameOf, time } from './names.ts'

interface Options {
  workspace: AnyWorkspace
  fail: Fail
  /** Ends the calls. */
  signal: AbortSignal
}

export interface ConversationList {
  element: HTMLElement
  /** Marks the conversation that is open. */
  mark(id: string): void
}

/** All conversations, a page at a time, the next one whenever the end comes into view. */
export function conversationList({ workspace, fail, signal }: Options): ConversationList {
  const items = element('ul', { className: 'list' })
  const end = element('div', { className: 'end' })
  const section = element('section', { className: 'pane side', ariaLabel: 'Conversations' }, items, end)
  const pagesFrom = (after: string | null) => workspace.conversations.list({ limit: 20, after }, { signal }).pages()
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
      items.append(...(page?.data ?? []).map(listItem))
      markOpen()
      resumeFrom = page?.after ?? null
    } catch (error) {
      // A generator that has thrown is over: another one goes on from the last page that came.
      pages = pagesFrom(resumeFrom)
      fail(error, end)
      end.append(element('button', { onclick: () => void loadMore() }, 'Try again'))
      return
    }
    const count = items.childElementCount
    announce(`${count} conversations`)
    end.textContent = resumeFrom === null ? `That is all: ${count} conversations.` : ''
    // Observing anew tells at once whether the end is still in view.
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
  }
}

function hashOf(id: string): string {
  return `#${encodeURIComponent(id)}`
}

function listItem({
  id,
  user,
  last_message,
  last_message_inserted_at,
  status,
  unread_count,
}: Conversation): HTMLElement {
  const marks = element('span', { className: 'marks' })
  if (unread_count) marks.append(element('span', { className: 'mark unread' }, `${unread_count} unread`))
  marks.append(element('span', { className: 'mark' }, status ?? 'no status'))
  return element(
    'li',
    {},
    element(
      'a',
      { href: hashOf(id) },
      element('span', { className: 'face', ariaHidden: 'true' }, initialOf(user)),
      element('span', { className: 'who' }, nameOf(user)),
      element('span', { className: 'excerpt' }, toText(last_message ?? '')),
      time(last_message_inserted_at, 'day'),
      marks,
    ),
  )
}
