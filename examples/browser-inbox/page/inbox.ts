import { AuthenticationError, type Me, type SupportWorkspace } from 'support-workspace-sdk'
import { conversationPane } from './conversation.ts'
import { conversationList } from './conversation-list.ts'
import { element, part } from './elements.ts'

export interface Inbox {
  workspace: SupportWorkspace
  me: Me
  /** The service does not take the token any more. */
  onEnded(error: AuthenticationError): void
}

/** Shows a failure where it happened; a token that has ended takes the whole inbox away. */
export type Fail = (error: unknown, place: HTMLElement) => void

/**
 * Conversations on one side, and the one that the address names after its `#` on the other. Gives a function that leaves
 * the inbox and ends the calls that are under way.
 */
export function showInbox({ workspace, me, onEnded }: Inbox): () => void {
  const content = part('content')
  const leaving = new AbortController()
  const { signal } = leaving
  const fail: Fail = (error, place) => {
    if (signal.aborted) return
    if (error instanceof AuthenticationError) {
      leaving.abort()
      onEnded(error)
    } else {
      place.replaceChildren(
        element('p', { className: 'notice', role: 'alert' }, error instanceof Error ? error.message : String(error)),
      )
    }
  }
  const list = conversationList({ workspace, fail, signal })
  const pane = element('section', { className: 'pane', ariaLabel: 'Conversation' })

  const open = () => {
    const id = decodeURIComponent(location.hash.slice(1))
    // At phone width only one of the two is there to see; see the style sheet.
    content.className = id === '' ? 'inbox' : 'inbox open'
    list.mark(id)
    pane.replaceChildren(
      id === ''
        ? element('p', { className: 'soft empty' }, 'Choose a conversation.')
        : conversationPane(id, {
            workspace,
            me,
            fail,
            conversation: list.find(id),
            onSent: (message) => list.update(id, message),
            signal,
          }),
    )
  }
  const openAndFocus = () => {
    open()
    // For those who listen to the page, and because at phone width the link that had the focus is gone.
    pane.querySelector('h1')?.focus({ preventScroll: true })
  }
  addEventListener('hashchange', openAndFocus, { signal })
  content.replaceChildren(list.element, pane)
  open()
  return () => leaving.abort()
}
