import type { Call, CallOptions, ListOptions, ListQuery, Paginated } from '../../core/index.ts'
import type { Actor } from '../../shared/actor.ts'
import type {
  AssignConversationBody,
  Conversation,
  ConversationAssignee,
  CreateConversationBody,
  UpdateConversationBody,
} from '../generated/models.ts'
import { conversationOperations } from '../generated/operations.ts'
import { Resource, type SelfOnly } from './resource.ts'

/** The conversations of the organization. */
export class Conversations<out A extends Actor = Actor> extends Resource<A> {
  /** Lists the conversations. Scope `conversations:read` ([specification](docs/service.md#conversations)). */
  list(query?: ListQuery, options?: ListOptions): Paginated<Conversation> {
    return this.call(conversationOperations.list, { query }, options)
  }

  /**
   * Gets a conversation. Scope `conversations:read`.
   *
   * @experimental Inferred: the path is a guess by analogy (see [what is known](docs/service.md#conversations)).
   */
  get(conversationId: string, options?: CallOptions): Call<Conversation> {
    return this.call(conversationOperations.get, { path: { conversation_id: conversationId } }, options)
  }

  /**
   * Starts a conversation with a customer. Scope `conversations:write`, `actor=self` only. Evidence:
   * [reference](docs/service.md#conversations).
   */
  create(this: SelfOnly<A, Conversations>, body: CreateConversationBody, options?: CallOptions): Call<Conversation>
  create(body: CreateConversationBody, options?: CallOptions): Call<Conversation> {
    return this.call(conversationOperations.create, { body }, options)
  }

  /**
   * Updates the status, spam flag or pin of a conversation. Scope `conversations:write`.
   *
   * @experimental Inferred: method, path and fields are guesses by analogy (see
   * [what is known](docs/service.md#conversations)).
   */
  update(conversationId: string, body: UpdateConversationBody, options?: CallOptions): Call<Conversation> {
    return this.call(conversationOperations.update, { path: { conversation_id: conversationId }, body }, options)
  }

  /**
   * Assigns a conversation to a team member. Scope `conversations:write`, `actor=self` only. Evidence:
   * [reference](docs/service.md#conversations).
   */
  assign(
    this: SelfOnly<A, Conversations>,
    conversationId: string,
    body: AssignConversationBody,
    options?: CallOptions,
  ): Call<ConversationAssignee>
  assign(conversationId: string, body: AssignConversationBody, options?: CallOptions): Call<ConversationAssignee> {
    return this.call(conversationOperations.assign, { path: { conversation_id: conversationId }, body }, options)
  }

  /**
   * Unassigns a conversation. Scope `conversations:write`.
   *
   * @experimental Inferred: method and path are guesses by analogy (see
   * [what is known](docs/service.md#conversations)).
   */
  unassign(conversationId: string, options?: CallOptions): Call<undefined> {
    return this.call(conversationOperations.unassign, { path: { conversation_id: conversationId } }, options)
  }
}
