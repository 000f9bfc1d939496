import { expect, type TestContext, vi } from 'vitest'
import { openConnections } from '../../../examples/fleet-sync/connections.ts'
import { type Database, openDatabase } from '../../../examples/fleet-sync/database.ts'
import { mirror, type Organization } from '../../../examples/fleet-sync/organizations.ts'
import { readSettings } from '../../../examples/fleet-sync/settings.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/index.ts'

export const secret = 'a-secret-of-this-app-with-32-characters-or-more'

/** A sandbox, and an empty database with the tables of the example. */
export async function openFleet(context: TestContext, databaseUrl: string, options: SandboxOptions = {}) {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {})
  const small = { conversations: 3, messagesPerConversation: 2, contacts: 1, members: 1 }
  const sandbox = await startSandbox({ ...small, ...options })
  const environment = {
    BASE_URL: sandbox.url,
    REDIS_URL: 'no redis',
    DATABASE_URL: databaseUrl,
    STORE_SECRET: secret,
    SYNC_INTERVAL: '3600',
    PORT: '0',
  }
  const settings = readSettings(environment)
  const database = await openDatabase(databaseUrl)
  const store = await openConnections(settings, database)
  context.onTestFinished(async () => {
    vi.restoreAllMocks()
    if (!database.ended) await database.end()
    await sandbox.close()
  })
  return {
    ...{ sandbox, environment, settings, database, store, log },
    /** What a login handler does. */
    connect: async (organization = sandbox.state.organization.id): Promise<string> => {
      const { key } = await store.save(sandbox.issueToken({ organization }))
      await mirror(database, store, key)
      return key
    },
    row: async (key: string): Promise<Organization & { due_at: Date }> => {
      const { rows } = await database.query('SELECT * FROM organizations WHERE key = $1', [key])
      return rows[0]
    },
  }
}

/** Returns the changes of an organization, or those of one item, oldest first, as `created messages`. */
export async function changesOf(database: Database, key: string, id?: string): Promise<string[]> {
  const sql = 'SELECT id, kind, resource FROM changes WHERE organization = $1 ORDER BY number'
  const { rows } = await database.query(sql, [key])
  return rows.filter((each) => id === undefined || each.id === id).map(({ kind, resource }) => `${kind} ${resource}`)
}

export async function liveItems(database: Database, key: string): Promise<Map<string, unknown>> {
  const sql = 'SELECT id, data FROM items WHERE organization = $1 AND deleted_at IS NULL'
  const { rows } = await database.query(sql, [key])
  return new Map(rows.map(({ id, data }) => [id, data]))
}

/** Checks that the replica has every item of the service as it is, and no other. */
export async function expectReplica(database: Database, { state }: Sandbox, key: string): Promise<void> {
  const items = state.conversations.flatMap((each) => [each, ...state.messages(each.id)])
  expect(await liveItems(database, key)).toEqual(new Map(items.map((item) => [item.id, item])))
}

/** A page as the service sends it. */
export function pageOf(data: readonly unknown[]) {
  return { data, page_metadata: { after: null, before: null } }
}

/** The requests for lists, as `/conversations?after=…`, without those that failed. */
export function pagesRead({ requests }: Sandbox): string[] {
  return requests
    .filter(({ method, status, path }) => method === 'GET' && status === 200 && /(conversations|messages)$/.test(path))
    .map(({ path, query }) => `${path}?after=${query.after ?? ''}`)
}
