import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { openConnections } from '../../../examples/fleet-sync/connections.ts'
import { type ConnectionStatus, type Database, openDatabase } from '../../../examples/fleet-sync/database.ts'
import { addSync, connectToRedis, openQueue } from '../../../examples/fleet-sync/queue.ts'
import { startRedis } from '../../../examples/fleet-sync/redis-server.ts'
import { scheduleAll } from '../../../examples/fleet-sync/scheduler.ts'
import type { Settings } from '../../../examples/fleet-sync/settings.ts'
import { startWorker } from '../../../examples/fleet-sync/start-worker.ts'
import { type RecordedRequest, type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox.ts'

export interface FleetOptions {
  readonly sandbox: SandboxOptions
  /** A `postgres://` URL; a new SQLite file by default. */
  readonly databaseUrl?: string | undefined
  readonly addNotes?: boolean
}

/** The environment of a process that uses the source of the package, so that no build is needed. */
export const preloadSource = { NODE_OPTIONS: `--import=${new URL('source-imports.ts', import.meta.url).href}` }

export type Fleet = Awaited<ReturnType<typeof startFleet>>

/** Starts everything of the example but the workers. No connection has a job until `sync` or `schedule` is called. */
export async function startFleet(options: FleetOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-'))
  const redisServer = await startRedis()
  const sandbox = await startSandbox({ contacts: 1, members: 1, tasks: 0, segments: 0, ...options.sandbox })
  const settings: Settings = {
    baseUrl: sandbox.url,
    redisUrl: redisServer.url,
    databaseUrl: options.databaseUrl ?? join(folder, 'replica.sqlite'),
    storeSecret: 'a secret of this app, 32 characters or more',
    interval: 3_600_000,
    concurrency: 4,
    addNotes: options.addNotes ?? false,
  }
  const database = await openDatabase(settings.databaseUrl)
  const redis = connectToRedis(settings.redisUrl)
  const queue = openQueue(redis)
  const { store, close: closeStore } = openConnections(settings)
  const workers: ChildProcess[] = []

  const fleet = {
    sandbox,
    settings,
    database,
    queue,
    store,
    startWorker: async () => {
      const worker = await startWorker(settings, preloadSource)
      workers.push(worker)
      return worker
    },
    /** Connects an organization, by default the first, and returns the key of its connection. */
    connect: async (token = sandbox.issueToken()) => {
      const { key, organization, connectedAt } = await store.save(token)
      await database.connect({ key, organization: organization.name ?? '', connectedAt })
      return key
    },
    schedule: () => scheduleAll({ store, database, queue, interval: settings.interval }),
    /** Adds a sweep of a connection. */
    add: (key: string) => addSync(queue, key),
    /** Runs a sweep of a connection to its end. */
    sync: async (key: string) => {
      const { completeSweeps } = await statusOf(database, key)
      await addSync(queue, key)
      await waitForStatus(database, key, { completeSweeps: completeSweeps + 1 })
      // The job ends after its sweep. Until then another would not be added.
      await waitUntil(async () => expect(await queue.getDeduplicationJobId(key)).toBeNull())
    },
    close: async () => {
      for (const worker of workers) if (worker.exitCode === null && worker.signalCode === null) await kill(worker)
      await Promise.all([queue.close(), closeStore(), database.close(), sandbox.close()])
      redis.disconnect()
      await redisServer.close()
      rmSync(folder, { recursive: true })
    },
  }
  return fleet
}

export async function kill(worker: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  const ended = once(worker, 'exit')
  worker.kill(signal)
  await ended
}

/** Polls until an assertion holds. */
export async function waitUntil(assertion: () => unknown): Promise<void> {
  await vi.waitFor(assertion, { timeout: 120_000, interval: 20 })
}

export async function statusOf(database: Database, key: string): Promise<ConnectionStatus> {
  const status = (await database.status()).find((connection) => connection.key === key)
  if (status === undefined) throw new Error(`There is no connection ${key}.`)
  return status
}

export async function waitForStatus(database: Database, key: string, wanted: Partial<ConnectionStatus>): Promise<void> {
  await waitUntil(async () => expect(await statusOf(database, key)).toMatchObject(wanted))
}

/** Checks that the replica is what the service has: every item, as it is, and no other. */
export async function expectReplica(
  { sandbox, database }: Pick<Fleet, 'sandbox' | 'database'>,
  key: string,
  organization: string,
): Promise<void> {
  const service = sandbox.state.of(organization)
  const items = await database.items(key)
  const stored = (kind: string) =>
    items.filter((item) => item.kind === kind && !item.deleted).map(({ id, data }) => [id, data] as const)
  const { conversations } = service
  const messages = conversations.flatMap(({ id }) => service.messages(id))
  expect(new Map(stored('conversation'))).toEqual(new Map(conversations.map((item) => [item.id, item])))
  expect(new Map(stored('message'))).toEqual(new Map(messages.map((item) => [item.id, item])))
  expect((await statusOf(database, key)).items).toBe(conversations.length + messages.length)
}

/** What a request asked for, such as `/conversations?after=…`. */
export function target({ path, query }: RecordedRequest): string {
  return `${path}?after=${query.after ?? ''}`
}

/** The requests for lists of conversations and messages. */
export function listRequests(sandbox: Sandbox): RecordedRequest[] {
  return sandbox.requests.filter(({ operation }) => operation === 'listConversations' || operation === 'listMessages')
}
