import * as z from 'zod/mini'
import { documents, field } from './schema.ts'
import { type User, userShape } from './user.ts'

/** The role of a team member. Only `admin` is printed (reference, section 2); the list is open. */
export type Role = 'admin' | (string & {})

/** A team member: the membership of a user in the organization (reference, section 2). */
export interface Member {
  /** The membership's id. Not the id of the user. */
  id: string
  role?: Role | null
  archived?: boolean | null
  user?: User | null
}

/** The body of `members.invite` (reference, section 3.2). Further fields go out as they are given. */
export interface InviteMemberBody {
  /** The person's email address. */
  email: string
  /** Probable, not documented. */
  name?: string
  /** Probable, not documented. */
  role?: Role
  [field: string]: unknown
}

/** The body of `members.update`. Its fields are probable, not documented (reference, section 3.2). */
export interface UpdateMemberBody {
  role?: Role
  archived?: boolean
  [field: string]: unknown
}

export const memberSchema = documents<Member>()(
  z.looseObject({ id: z.string(), role: field(z.string()), archived: field(z.boolean()), user: field(userShape) }),
)

export const inviteMemberBodySchema = documents<InviteMemberBody>()(
  z.looseObject({
    email: z.string(),
    name: z.exactOptional(z.string()),
    role: z.exactOptional(z.string()),
  }),
)
export const updateMemberBodySchema = documents<UpdateMemberBody>()(
  z.looseObject({ role: z.exactOptional(z.string()), archived: z.exactOptional(z.boolean()) }),
)
