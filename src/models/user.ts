import * as z from 'zod/mini'
import { nullish, schemaFor } from './schema.ts'

/** A person: a customer, an author or a team member ([reference](docs/service.md#people)). */
export interface User {
  /** The id of the user. A team member has the id of a membership instead. */
  id: string
  name?: string | null
  email?: string | null
  /** Instagram handle. */
  instagram_handle?: string | null
  /** URL of a picture of the person. */
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
