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

// A name that is not a field of the service does not compile: answers have no index signature.
// @ts-expect-error: the field is `inserted_at`
conversation.insertedAt

// Every field but an id may be null or absent.
const { id, status } = conversation

// Enums are open, and still suggest what is known.
const role: Role = 'a role of tomorrow'

// Bodies take what this package does not know, and `undefined` for what is left out.
self.contacts.create({ email: 'a@b.c', name: undefined, brand_new: { any: 'thing' } })
self.members.invite({ email: 'a@b.c', role })
// @ts-expect-error: `email` is required
self.contacts.create({ name: 'Ada' })
// @ts-expect-error: `blocked` is a boolean
self.contacts.update('k', { blocked: 'yes' })
// @ts-expect-error: an id is text
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
