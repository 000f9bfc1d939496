import * as z from 'zod/mini'
import type { InviteMemberBody, Member, UpdateMemberBody } from '../models/member.ts'
import { nullish, schemaFor } from './schema.ts'
import { userShape } from './user.ts'

export const memberSchema = schemaFor<Member>()(
  z.object({
    id: z.string(),
    role: nullish(z.string()),
    archived: nullish(z.boolean()),
    user: nullish(userShape),
  }),
)

export const inviteMemberBodySchema = schemaFor<InviteMemberBody>()(
  z.object({
    email: z.string(),
    name: z.optional(z.string()),
    role: z.optional(z.string()),
  }),
)
export const updateMemberBodySchema = schemaFor<UpdateMemberBody>()(
  z.object({ role: z.optional(z.string()), archived: z.optional(z.boolean()) }),
)
