import type { Contact, Conversation, Message } from '../client/index.ts'

/** A list that a feed can watch. */
export type WatchedList = 'conversations' | 'messages' | 'contacts'

/** Properties that every change has. */
export interface ChangeOf<List extends WatchedList> {
  /** The list of the item. */
  readonly resource: List
  /** The id of the item. */
  readonly id: string
  /**
   * Names one delivery of one state. The key stays the same if the change comes again after a crash. An item that
   * returns to an earlier state has another key, so the key of a reply to a message must be the id of the message.
   */
  readonly key: string
}

/** The state of an item that is new or has changed. */
export interface Present<Item> {
  /** Whether the feed has seen the item for the first time, or in another state. */
  readonly kind: 'created' | 'updated'
  /** The item as the service sent it when the feed noticed the change. */
  readonly value: Item
}

/** An item that is gone. */
export interface Deleted {
  /** The item is gone. */
  readonly kind: 'deleted'
}

/** The conversation that a change belongs to. */
export interface InConversation {
  /** The id of the conversation. For a change of a conversation, the same as `id`. */
  readonly conversationId: string
}

/** Who wrote a message. */
export interface Written {
  /**
   * Who wrote the message, by the ids of the users:
   *
   * - `customer`: the `user` of the conversation. We inferred that this is the customer.
   * - `you`: the person of the token, with `actor=self`.
   * - `other`: somebody else, for example a team member.
   * - `unknown`: the service has not sent the user of the message, of the conversation or, with `actor=self`, of the token.
   */
  readonly author: 'customer' | 'you' | 'other' | 'unknown'
  /** Whether an AI wrote the message: its field `is_ai_message`. */
  readonly isAutomatic: boolean
}

/** A change of a conversation. */
export type ConversationChange = ChangeOf<'conversations'> & InConversation & (Present<Conversation> | Deleted)
/** A change of a message. A deleted message has no author. */
export type MessageChange = ChangeOf<'messages'> & InConversation & ((Present<Message> & Written) | Deleted)
/** A change of a contact. */
export type ContactChange = ChangeOf<'contacts'> & (Present<Contact> | Deleted)

/** A change that a feed reports: a union by `resource` and `kind`. */
export type Change = ConversationChange | MessageChange | ContactChange
