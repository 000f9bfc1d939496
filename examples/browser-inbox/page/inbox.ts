import { AuthenticationError, type Me, type SupportWorkspace } from 'support-workspace-sdk'
import { conversationPane } from './conversation.ts'
import { conversationList } from './conversation-list.ts'
import { element, part } from './elements.ts'

export interface Inbox {
  workspace: SupportWorkspace
  me: Me
  /** Called when the service no longer accepts the token. */
  onEnded(error: AuthenticationError): void
}

/** Shows an error at a place in the page, or ends the inbox if the token is no longer valid. */
export type Fail = (error: unknown, place: HTMLElement) => void

/**
 * Shows the list of conversations, and next to it the one whose id is in the URL fragment. Returns a function that
 * leaves the inbox and aborts the calls in flight.
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
    // At phone width, the style sheet shows only one of the two.
    content.className = id === '' ? 'inbox' : 'inbox open'
    list.mark(id)
    pane.replaceChildren(
      id === ''
        ? element('p', { className: 'soft empty' }, 'Select a conversation.')
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
    // Helps screen reader users. At phone width, the link that had the focus is also hidden now.
    pane.querySelector('h1')?.focus({ preventScroll: true })
  }
  addEventListener('hashchange', openAndFocus, { signal })
  content.replaceChildren(list.element, pane)
  open()
  return () => leaving.abort()
}
