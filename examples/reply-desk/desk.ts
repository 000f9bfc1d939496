import pg from 'pg'
import { jobOptions, type Message, SupportWorkspace } from 'support-workspace-sdk'
import { Approvals } from 'support-workspace-sdk/approvals'
import { type KeyValueStorage, postgresStorage, sqliteStorage } from 'support-workspace-sdk/storage'

/** What the worker and the server share. */
export interface Desk {
  /** The client of the person whose token sends the replies. */
  readonly workspace: SupportWorkspace<'self'>
  readonly storage: KeyValueStorage
  readonly approvals: Approvals
  /** Encrypts drafts, connections and cookies. */
  readonly secret: string
}

/** An automatic reply does not answer the customer, so it makes no draft stale. */
export const isAutomatic = ({ is_ai_message }: Message): boolean => is_ai_message === true

/** Opens the desk of the environment variables, which `start.ts` lists. */
export function openDesk(): Desk {
  const { DATABASE_URL, DESK_FILE = 'reply-desk.db', DESK_SECRET: secret } = process.env
  if (!secret) throw new Error('Set DESK_SECRET to 32 characters or more, for example from `openssl rand -base64 32`.')
  const workspace = SupportWorkspace.fromEnvironment({ ...jobOptions, actor: 'self' })
  const storage = DATABASE_URL ? openPostgres(DATABASE_URL) : sqliteStorage(DESK_FILE)
  return { workspace, storage, approvals: new Approvals({ workspace, storage, secret, ignore: isAutomatic }), secret }
}

function openPostgres(connectionString: string): KeyValueStorage {
  const pool = new pg.Pool({ connectionString })
  // Without a listener, a lost connection would end the process.
  pool.on('error', console.warn)
  return postgresStorage(pool)
}
