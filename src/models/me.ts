import * as z from 'zod/mini'
import type { Actor } from '../actor.ts'
import { type Organization, organizationShape } from './organization.ts'
import { nullish, schemaFor } from './schema.ts'
import { type User, userShape } from './user.ts'

/** The identity of an access token ([reference](docs/service.md#identity)). */
export interface Me {
  /** The app that the token was issued to. */
  application?: Application | null
  /** The organization that the token is bound to. */
  organization?: Organization | null
  actor?: Actor | (string & {}) | null
  scopes?: string[] | null
  /** The user of an `actor=self` token. Presumably null or absent with `app` (inferred). */
  user?: User | null
}

/** An OAuth app ([reference](docs/service.md#identity)). */
export interface Application {
  id: string
  /** The name that admins see. */
  name?: string | null
  /** The OAuth client id. */
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
