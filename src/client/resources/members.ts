import type { Call, CallOptions, ListOptions, ListQuery, Paginated } from '../../core/index.ts'
import type { Actor } from '../../shared/actor.ts'
import type { InviteMemberBody, Member, UpdateMemberBody } from '../generated/models.ts'
import { memberOperations } from '../generated/operations.ts'
import { Resource, type SelfOnly } from './resource.ts'

/** The team members of the organization. They are identified by membership id, not user id. */
export class Members<out A extends Actor = Actor> extends Resource<A> {
  /** Lists the team members. Scope `users:read`. Evidence: [reference](docs/service.md#team-members). */
  list(query?: ListQuery, options?: ListOptions): Paginated<Member> {
    return this.call(memberOperations.list, { query }, options)
  }

  /** Gets a team member. Scope `users:read`. Evidence: [reference](docs/service.md#team-members). */
  get(id: string, options?: CallOptions): Call<Member> {
    return this.call(memberOperations.get, { path: { id } }, options)
  }

  /**
   * Invites a person. Scope `users:write`, `actor=self` only, and the user must be an admin. Evidence:
   * [reference](docs/service.md#team-members).
   */
  invite(this: SelfOnly<A, Members>, body: InviteMemberBody, options?: CallOptions): Call<Member>
  invite(body: InviteMemberBody, options?: CallOptions): Call<Member> {
    return this.call(memberOperations.invite, { body }, options)
  }

  /**
   * Updates a team member. Scope `users:write`, `actor=self` only. Evidence: [reference](docs/service.md#team-members).
   */
  update(this: SelfOnly<A, Members>, id: string, body: UpdateMemberBody, options?: CallOptions): Call<Member>
  update(id: string, body: UpdateMemberBody, options?: CallOptions): Call<Member> {
    return this.call(memberOperations.update, { path: { id }, body }, options)
  }

  /**
   * Removes a team member. Scope `users:write`.
   *
   * @experimental Inferred: method and path are guesses by analogy (see [what is known](docs/service.md#team-members)).
   */
  remove(id: string, options?: CallOptions): Call<undefined> {
    return this.call(memberOperations.remove, { path: { id } }, options)
  }
}
