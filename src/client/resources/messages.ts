import type { Call, CallOptions, ListOptions, ListQuery, Paginated } from '../../core/index.ts'
import type { Actor } from '../../shared/actor.ts'
import type { CreateMessageBody, Message, UpdateMessageBody } from '../generated/models.ts'
import { messageOperations } from '../generated/operations.ts'
import { Resource, type SelfOnly } from './resource.ts'

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
