import * as z from 'zod/mini'
import type { Me } from '../models/me.ts'
import { organizationShape } from './organization.ts'
import { nullish, schemaFor } from './schema.ts'
import { userShape } from './user.ts'

export const meSchema = schemaFor<Me>()(
  z.object({
    application: nullish(z.object({ id: z.string(), name: nullish(z.string()), client_id: nullish(z.string()) })),
    organization: nullish(organizationShape),
    actor: nullish(z.string()),
    scopes: nullish(z.array(z.string())),
    user: nullish(userShape),
  }),
)
