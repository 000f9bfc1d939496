import type { Call, CallOptions, ListOptions, ListQuery, Paginated } from '../../core/index.ts'
import type { Actor } from '../../shared/actor.ts'
import type { CreateNoteBody, Message } from '../generated/models.ts'
import { noteOperations } from '../generated/operations.ts'
import { Resource, type SelfOnly } from './resource.ts'

/** The internal notes of a conversation. A note has the shape of a message. */
export class Notes<out A extends Actor = Actor> extends Resource<A> {
  /**
   * Lists the notes of a conversation. Scope `notes:read`.
   *
   * @experimental Inferred: the path is a guess by analogy (see [what is known](docs/service.md#notes)).
   */
  list(conversationId: string, query?: ListQuery, options?: ListOptions): Paginated<Message> {
    return this.call(noteOperations.list, { path: { conversation_id: conversationId }, query }, options)
  }

  /** Adds a note. Scope `notes:write`, `actor=self` only. Evidence: [reference](docs/service.md#notes). */
  create(this: SelfOnly<A, Notes>, conversationId: string, body: CreateNoteBody, options?: CallOptions): Call<Message>
  create(conversationId: string, body: CreateNoteBody, options?: CallOptions): Call<Message> {
    return this.call(noteOperations.create, { path: { conversation_id: conversationId }, body }, options)
  }
}
