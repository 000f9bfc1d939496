import type { Actor } from '../../shared/actor.ts'
import type { Organization } from './organization.ts'
import type { User } from './user.ts'

/** The identity of an access token ([reference](docs/service.md#identity)). */
export interface Me {
  /** The app that the token was issued to (inferred). */
  application?: Application | null
  /** The organization that the token is bound to. */
  organization?: Organization | null
  /** Who the token acts as: `app` or `self`. */
  actor?: Actor | (string & {}) | null
  /** The scopes of the token (inferred). */
  scopes?: string[] | null
  /** The user of an `actor=self` token (inferred). Null or absent with `app`. */
  user?: User | null
}

/** An OAuth app ([reference](docs/service.md#identity)). */
export interface Application {
  /** The id of the app. */
  id: string
  /** The name that admins see (inferred). */
  name?: string | null
  /** The OAuth client id (inferred). */
  client_id?: string | null
}
