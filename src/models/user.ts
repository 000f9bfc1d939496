import * as z from 'zod/mini'
import { documents, field } from './schema.ts'

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
  name: field(z.string()),
  email: field(z.string()),
  instagram_handle: field(z.string()),
  profile_picture_url: field(z.string()),
})

export const userSchema = documents<User>()(userShape)
