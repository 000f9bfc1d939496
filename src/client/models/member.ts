import type { User } from './user.ts'

/** The role of a team member. `admin` is the only documented value ([reference](docs/service.md#team-members)). */
export type Role = 'admin' | (string & {})

/** A team member: the membership of a user in the organization ([reference](docs/service.md#team-members)). */
export interface Member {
  /** The id of the membership, not of the user. */
  id: string
  role?: Role | null
  archived?: boolean | null
  /** The person, with name and email address. */
  user?: User | null
}

/**
 * The body of `members.invite` ([reference](docs/service.md#team-members)). Pass undocumented fields in `extraBody`.
 */
export interface InviteMemberBody {
  email: string
  /** Probable, not documented. */
  name?: string | undefined
  /** Probable, not documented. */
  role?: Role | undefined
}

/**
 * The body of `members.update`. Its fields are probable, not documented ([reference](docs/service.md#team-members)).
 */
export interface UpdateMemberBody {
  role?: Role | undefined
  archived?: boolean | undefined
}
