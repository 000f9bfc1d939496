import * as z from 'zod/mini'
import type { Actor } from '../actor.ts'
import { type Organization, organizationShape } from './organization.ts'
import { nullish, schemaFor } from './schema.ts'
import { type User, userShape } from './user.ts'

/** What the service says of the calling token (reference, section 2). */
export interface Me {
  /** The app that the token was given to. */
  application?: Application | null
  /** The organization that the token is bound to. */
  organization?: Organization | null
  /** The actor mode of the token. */
  actor?: Actor | (string & {}) | null
  /** The scopes of the token. */
  scopes?: string[] | null
  /** The user of an `actor=self` token; presumably null or absent for `app` (inferred). */
  user?: User | null
}

/** An OAuth app (reference, section 2). */
export interface Application {
  /** The app's id. */
  id: string
  /** Its name, as admins see it. */
  name?: string | null
  /** Its OAuth client id. */
  client_id?: string | null
}

export const meSchema = schemaFor<Me>()(
  z.looseObject({
    application: nullish(z.looseObject({ id: z.string(), name: nullish(z.string()), client_id: nullish(z.string()) })),
    organization: nullish(organizationShape),
    actor: nullish(z.string()),
    scopes: nullish(z.array(z.string())),
    user: nullish(userShape),
  }),
)
