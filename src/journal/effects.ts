// How to find the effect of each write. All of it is in one table, which only bundles with the journal contain.

import type { SupportWorkspace, User, WriteOperationId } from '../client/index.ts'
import { inner } from '../core/index.ts'
import { redact } from '../shared/errors/redact.ts'
import { type JsonObject, sortedJson } from '../shared/json.ts'
import { plainText } from '../shared/plain-text.ts'

/** An unconfirmed write, whose effect a `FindEffect` function looks for. */
export interface SentWrite {
  /** The id of the operation. */
  readonly operation: string
  /** The values of the parameters in the path, by name. */
  readonly path: Readonly<Record<string, string>>
  /** The body. Empty if there was none. */
  readonly body: Readonly<Record<string, unknown>>
  /**
   * Ignore items that are older than this time, in seconds since the Unix epoch on the service's clock. It is five
   * minutes before the write was sent.
   */
  readonly since: number
  /** The id of the user of the token that it was sent with, if the service tells it. */
  readonly author: string | undefined
}

/**
 * Looks for the effect of a write. Returns the items that the write might have created or changed, usually an empty
 * array or one item. Returns undefined if the data of the service cannot confirm the write. The search ends after the
 * `totalTimeout` of the call.
 */
export type FindEffect = (
  workspace: SupportWorkspace,
  write: SentWrite,
) => Promise<readonly { readonly id?: string | undefined }[] | undefined>

interface Effect {
  readonly find: FindEffect
  /**
   * Returns what the effects of two writes at one path have in common if they look the same. Absent if that does not
   * matter.
   */
  readonly mark?: (body: JsonObject) => string
}

/** A function, so that bundlers leave it out. Undefined where no field is known that would show the effect. */
export function effectOf(operation: WriteOperationId): Effect | undefined {
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
    'messages.create': created('messages', { text: 'body_html', hasAuthor: true }),
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
  const effect = effects[operation]
  return effect && { ...effect, find: (...args) => inner(effect.find(...args)) }
}

type ListName = 'contacts' | 'conversations' | 'members' | 'messages' | 'notes' | 'segments' | 'tasks'
type Item = { readonly id: string; readonly user?: User | null; readonly inserted_at?: number | null }
/** Each operation has those that it needs. */
type Path = Readonly<Record<'id' | 'conversation_id', string>>

/** How something shows that was created: the names of fields, mostly the same in the body and in the list. */
interface Traits {
  readonly email?: string
  readonly text?: string
  readonly hasAuthor?: boolean
  readonly hasNoTime?: boolean
  /** Whether an address belongs to one person, so that the look ends there. */
  readonly isUnique?: boolean
}

function created(list: ListName, { email, text, hasAuthor, hasNoTime, isUnique }: Traits): Effect {
  return {
    mark: (body) => `${email && lower(body[email])} ${text && plainText(String(body[text]))}`,
    find(workspace, { path, body, since, author }) {
      const judge = (item: Item) =>
        every(
          !email || (item.user?.email === undefined ? undefined : lower(item.user.email) === lower(body[email])),
          !text || isSameText(Reflect.get(item, text), body[text]),
          !hasAuthor || isSame(item.user?.id, author),
          hasNoTime || (typeof item.inserted_at === 'number' ? item.inserted_at >= since : undefined),
        )
      return search(workspace, list, path, judge, isUnique)
    },
  }
}

/** An update, which the fields of the object show. The result is open if the object lacks these fields. */
function readBack(get: (workspace: SupportWorkspace, path: Path) => PromiseLike<object | undefined>): Effect {
  return {
    async find(workspace, { path, body }) {
      const item: JsonObject = { ...(await get(workspace, path as Path)) }
      const verdicts = Object.entries(body).map(([name, expected]) =>
        name === 'body_html' ? isSameText(item[name], expected) : isSame(item[name], expected),
      )
      return effectIf(every(...verdicts), { id: idOf(item) })
    },
  }
}

/** A removal. A 404 of a single item can come from the service's router, so only a list tells that it is gone. */
function gone(list: ListName): Effect {
  return {
    async find(workspace, { path }) {
      const items = await withId(workspace, list, path)
      return items && effectIf(items.length === 0)
    },
  }
}

/** An assignment to a member, or the end of an assignment. */
const findAssignment: FindEffect = async ({ conversations, members }, { path, body: { user_id } }) => {
  const { conversation_assignee: assignee } = await conversations.get((path as Path).conversation_id)
  if (assignee === undefined) return undefined
  if (assignee === null || user_id === undefined) return effectIf((assignee === null) === (user_id === undefined))
  // A membership id can come back as the id of the user.
  const isIt = assignee.user_id === user_id || isSame(assignee.user_id, (await members.get(String(user_id))).user?.id)
  return effectIf(isIt, assignee)
}

/** Whether a field has the expected value. Undefined if the field is missing, because that leaves it open. */
type Verdict = boolean | undefined

/** False if a field is wrong. Otherwise undefined if a field is missing, and else true. */
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
 * Compares the text, because the service returns changed HTML. The result is open for HTML without text, such as a
 * picture.
 */
function isSameText(html: unknown, expected: unknown): Verdict {
  const text = plainText(String(expected))
  return typeof html !== 'string' || text === '' ? undefined : plainText(html) === text
}

function lower(text: unknown): string {
  return String(text).toLowerCase()
}

/** A search that would read more pages than this leaves the write unconfirmed. */
const mostPages = 20

/**
 * Returns the items that are as expected; undefined if another one might be, or if there are too many pages.
 *
 * @param isUnique whether the first that is as expected is the only one
 */
async function search(
  workspace: SupportWorkspace,
  list: ListName,
  path: SentWrite['path'],
  judge: (item: Item) => Verdict,
  isUnique = false,
): Promise<readonly Item[] | undefined> {
  const pages = [{ limit: 100 }, { prefetch: false }] as const
  const isNested = list === 'messages' || list === 'notes'
  const { conversation_id } = path as Path
  const items = isNested ? workspace[list].list(conversation_id, ...pages) : workspace[list].list(...pages)
  const found: Item[] = []
  let isClear = true
  let count = 0
  for await (const { data } of items.pages()) {
    count += 1
    if (count > mostPages) return undefined
    for (const item of data) {
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

/** Longer texts are no ids. */
const longestId = 200

/** Returns the id in a response or an effect, if the id can be stored. Tokens and long texts are left out. */
export function idOf(data: unknown): string | undefined {
  const { id } = Object(data) as { id?: unknown }
  return typeof id === 'string' && id.length <= longestId && redact(id) === id ? id : undefined
}
