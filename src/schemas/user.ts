import * as z from 'zod/mini'
import type { User } from '../models/user.ts'
import { nullish, schemaFor } from './schema.ts'

export const userShape = z.object({
  id: z.string(),
  name: nullish(z.string()),
  email: nullish(z.string()),
  instagram_handle: nullish(z.string()),
  profile_picture_url: nullish(z.string()),
})

export const userSchema = schemaFor<User>()(userShape)
