import type { Call, CallOptions, ListOptions, ListQuery, Paginated } from '../../core/index.ts'
import type { Actor } from '../../shared/actor.ts'
import { lazyBodySchema, lazySchema } from '../lazy-schemas.ts'
import type { CreateMessageBody, Message, UpdateMessageBody } from '../models/message.ts'
import { type Operations, Resource, type SelfOnly } from './resource.ts'

export const messageOperations = {
  list: {
    id: 'messages.list',
    method: 'GET',
    path: '/api/oauth/v1/conversations/{conversation_id}/messages',
    scope: 'messages:read',
    evidence: 'reference',
    envelope: 'list',
    response: lazySchema('message'),
  },
  create: {
    id: 'messages.create',
    method: 'POST',
    path: '/api/oauth/v1/conversations/{conversation_id}/messages',
    scope: 'messages:write',
    actor: 'self',
    evidence: 'reference',
    body: lazyBodySchema('createMessageBody'),
    response: lazySchema('message'),
  },
  update: {
    id: 'messages.update',
    method: 'PATCH',
    path: '/api/oauth/v1/conversations/{conversation_id}/messages/{id}',
    scope: 'messages:write',
    evidence: 'reference',
    body: lazyBodySchema('updateMessageBody'),
    response: lazySchema('message'),
  },
  delete: {
    id: 'messages.delete',
    method: 'DELETE',
    path: '/api/oauth/v1/conversations/{conversation_id}/messages/{id}',
    scope: 'messages:write',
    actor: 'self',
    evidence: 'reference',
    envelope: 'none',
  },
} as const satisfies Operations

/** The messages of a conversation. */
export class Messages<out A extends Actor = Actor> extends Resource<A> {
  /** Lists the messages of a conversation. Scope `messages:read`. Evidence: [reference](docs/service.md#messages). */
  list(conversationId: string, query?: ListQuery, options?: ListOptions): Paginated<Message> {
    return this.call(messageOperations.list, { path: { conversation_id: conversationId }, query }, options)
  }

  /** Sends a message. Scope `messages:write`, `actor=self` only. Evidence: [reference](docs/service.md#messages). */
  create(
    this: SelfOnly<A, Messages>,
    conversationId: string,
    body: CreateMessageBody,
    options?: CallOptions,
  ): Call<Message>
  create(conversationId: string, body: CreateMessageBody, options?: CallOptions): Call<Message> {
    return this.call(messageOperations.create, { path: { conversation_id: conversationId }, body }, options)
  }

  /** Updates your own message. Scope `messages:write`. Evidence: [reference](docs/service.md#messages). */
  update(conversationId: string, id: string, body: UpdateMessageBody, options?: CallOptions): Call<Message> {
    return this.call(messageOperations.update, { path: { conversation_id: conversationId, id }, body }, options)
  }

  /**
   * Deletes your own message. Scope `messages:write`, `actor=self` only. Evidence:
   * [reference](docs/service.md#messages).
   */
  delete(this: SelfOnly<A, Messages>, conversationId: string, id: string, options?: CallOptions): Call<undefined>
  delete(conversationId: string, id: string, options?: CallOptions): Call<undefined> {
    return this.call(messageOperations.delete, { path: { conversation_id: conversationId, id } }, options)
  }
}
