import type { Actor } from '../../shared/actor.ts'
import type { Organization } from './organization.ts'
import type { User } from './user.ts'

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
