import type { Call, CallOptions, ListOptions, ListQuery, Paginated } from '../../core/index.ts'
import type { Actor } from '../../shared/actor.ts'
import { lazyBodySchema, lazySchema } from '../lazy-schemas.ts'
import type {
  AssignConversationBody,
  Conversation,
  ConversationAssignee,
  CreateConversationBody,
  UpdateConversationBody,
} from '../models/conversation.ts'
import { type Operations, Resource, type SelfOnly } from './resource.ts'

export const conversationOperations = {
  list: {
    id: 'conversations.list',
    method: 'GET',
    path: '/api/oauth/v1/conversations',
    scope: 'conversations:read',
    evidence: 'specification',
    envelope: 'list',
    response: lazySchema('conversation'),
  },
  get: {
    id: 'conversations.get',
    method: 'GET',
    path: '/api/oauth/v1/conversations/{conversation_id}',
    scope: 'conversations:read',
    evidence: 'inferred',
    response: lazySchema('conversation'),
  },
  create: {
    id: 'conversations.create',
    method: 'POST',
    path: '/api/oauth/v1/conversations',
    scope: 'conversations:write',
    actor: 'self',
    evidence: 'reference',
    body: lazyBodySchema('createConversationBody'),
    response: lazySchema('conversation'),
  },
  update: {
    id: 'conversations.update',
    method: 'PATCH',
    path: '/api/oauth/v1/conversations/{conversation_id}',
    scope: 'conversations:write',
    evidence: 'inferred',
    body: lazyBodySchema('updateConversationBody'),
    response: lazySchema('conversation'),
  },
  assign: {
    id: 'conversations.assign',
    method: 'POST',
    path: '/api/oauth/v1/conversations/{conversation_id}/assignee',
    scope: 'conversations:write',
    actor: 'self',
    evidence: 'reference',
    body: lazyBodySchema('assignConversationBody'),
    response: lazySchema('conversationAssignee'),
  },
  unassign: {
    id: 'conversations.unassign',
    method: 'DELETE',
    path: '/api/oauth/v1/conversations/{conversation_id}/assignee',
    scope: 'conversations:write',
    evidence: 'inferred',
    envelope: 'none',
  },
} as const satisfies Operations

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
