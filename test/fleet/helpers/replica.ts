import type { TestContext } from 'vitest'
import { expect } from 'vitest'
import { openDatabase } from '../../../examples/fleet-sync/open-database.ts'
import { mirror } from '../../../examples/fleet-sync/organizations.ts'
import { type SyncOptions, syncOrganization } from '../../../examples/fleet-sync/sync-organization.ts'
import type { Database, OrganizationTable } from '../../../examples/fleet-sync/tables.ts'
import { SupportWorkspace } from '../../../src/index.ts'
import type { Connection } from '../../../src/oauth/index.ts'
import { createSandbox, type Sandbox, type SandboxOptions } from '../../../src/sandbox/index.ts'

export const key = 'self.app.organization.user'

/** A live connection of the key. */
export function connection(connectedAt = 1, more: Partial<Connection> = {}): Connection {
  const party = { id: 'id', name: 'Acme' }
  return {
    key,
    application: party,
    organization: party,
    actor: 'self',
    user: party,
    connectedAt,
    ...more,
  } as Connection
}

/** An empty replica of the first organization of a sandbox, with a client for it and one of a person who changes it. */
export async function createReplica(context: TestContext, url = ':memory:', options: SandboxOptions = {}) {
  const sandbox = createSandbox({ conversations: 3, messagesPerConversation: 3, contacts: 1, members: 1, ...options })
  const { database, close } = await openDatabase(url)
  context.onTestFinished(close)
  await mirror(database, key, connection())
  const client = () =>
    new SupportWorkspace({
      baseUrl: sandbox.url,
      fetch: sandbox.fetch,
      accessToken: sandbox.issueToken({ actor: 'self' }),
      actor: 'self',
      maxRetries: 0,
    })
  const workspace = client()
  const slice = (more: Partial<SyncOptions> = {}) =>
    syncOrganization({ workspace, database, key, readAllEvery: 1, ...more })
  /** Runs slices until the sync pass is complete. */
  const pass = async (more: Partial<SyncOptions> = {}) => {
    for (let slices = 1; slices < 1_000; slices += 1) if ((await slice(more)) === 'done') return slices
    throw new Error('The sync pass does not end.')
  }
  const expectCopy = () => expectReplica({ sandbox, database })
  return { sandbox, database, workspace, person: client(), slice, pass, expectCopy }
}

export async function organizationOf(database: Database, wanted = key): Promise<OrganizationTable> {
  return database.selectFrom('organizations').selectAll().where('key', '=', wanted).executeTakeFirstOrThrow()
}

/** Returns the changes of an organization, or those of one item, oldest first. */
export async function changesOf(database: Database, id?: string, wanted = key) {
  const changes = database.selectFrom('changes').selectAll().where('key', '=', wanted).orderBy('number')
  return (await changes.execute()).filter((change) => id === undefined || change.id === id)
}

export async function liveItems(database: Database, kind: 'conversation' | 'message', wanted = key) {
  const items = database.selectFrom('items').select(['id', 'data', 'list']).where('key', '=', wanted)
  const rows = await items.where('kind', '=', kind).where('deleted_at', 'is', null).execute()
  return new Map(rows.map(({ id, data }) => [id, JSON.parse(data)]))
}

/** Checks that the replica has every item of the service as it is, and no other, and that its changes have no gaps. */
export async function expectReplica(
  { sandbox, database }: { sandbox: Pick<Sandbox, 'state'>; database: Database },
  wanted = key,
  organization = sandbox.state.organization.id,
): Promise<void> {
  const service = sandbox.state.of(organization)
  const { conversations } = service
  const messages = conversations.flatMap(({ id }) => service.messages(id))
  expect(await liveItems(database, 'conversation', wanted)).toEqual(
    new Map(conversations.map((item) => [item.id, item])),
  )
  expect(await liveItems(database, 'message', wanted)).toEqual(new Map(messages.map((item) => [item.id, item])))
  const numbers = (await changesOf(database, undefined, wanted)).map(({ number }) => number)
  expect(numbers).toEqual(numbers.map((_, index) => index + 1))
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
