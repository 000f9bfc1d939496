import * as z from 'zod/mini'
import { nullish, schemaFor } from './schema.ts'

/** A person: a customer, an author, a team member (reference, section 2). */
export interface User {
  /** The user's id. Not the id of a team member, which is that of a membership. */
  id: string
  /** The person's name. */
  name?: string | null
  /** The person's email address. */
  email?: string | null
  /** The person's name on Instagram. */
  instagram_handle?: string | null
  /** Where a picture of the person is. */
  profile_picture_url?: string | null
}

export const userShape = z.looseObject({
  id: z.string(),
  name: nullish(z.string()),
  email: nullish(z.string()),
  instagram_handle: nullish(z.string()),
  profile_picture_url: nullish(z.string()),
})

export const userSchema = schemaFor<User>()(userShape)
