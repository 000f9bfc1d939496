/** Drafts replies, and sends those that a person has approved. Several workers can share a storage. */
import { setTimeout } from 'node:timers/promises'
import {
  exitCodeOf,
  isSupportWorkspaceError,
  type Message,
  NotFoundError,
  ServerError,
  textToHtml,
  UnexpectedResponseError,
} from 'support-workspace-sdk'
import { ApprovalsError } from 'support-workspace-sdk/approvals'
import { ChangeFeed, type MessageChange } from 'support-workspace-sdk/changes'
import { htmlToText } from 'support-workspace-sdk/html'
import { type Desk, isAutomatic, openDesk } from './desk.ts'

/** What a worker has to know of a message. It can be stored without `secret`, because it has no text. */
type Written = Pick<Exclude<MessageChange, { readonly kind: 'deleted' }>, 'conversationId' | 'id' | 'author'>

/** Returns the text of a reply, or undefined for none. Put your model here. The newest message comes first. */
async function draft({ body_html, user }: Message, _messages: readonly Message[]): Promise<string | undefined> {
  const { text } = htmlToText(body_html ?? '')
  return `Hello ${user?.name ?? 'there'},\n\nthank you for writing: “${text.slice(0, 60)}”. We are on it.`
}

/** Proposes a reply to each new message of a customer. What fails is tried again later, and blocks no other conversation. */
export async function draftReplies(desk: Desk, interval: number, signal: AbortSignal): Promise<void> {
  const { workspace, storage, secret } = desk
  const onProblem = ({ error }: { error: unknown }) => warn(error)
  const feed = { workspace, storage, secret, watch: ['messages'], interval, signal, onProblem, passes: 10 } as const
  const { user: me } = await workspace.me({ signal })
  while (!signal.aborted) {
    for await (const page of storage.list('failed:')) {
      for (const [key, text] of page) {
        if (await isDone(desk, me?.id, key, text)) await storage.compareAndSet(key, text, null)
      }
    }
    for await (const change of new ChangeFeed(feed)) {
      if (change.resource !== 'messages' || change.kind !== 'created' || change.isAutomatic) continue
      const { conversationId, id, author } = change
      const [key, text] = [`failed:${conversationId}:${id}`, JSON.stringify({ conversationId, id, author })]
      if (!(await isDone(desk, me?.id, key, text))) await storage.compareAndSet(key, null, text)
    }
  }
}

/** @param text the message, as it is stored under the key if it fails */
async function isDone(desk: Desk, me: string | undefined, key: string, text: string): Promise<boolean> {
  try {
    const change: Written = JSON.parse(text)
    await rejectOutdated(desk, change)
    await proposeReply(desk, me, change)
  } catch (error) {
    // A colleague has removed the conversation.
    if (error instanceof NotFoundError) return true
    // About the token, the rate or the network, and not about one conversation or the model.
    const isOfOne = error instanceof ServerError || error instanceof UnexpectedResponseError
    if (isSupportWorkspaceError(error) && error.remedy !== 'fix' && !isOfOne) throw error
    console.error(`${key} needs a person:`, error)
    return false
  }
  return true
}

/** Proposes a reply to what the customer wrote last, unless somebody else has answered. */
async function proposeReply({ workspace, approvals }: Desk, me: string | undefined, change: Written): Promise<void> {
  const { conversationId, id } = change
  const messages = await workspace.messages.list(conversationId, { limit: 50 }).toArray()
  // What this person has sent can have crossed what the customer wrote, so it is no answer.
  const last = messages.find((message) => !isAutomatic(message) && message.user?.id !== me)
  const key = `reply:${last?.id}`
  const before = await approvals.get(key)
  const isNew = before === undefined && change.author === 'customer' && last?.id === id
  const isOpen = before?.state === 'stale' || before?.decisions.at(-1)?.by === 'worker'
  if (last === undefined || !(isNew || (isOpen && before?.known?.includes(id) === false))) return
  const text = await draft(last, messages)
  if (text === undefined) return
  const body_html = textToHtml(text)
  await approvals.propose(key, (client) => client.messages.create(conversationId, { body_html }), {
    basis: messages.map((message) => message.id),
    expiresIn: 24 * 60 * 60 * 1000,
    again: true,
  })
}

/** Takes back drafts that do not know a message. Without this, the last look still keeps them back. */
async function rejectOutdated({ approvals }: Desk, { conversationId, id, author }: Written): Promise<void> {
  for (const { key, state, known, ...rest } of await approvals.list({ onUnreadable: warn })) {
    const isOpen = state === 'pending' || (state === 'approved' && author === 'you')
    if (!isOpen || rest.conversationId !== conversationId || known?.includes(id)) continue
    try {
      await approvals.reject(key, { by: 'worker', reason: 'Somebody has written since.' })
    } catch (error) {
      // A person was faster.
      if (!(error instanceof ApprovalsError) || error.remedy === 'retry') throw error
    }
  }
}

const warn = (error: unknown) => console.warn(String(error))

/** Sends what was approved, until the signal aborts. */
export async function sendReplies({ approvals }: Desk, pause: number, signal: AbortSignal): Promise<void> {
  for (let wait = pause; !signal.aborted; ) {
    let isDone = true
    try {
      // Without the signal, which would abort a request under way: leaving the loop lets it finish.
      for await (const { key, state, error } of approvals.send()) {
        console.log(key, state, error?.message ?? '')
        if (state === 'unconfirmed' || state === 'postponed') isDone = false
        if (signal.aborted) break
      }
    } catch (error) {
      // `send` has sent the others before it throws the error of a damaged entry.
      const passes = error instanceof ApprovalsError || (isSupportWorkspaceError(error) && error.remedy === 'retry')
      if (signal.aborted || !passes) throw error
      warn(error)
      isDone = false
    }
    // What cannot be sent or checked now is tried again less often.
    wait = isDone ? pause : Math.min(wait * 2, 15_000)
    await setTimeout(wait, undefined, { signal }).catch(() => {})
  }
}

if (import.meta.main) {
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())
  const seconds = Number(process.env.DESK_SECONDS ?? 30)
  try {
    const desk = openDesk()
    await Promise.all([
      draftReplies(desk, seconds * 1000, stop.signal),
      sendReplies(desk, Math.min(seconds, 2) * 1000, stop.signal),
    ])
  } catch (error) {
    if (!stop.signal.aborted) console.error(error)
    if (!stop.signal.aborted) process.exitCode = exitCodeOf(error)
  }
  // One loop has failed, so the other ends.
  stop.abort()
}
