// How to find the effect of each built-in write. All of it is in this file, so a bundler can leave the table out of an
// app that has no journal.

import type { SupportWorkspace, User, WriteOperationId } from '../client/index.ts'
import type { Paginated } from '../core/index.ts'
import { redact } from '../errors/redact.ts'
import { type JsonObject, sortedJson } from '../shared/json.ts'
import { secondsOf } from '../shared/time.ts'
import { pagesOf } from './pages.ts'

/** An unconfirmed write, as `find` receives it. */
export interface SentWrite {
  /** The id of the operation, for example `messages.create`. */
  readonly operation: string
  /** The values of the parameters in the path, by name, for example `{ conversation_id: 'conv_1' }`. */
  readonly path: Readonly<Record<string, string>>
  /** The request body, parsed. `{}` if the request has none. */
  readonly body: Readonly<Record<string, unknown>>
  /**
   * Ignore items older than this time (seconds since the Unix epoch, service clock): five minutes before the write was
   * sent.
   */
  readonly since: number
  /** The id of the user whose token sent the write. Undefined if `/me` returns no user. */
  readonly author: string | undefined
}

/**
 * Reads the service to find out whether a write was applied. Returns the items that the write created or changed:
 * usually one, or an empty array if the write was not applied. Returns undefined if the service does not show enough to
 * tell. The journal stops waiting after the `totalTimeout` of the call.
 *
 * @param client reads fresh data
 * @param write the write as this call would send it
 */
export type FindEffect = (
  client: SupportWorkspace,
  write: SentWrite,
) => Promise<readonly { readonly id?: string | undefined }[] | undefined>

interface Effect {
  readonly find: FindEffect
  /**
   * Returns the text that two writes at one path share if their effects look the same. Absent for changes and removals,
   * because it does not matter which of two equal writes caused them.
   */
  readonly mark?: (body: JsonObject) => Promise<string>
}

/**
 * Returns how to find the effect of an operation. Undefined if no known field would show the effect. The table is
 * inside a function, so that bundlers can leave it out.
 *
 * @param answers the id of the message that a new message answers
 */
export function effectOf(operation: WriteOperationId, answers?: string): Effect | undefined {
  const effects: Readonly<Record<WriteOperationId, Effect | undefined>> = {
    'contacts.create': created('contacts', { email: 'email', isUnique: true }),
    'contacts.update': readBack(itemOf('contacts')),
    'conversations.create': created('conversations', { email: 'customer_email', text: 'initial_message' }),
    'conversations.update': readBack(({ conversations }, { conversation_id }) => conversations.get(conversation_id)),
    'conversations.assign': { find: findAssignment },
    'conversations.unassign': { find: findAssignment },
    'members.invite': created('members', { email: 'email', isUnique: true, hasNoTime: true }),
    'members.update': readBack(({ members }, { id }) => members.get(id)),
    'members.remove': gone('members'),
    'messages.create': created('messages', { text: 'body_html', hasAuthor: true, answers }),
    'messages.update': readBack(itemOf('messages')),
    'messages.delete': gone('messages'),
    'notes.create': created('notes', { text: 'body_html', hasAuthor: true }),
    'organization.update': readBack(({ organization }) => organization.get()),
    'organization.updateSettings': readBack(({ organization }) => organization.getSettings()),
    'segments.create': undefined,
    'segments.update': readBack(({ segments }, { id }) => segments.get(id)),
    'segments.delete': gone('segments'),
    'tasks.create': undefined,
    'tasks.update': readBack(({ tasks }, { id }) => tasks.get(id)),
    'tasks.delete': gone('tasks'),
  }
  return effects[operation]
}

type ListName = 'contacts' | 'conversations' | 'members' | 'messages' | 'notes' | 'segments' | 'tasks'
type Item = { readonly id: string; readonly user?: User | null; readonly inserted_at?: number | null }
/** The parameters of all paths. A path has those that its operation needs. */
type Path = Readonly<Record<'id' | 'conversation_id', string>>

/** How to recognize a created item in a list. */
interface Traits {
  /** The body field with the email address of the item's user. */
  readonly email?: string
  /** The field with the item's HTML, which has the same name in the body and in the list. */
  readonly text?: string
  /** Whether the item's user is the author of the write. */
  readonly hasAuthor?: boolean
  /** Whether items of this list have no `inserted_at`. */
  readonly hasNoTime?: boolean
  /** Whether an email address belongs to one item, so that the search can end at the first match. */
  readonly isUnique?: boolean
  /** The id of an item of the list that must be older. */
  readonly answers?: string | undefined
}

function created(list: ListName, { email, text, hasAuthor, hasNoTime, isUnique, answers }: Traits): Effect {
  return {
    async mark(body) {
      const words = text && (await loadPlainText())(String(body[text]))
      return `${email && lower(body[email])} ${words}`
    },
    async find(workspace, { path, body, since, author }) {
      const isSameText = comparingText(await loadPlainText())
      const question =
        answers === undefined ? undefined : (await withId(workspace, list, { ...path, id: answers }))?.[0]
      const askedAt = question?.inserted_at
      if (answers !== undefined && typeof askedAt !== 'number') return undefined
      const judge = (item: Item) =>
        every(
          !email || (item.user?.email === undefined ? undefined : lower(item.user.email) === lower(body[email])),
          !text || isSameText(Reflect.get(item, text), body[text]),
          !hasAuthor || isSame(item.user?.id, author),
          hasNoTime || isSince(item.inserted_at, since),
          typeof askedAt !== 'number' || isNewer(item.inserted_at, askedAt),
        )
      return search(workspace, list, path, judge, isUnique)
    },
  }
}

/** Finds a change by reading its fields back. A field that the item lacks leaves the write unconfirmed. */
function readBack(get: (workspace: SupportWorkspace, path: Path) => PromiseLike<object | undefined>): Effect {
  return {
    async find(workspace, { path, body }) {
      const isSameText = comparingText(await loadPlainText())
      const item: JsonObject = { ...(await get(workspace, path as Path)) }
      const verdicts = Object.entries(body).map(([name, expected]) =>
        name === 'body_html' ? isSameText(item[name], expected) : isSame(item[name], expected),
      )
      return effectIf(every(...verdicts), { id: idOf(item) })
    },
  }
}

/**
 * Finds a removal by reading the whole list, because a 404 for a single item can also come from the service's router.
 */
function gone(list: ListName): Effect {
  return {
    async find(workspace, { path }) {
      const items = await withId(workspace, list, path)
      return items && effectIf(items.length === 0)
    },
  }
}

/** Finds an assignment to a member, or a removed assignment. */
const findAssignment: FindEffect = async ({ conversations, members }, { path, body: { user_id } }) => {
  const { conversation_assignee: assignee } = await conversations.get((path as Path).conversation_id)
  if (assignee === undefined) return undefined
  if (assignee === null || user_id === undefined) return effectIf((assignee === null) === (user_id === undefined))
  // If the write has the id of a membership, the service can return the id of its user.
  const isIt = assignee.user_id === user_id || isSame(assignee.user_id, (await members.get(String(user_id))).user?.id)
  return effectIf(isIt, assignee)
}

/** Whether a field is as expected. Undefined if the field is missing. */
type Verdict = boolean | undefined

/** Returns false if a field is wrong; otherwise undefined if a field is missing; otherwise true. */
function every(...verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes(false)) return false
  return verdicts.includes(undefined) ? undefined : true
}

function isSame(value: unknown, expected: unknown): Verdict {
  if ((value ?? undefined) === undefined || expected === undefined) return undefined
  return sortedJson(value) === sortedJson(expected)
}

function effectIf(verdict: Verdict, effect: { readonly id?: string | undefined } = {}) {
  if (verdict === undefined) return undefined
  return verdict ? [effect] : []
}

/**
 * Returns a function that compares the text of two pieces of HTML, because the service changes markup. It returns
 * undefined for HTML without text, such as a single image.
 */
function comparingText(plainText: (html: string) => string) {
  return (html: unknown, expected: unknown): Verdict => {
    const text = plainText(String(expected))
    return typeof html !== 'string' || text === '' ? undefined : plainText(html) === text
  }
}

/**
 * Loads the function that returns what a person reads of HTML, without any whitespace: services change tags,
 * attributes, entities and spaces of the HTML that they store. The names of all entities are large, so they are loaded
 * when a text is first compared.
 */
async function loadPlainText(): Promise<(html: string) => string> {
  const { htmlToText } = await import('../html/index.ts')
  return (html) => {
    const { text, quoted } = htmlToText(html)
    return `${text}${quoted}`.normalize().replace(/[\s\u200b\ufeff]+/g, '')
  }
}

function isSince(time: unknown, since: number): Verdict {
  const seconds = secondsOf(time)
  return seconds === undefined ? undefined : seconds >= since
}

/** Times are in whole seconds, so two items of the same second can be in either order. */
function isNewer(time: unknown, other: number): Verdict {
  return typeof time !== 'number' || time === other ? undefined : time > other
}

function lower(text: unknown): string {
  return String(text).toLowerCase()
}

/** The most pages that one search reads. If the list is longer, the write stays unconfirmed. */
const mostPages = 20

/**
 * Returns the items that `judge` recognizes. Undefined if `judge` cannot tell for one of the items, or the list has too
 * many pages.
 *
 * @param isUnique whether at most one item matches, so that the search ends there
 */
async function search(
  workspace: SupportWorkspace,
  list: ListName,
  path: SentWrite['path'],
  judge: (item: Item) => Verdict,
  isUnique = false,
): Promise<readonly Item[] | undefined> {
  const { conversation_id } = path as Path
  const options = { prefetch: false }
  const read = (query: { readonly limit?: number }): Paginated<Item> =>
    list === 'messages' || list === 'notes'
      ? workspace[list].list(conversation_id, query, options)
      : workspace[list].list(query, options)
  const found: Item[] = []
  let isClear = true
  let count = 0
  for await (const page of pagesOf(read)) {
    count += 1
    if (count > mostPages) return undefined
    for (const item of page) {
      const verdict = judge(item)
      if (verdict && isUnique) return [item]
      if (verdict) found.push(item)
      isClear &&= verdict !== undefined
    }
  }
  return isClear ? found : undefined
}

function withId(workspace: SupportWorkspace, list: ListName, path: SentWrite['path']) {
  return search(workspace, list, path, ({ id }) => id === path.id, true)
}

function itemOf(list: ListName) {
  return async (workspace: SupportWorkspace, path: Path) => (await withId(workspace, list, path))?.[0]
}

/** The most characters of an id. The journal does not store longer texts. */
const longestId = 200

/** Returns the `id` of a response's data or of an effect. Undefined if it is missing, too long, or contains a token. */
export function idOf(data: unknown): string | undefined {
  const { id } = Object(data) as { id?: unknown }
  return typeof id === 'string' && id.length <= longestId && redact(id) === id ? id : undefined
}
