import {
  type Contact,
  type Conversation,
  type InviteMemberBody,
  type Member,
  type Role,
  type StandardSchemaV1,
  type SupportWorkspace,
  type schemas,
  toDate,
  type UpdateConversationBody,
} from 'support-workspace-sdk'
import type { Equal, Expect } from './assert.ts'

declare const self: SupportWorkspace<'self'>
declare const conversation: Conversation

// Unknown field names do not compile, because models have no index signature.
// @ts-expect-error: the field is `inserted_at`
conversation.insertedAt

// Every field except an id can be null or absent.
const { id, status } = conversation

// Enums accept unknown values, and editors suggest the known ones.
const role: Role = 'a future role'

// Bodies accept `undefined` for omitted fields, and `extraBody` for undocumented ones.
self.contacts.create({ email: 'a@b.c', name: undefined }, { extraBody: { brand_new: { any: 'thing' } } })
// @ts-expect-error: the contact has no such field
self.contacts.create({ email: 'a@b.c', nmae: 'Ada' })
// @ts-expect-error: the field is `status`
self.conversations.update('c', { statsu: 'open' })
// @ts-expect-error: the parameter is `limit`
self.conversations.list({ limt: 5 })
// @ts-expect-error: `maxItems` is an option, the second argument
self.conversations.list({ limit: 5, maxItems: 10 })
self.conversations.list({ limit: 5, after: null }, { maxItems: 10, extraQuery: { status: ['open', 'closed'] } })
// @ts-expect-error: an object cannot be a query parameter
self.conversations.list({}, { extraQuery: { filter: { status: 'open' } } })

// Bodies and queries accept interfaces that the caller declares.
interface MyContact {
  email: string
  name?: string
}
interface MyChange {
  status: string
}
interface MyTask {
  title: string
  due?: Date
}
interface MyPage {
  limit: number
}
declare const mine: { contact: MyContact; change: MyChange; task: MyTask; page: MyPage }
self.contacts.create(mine.contact)
self.conversations.update('c', mine.change)
self.tasks.create(mine.task)
self.tasks.update('t', mine.task)
self.segments.create(mine.task)
self.segments.update('s', mine.task)
self.conversations.list(mine.page)
self.request('POST', '/api/oauth/v1/tags', { query: mine.page, body: mine.task })
// @ts-expect-error: the fields of a task are unknown, but they are fields
self.tasks.create('a title')
self.members.invite({ email: 'a@b.c', role })
// @ts-expect-error: `email` is required
self.contacts.create({ name: 'Ada' })
// @ts-expect-error: `blocked` is a boolean
self.contacts.update('k', { blocked: 'yes' })
// @ts-expect-error: an id is a string
self.contacts.get(1)

const maybe: string | undefined = undefined
const body: UpdateConversationBody = { status: maybe }
self.conversations.update('c', body)

export type ModelTests = [
  Expect<Equal<typeof id, string>>,
  Expect<Equal<typeof status, string | null | undefined>>,
  Expect<Equal<Member['role'], 'admin' | (string & {}) | null | undefined>>,
  Expect<Equal<InviteMemberBody['name'], string | undefined>>,
  Expect<Equal<StandardSchemaV1.InferOutput<typeof schemas.contact>, Contact>>,
]

const always: Date = toDate(1)
const perhaps: Date | undefined = toDate(conversation.inserted_at)
export const dates = [always, perhaps]
