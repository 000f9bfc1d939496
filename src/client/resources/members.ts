import type { Call, CallOptions, ListOptions, ListQuery, Paginated } from '../../core/index.ts'
import type { Actor } from '../../shared/actor.ts'
import { lazyBodySchema, lazySchema } from '../lazy-schemas.ts'
import type { InviteMemberBody, Member, UpdateMemberBody } from '../models/member.ts'
import { type Operations, Resource, type SelfOnly } from './resource.ts'

export const memberOperations = {
  list: {
    id: 'members.list',
    method: 'GET',
    path: '/api/oauth/v1/users',
    scope: 'users:read',
    evidence: 'reference',
    envelope: 'list',
    response: lazySchema('member'),
  },
  get: {
    id: 'members.get',
    method: 'GET',
    path: '/api/oauth/v1/users/{id}',
    scope: 'users:read',
    evidence: 'reference',
    response: lazySchema('member'),
  },
  invite: {
    id: 'members.invite',
    method: 'POST',
    path: '/api/oauth/v1/users',
    scope: 'users:write',
    actor: 'self',
    evidence: 'reference',
    body: lazyBodySchema('inviteMemberBody'),
    response: lazySchema('member'),
  },
  update: {
    id: 'members.update',
    method: 'PATCH',
    path: '/api/oauth/v1/users/{id}',
    scope: 'users:write',
    actor: 'self',
    evidence: 'reference',
    body: lazyBodySchema('updateMemberBody'),
    response: lazySchema('member'),
  },
  remove: {
    id: 'members.remove',
    method: 'DELETE',
    path: '/api/oauth/v1/users/{id}',
    scope: 'users:write',
    evidence: 'inferred',
    envelope: 'none',
  },
} as const satisfies Operations

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
