import type { Conversation, Me, Message, SupportWorkspace } from 'support-workspace-sdk'
import { toHtml, toText } from '../../shared/message-text.ts'
import { announce, element } from './elements.ts'
import type { Fail } from './inbox.ts'
import { breakable, nameOf, time } from './names.ts'

interface Options {
  workspace: SupportWorkspace
  me: Me
  fail: Fail
  /** The conversation, if the list has it already. */
  conversation: Conversation | undefined
  /** Called with each reply that was sent. */
  onSent(message: Message): void
  /** Ends the calls. */
  signal: AbortSignal
}

/** One conversation: its messages, and a reply. */
export function conversationPane(id: string, options: Options): HTMLElement {
  const { workspace, conversation, fail, signal } = options
  // A conversation has no subject in the service's documents.
  const title = conversation?.user?.name ?? conversation?.user?.email ?? id
  const heading = element('h1', { tabIndex: -1 }, ...breakable(title))
  const older = element('div', { className: 'end' })
  const messages = element('ol', { className: 'messages' })
  // Newest first: that is how the service gives them.
  const pages = workspace.messages.list(id, { limit: 20 }, { signal }).pages()

  async function loadOlder(): Promise<void> {
    older.textContent = 'Loading…'
    try {
      const { value: page } = await pages.next()
      const shown = page?.data.toReversed() ?? []
      messages.prepend(...shown.map((message) => messageItem(message, options.me)))
      const more = element('button', { onclick: () => void loadOlder() }, 'Older messages')
      older.replaceChildren(...(page?.after == null ? [] : [more]))
    } catch (error) {
      fail(error, older)
    }
  }

  void loadOlder()
  const back = element('a', { className: 'back', href: '#' }, '← Conversations')
  const article = element('article', {}, back, heading, older, messages)
  article.append(
    replyForm(id, options, (message) => {
      messages.append(messageItem(message, options.me))
      options.onSent(message)
    }),
  )
  return article
}

function replyForm(
  id: string,
  { workspace, me, fail, signal }: Options,
  onSent: (message: Message) => void,
): HTMLElement {
  // The type knows it too: `messages.create` does not compile before the actor has been looked at.
  if (workspace.actor !== 'self') {
    return element(
      'p',
      { className: 'notice' },
      'The app can read, but only a person can write. Connect as yourself to answer.',
    )
  }
  const { messages } = workspace
  const text = element('textarea', { id: 'reply', rows: 3, required: true })
  const button = element('button', { className: 'main' }, ...breakable(`Send as ${nameOf(me.user)}`))
  const failure = element('div', {})
  const form = element(
    'form',
    { className: 'reply' },
    failure,
    element('label', { htmlFor: 'reply' }, 'Your reply'),
    text,
    button,
  )
  form.onsubmit = async (event) => {
    event.preventDefault()
    button.disabled = true
    failure.replaceChildren()
    try {
      onSent(await messages.create(id, { body_html: toHtml(text.value) }, { signal }))
      text.value = ''
      announce('Your reply was sent.')
    } catch (error) {
      // The error says whether the reply may have arrived all the same; what was typed stays.
      fail(error, failure)
    } finally {
      button.disabled = false
    }
  }
  return form
}

function messageItem({ user, inserted_at, body_html }: Message, me: Me): HTMLElement {
  const isMine = user?.id !== undefined && user.id === me.user?.id
  return element(
    'li',
    { className: isMine ? 'message mine' : 'message' },
    element(
      'p',
      { className: 'head' },
      element('strong', {}, ...breakable(isMine ? 'You' : nameOf(user))),
      time(inserted_at, 'long'),
    ),
    element('p', { className: 'text' }, toText(body_html ?? '')),
  )
}
