import * as z from 'zod/mini'
import { nullish, schemaFor } from './schema.ts'
import { type User, userShape } from './user.ts'

/** The role of a team member. Only `admin` is printed (reference, section 2); the list is open. */
export type Role = 'admin' | (string & {})

/** A team member: the membership of a user in the organization (reference, section 2). */
export interface Member {
  /** The membership's id. Not the id of the user. */
  id: string
  /** What the team member may do. */
  role?: Role | null
  /** Whether the membership is archived. */
  archived?: boolean | null
  /** The person. Name and email live here. */
  user?: User | null
}

/** The body of `members.invite` (reference, section 3.2). Put undocumented fields into `extraBody`. */
export interface InviteMemberBody {
  /** The person's email address. */
  email: string
  /** The person's name. Probable, not documented. */
  name?: string | undefined
  /** What the person may do. Probable, not documented. */
  role?: Role | undefined
}

/** The body of `members.update`. Its fields are probable, not documented (reference, section 3.2). */
export interface UpdateMemberBody {
  /** What the team member may do. */
  role?: Role | undefined
  /** Whether the membership is archived. */
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
