import type { User } from './user.ts'

/** The role of a team member. `admin` is the only documented value ([reference](docs/service.md#team-members)). */
export type Role = 'admin' | (string & {})

/** A team member: the membership of a user in the organization ([reference](docs/service.md#team-members)). */
export interface Member {
  /** The id of the membership, not of the user. */
  id: string
  /** The role (inferred). `admin` is the only documented value. */
  role?: Role | null
  /** Whether the membership is archived (inferred). */
  archived?: boolean | null
  /** The person, with name and email address (inferred). */
  user?: User | null
}

/**
 * The body of `members.invite` ([reference](docs/service.md#team-members)). Pass undocumented fields in `extraBody`.
 */
export interface InviteMemberBody {
  /** Email address of the person (inferred). */
  email: string
  /** Full name. The field is inferred. */
  name?: string | undefined
  /** The role. `admin` is the only documented value. The field is inferred. */
  role?: Role | undefined
}

/** The body of `members.update`. Its fields are inferred ([reference](docs/service.md#team-members)). */
export interface UpdateMemberBody {
  /** The role. `admin` is the only documented value. The field is inferred. */
  role?: Role | undefined
  /** Whether the membership is archived. The field is inferred. */
  archived?: boolean | undefined
}
