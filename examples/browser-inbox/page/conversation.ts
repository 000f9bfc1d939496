import { type Conversation, type Me, type Message, type SupportWorkspace, textToHtml } from 'support-workspace-sdk'
import { htmlToText } from 'support-workspace-sdk/html'
import { authorClass } from '../../shared/inbox-classes.ts'
import { announce, element } from './elements.ts'
import type { Fail } from './inbox.ts'
import { breakable, nameOf, time } from './names.ts'

interface Options {
  workspace: SupportWorkspace
  me: Me
  fail: Fail
  /** The conversation, if the list has loaded it. */
  conversation: Conversation | undefined
  /** Called with each reply after it was sent. */
  onSent(message: Message): void
  /** Aborts the calls. */
  signal: AbortSignal
}

/** Shows the messages of a conversation and a form for a reply. */
export function conversationPane(id: string, options: Options): HTMLElement {
  const { workspace, conversation, fail, signal } = options
  // Conversations have no subject.
  const title = conversation?.user?.name ?? conversation?.user?.email ?? id
  const heading = element('h1', { tabIndex: -1 }, ...breakable(title))
  const older = element('div', { className: 'end' })
  const messages = element('ol', { className: 'messages' })
  // The service returns the newest message first.
  const pages = workspace.messages.list(id, { limit: 20 }, { signal }).pages()

  async function loadOlder(): Promise<void> {
    older.textContent = 'Loading…'
    try {
      const { value: page } = await pages.next()
      const shown = page?.data.toReversed() ?? []
      messages.prepend(...shown.map((message) => messageItem(message, options)))
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
      messages.append(messageItem(message, options))
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
  // With this check, TypeScript knows that the actor is `self`, which `messages.create` below requires.
  if (workspace.actor !== 'self') {
    return element(
      'p',
      { className: 'notice' },
      'The app can read, but only a person can write. Connect as yourself to reply.',
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
      onSent(await messages.create(id, { body_html: textToHtml(text.value) }, { signal }))
      text.value = ''
      announce('Your reply was sent.')
    } catch (error) {
      // The message says whether the reply might have been sent anyway. The text stays in the form.
      fail(error, failure)
    } finally {
      button.disabled = false
    }
  }
  return form
}

function messageItem({ user, inserted_at, body_html }: Message, { me, conversation }: Options): HTMLElement {
  const author = authorClass(user, me.user, conversation?.user)
  const { text, quoted } = htmlToText(body_html ?? '')
  return element(
    'li',
    { className: `message ${author}` },
    element(
      'p',
      { className: 'head' },
      element('strong', {}, ...breakable(author === 'mine' ? 'You' : nameOf(user))),
      ...(author === 'colleague' ? [element('span', { className: 'mark' }, 'colleague')] : []),
      time(inserted_at, 'long'),
    ),
    element('p', { className: 'text' }, text),
    ...(quoted === '' ? [] : [element('blockquote', { className: 'text' }, quoted)]),
  )
}
