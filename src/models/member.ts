import * as z from 'zod/mini'
import { nullish, schemaFor } from './schema.ts'
import { type User, userShape } from './user.ts'

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

export const memberSchema = schemaFor<Member>()(
  z.looseObject({
    id: z.string(),
    role: nullish(z.string()),
    archived: nullish(z.boolean()),
    user: nullish(userShape),
  }),
)

export const inviteMemberBodySchema = schemaFor<InviteMemberBody>()(
  z.looseObject({
    email: z.string(),
    name: z.optional(z.string()),
    role: z.optional(z.string()),
  }),
)
export const updateMemberBodySchema = schemaFor<UpdateMemberBody>()(
  z.looseObject({ role: z.optional(z.string()), archived: z.optional(z.boolean()) }),
)
