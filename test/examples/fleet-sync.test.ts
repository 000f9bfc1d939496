import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { describe, expect, type TestContext, test, vi } from 'vitest'
import { openDatabase } from '../../examples/fleet-sync/database.ts'
import { startRedis } from '../../examples/fleet-sync/redis-server.ts'
import { SupportWorkspace } from '../../src/index.ts'
import { describeOnRedis } from '../connections/helpers/redis-server.ts'
import { describeOnDatabases } from './helpers/databases.ts'
import {
  expectReplica,
  type Fleet,
  type FleetOptions,
  kill,
  listRequests,
  preloadSource,
  startFleet,
  statusOf,
  target,
  waitForStatus,
  waitUntil,
} from './helpers/fleet.ts'

const startFile = fileURLToPath(new URL('../../examples/fleet-sync/start.ts', import.meta.url))
const redisServerModule = new URL('../../examples/fleet-sync/redis-server.ts', import.meta.url).href

/** Starts a fleet without workers. */
async function start({ onTestFinished }: TestContext, options: Partial<FleetOptions> = {}): Promise<Fleet> {
  const fleet = await startFleet({
    sandbox: { organizations: 1, conversations: 4, messagesPerConversation: 2 },
    ...options,
  })
  onTestFinished(fleet.close)
  return fleet
}

test('says how to get a Redis if redis-server is not installed', async ({ onTestFinished }) => {
  onTestFinished(() => void vi.unstubAllEnvs())
  vi.stubEnv('PATH', '/nowhere')
  const message = 'redis-server did not start: spawn redis-server ENOENT\nInstall redis-server'
  await expect(startRedis()).rejects.toThrow(message)
})

describeOnRedis('test/examples/fleet-sync.test.ts', () => {
  describeOnDatabases('test/examples/fleet-sync.test.ts', (createDatabase) => {
    test('copies every item of every organization, and fetches no page twice', {
      timeout: 180_000,
    }, async (context) => {
      const fleet = await start(context, {
        databaseUrl: await createDatabase(),
        sandbox: { organizations: 3, conversations: 60, messagesPerConversation: 2 },
      })
      const { sandbox, database, store } = fleet
      const keys = new Map<string, string>()
      for (const { id } of sandbox.state.organizations) {
        const { key } = await store.save(sandbox.issueToken({ organization: id }))
        keys.set(key, id)
      }
      await Promise.all([fleet.startWorker(), fleet.startWorker()])
      await fleet.schedule()
      for (const [key, organization] of keys) {
        await waitForStatus(database, key, { state: 'waiting', completeSweeps: 1, items: 180, sweepItems: 0 })
        await expectReplica(fleet, key, organization)
        const changes = await database.changes(key)
        expect(new Set(changes.map(({ change }) => change))).toEqual(new Set(['created']))
        expect(new Set(changes.map(({ kind, id }) => `${kind} ${id}`)).size).toBe(180)
        expect(changes.map(({ number }) => number)).toEqual(Array.from({ length: 180 }, (_, index) => index + 1))
        expect((await statusOf(database, key)).nextRunAt).toBeGreaterThan(Date.now())
      }
      // Two pages of conversations for each organization, and one page of messages for each conversation.
      expect(listRequests(sandbox)).toHaveLength(3 * (2 + 60))
    })

    test('schedules connections once, and not those that were removed or revoked', async (context) => {
      const databaseUrl = await createDatabase()
      const fleet = await start(context, { databaseUrl, sandbox: { organizations: 3, conversations: 1 } })
      const { sandbox, database, queue, store } = fleet
      const tokens = sandbox.state.organizations.map(({ id }) => sandbox.issueToken({ organization: id }))
      const [kept, removed, revoked] = await Promise.all(tokens.map(async (token) => (await store.save(token)).key))
      await Promise.all([fleet.schedule(), fleet.schedule()])
      const schedulers = await queue.getJobSchedulers()
      expect(schedulers.map(({ key }) => key).sort()).toEqual([kept, removed, revoked].sort())
      await fleet.schedule()
      expect(await queue.getJobSchedulers()).toEqual(schedulers)
      expect(await queue.getJobCountByTypes('waiting', 'delayed')).toBe(3)

      await store.remove(removed!)
      sandbox.revoke(tokens[2]!)
      // A process that is killed after it noticed the revocation leaves only the mark in the store.
      await (await store.workspace(revoked!)).me().catch(() => {})
      await fleet.schedule()
      expect((await queue.getJobSchedulers()).map(({ key }) => key)).toEqual([kept])
      expect(await database.notices()).toMatchObject([{ key: revoked }])
      expect(await statusOf(database, kept!)).toMatchObject({ state: 'waiting' })
      expect(await statusOf(database, removed!)).toMatchObject({
        state: 'revoked',
        problem: 'Disconnected in this app.',
      })

      await store.save(sandbox.issueToken({ organization: sandbox.state.organizations[1]!.id }))
      await fleet.schedule()
      expect(await statusOf(database, removed!)).toMatchObject({ state: 'waiting', problem: undefined })
      expect(await queue.getJobSchedulersCount()).toBe(2)
    })
  })

  test('schedules the other connections when one fails, and tries it again with the next run', async (context) => {
    const fleet = await start(context, { sandbox: { organizations: 3, conversations: 1 } })
    const { sandbox, database, queue, store } = fleet
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    context.onTestFinished(() => log.mockRestore())
    const tokens = sandbox.state.organizations.map(({ id }) => sandbox.issueToken({ organization: id }))
    for (const token of tokens) await store.save(token)
    const scheduled = async () => (await queue.getJobSchedulers()).map(({ key }) => key).sort()

    const connect = vi.spyOn(database, 'connect').mockRejectedValueOnce(new Error('the database refused it'))
    await fleet.schedule()
    const [failed] = connect.mock.calls[0]!
    expect(log.mock.calls).toEqual([[expect.stringMatching(`${failed.key} .*the database refused it`)]])
    expect(await scheduled()).toHaveLength(2)
    await fleet.schedule()
    expect(await scheduled()).toHaveLength(3)

    const [first, second, third] = await scheduled()
    await store.remove(first!)
    await store.remove(second!)
    vi.spyOn(database, 'disconnect').mockRejectedValueOnce(new Error('the database refused it'))
    await fleet.schedule()
    expect(await scheduled()).toHaveLength(2)
    await fleet.schedule()
    expect(await scheduled()).toEqual([third])
    for (const key of [first!, second!]) expect(await statusOf(database, key)).toMatchObject({ state: 'revoked' })
  })

  describe('a fleet', { timeout: 180_000 }, () => {
    // Most of these tests wait for the lock of a killed worker to expire, so they run at the same time.
    const run = test.concurrent

    run('continues from the checkpoint when workers are killed in the middle of a sweep', async (context) => {
      const fleet = await start(context, {
        sandbox: { organizations: 1, conversations: 130, messagesPerConversation: 1 },
      })
      const { sandbox, database, queue } = fleet
      const key = await fleet.connect()
      // Two requests never get a response: one for the third page of conversations, one for messages.
      sandbox.faults.add({ path: /\/conversations$/, after: 2, latency: 600_000 })
      sandbox.faults.add({ path: /\/messages$/, after: 20, latency: 600_000 })
      const fetchedBefore = async (sweepItems: number, faultsLeft: number) => {
        await waitForStatus(database, key, { state: 'syncing', sweepItems })
        await waitUntil(() => expect(sandbox.faults.pending).toBe(faultsLeft))
        return new Set(listRequests(sandbox).filter(hasResponse).map(target))
      }

      const first = await fleet.startWorker()
      await fleet.add(key)
      const conversations = await fetchedBefore(100, 1)
      await kill(first)
      sandbox.clearRequests()

      const second = await fleet.startWorker()
      const messages = await fetchedBefore(150, 0)
      expect(messages.size).toBe(21)
      expect([...messages].filter((request) => conversations.has(request))).toEqual([])
      await kill(second)
      sandbox.clearRequests()

      await fleet.startWorker()
      await waitForStatus(database, key, { completeSweeps: 1 })
      const rest = listRequests(sandbox).map(target)
      expect(rest.filter((request, index) => messages.has(request) || rest.indexOf(request) < index)).toEqual([])
      expect(rest).toHaveLength(110)
      await expectReplica(fleet, key, sandbox.state.organization.id)
      expect(await database.changes(key)).toHaveLength(260)
      await waitUntil(async () => expect(await queue.getCompletedCount()).toBe(1))
      expect(await queue.getFailedCount()).toBe(0)
    })

    run('a worker that was paused cannot write after another has taken over', async (context) => {
      const fleet = await start(context)
      const { sandbox, database } = fleet
      const key = await fleet.connect()
      const paused = await fleet.startWorker()
      // The worker is paused while it waits for a response. It then finds the response when it runs again.
      sandbox.faults.add({ path: /\/messages$/, after: 1, latency: 1_000 })
      await fleet.add(key)
      await waitUntil(() => expect(listRequests(sandbox)).toHaveLength(3))
      paused.kill('SIGSTOP')
      const other = await fleet.startWorker()
      await waitForStatus(database, key, { completeSweeps: 1 })
      await kill(other)
      paused.kill('SIGCONT')

      // It drops its old sweep and can run the next one.
      await fleet.sync(key)
      await expectReplica(fleet, key, sandbox.state.organization.id)
      const changes = await database.changes(key)
      expect(changes.map(({ change, sweep }) => `${sweep} ${change}`)).toEqual(Array(12).fill('1 created'))
    })

    run('hands its sweep back when it is told to end, and another worker continues it', async (context) => {
      const fleet = await start(context)
      const { sandbox, database, queue } = fleet
      const key = await fleet.connect()
      sandbox.faults.add({ path: /\/messages$/, after: 2, latency: 600_000 })
      const first = await fleet.startWorker()
      await fleet.add(key)
      await waitForStatus(database, key, { sweepItems: 8 })
      await waitUntil(() => expect(sandbox.faults.pending).toBe(0))
      await kill(first, 'SIGTERM')
      expect(first.exitCode).toBe(0)
      expect(await statusOf(database, key)).toMatchObject({ state: 'waiting', sweepItems: 8 })
      expect(await queue.getWaitingCount()).toBe(1)
      sandbox.clearRequests()
      await fleet.startWorker()
      await waitForStatus(database, key, { completeSweeps: 1 })
      expect(listRequests(sandbox)).toHaveLength(2)
      await expectReplica(fleet, key, sandbox.state.organization.id)
    })

    run(
      'gives one notice for a revocation that several workers notice, and revives with a new login',
      async (context) => {
        const fleet = await start(context)
        const { sandbox, database, queue } = fleet
        const revokeAndRun = async () => {
          sandbox.revokeAll()
          // Without deduplication, so that all workers run a sweep of the connection at the same time.
          await queue.addBulk(Array.from({ length: 6 }, () => ({ name: 'sync', data: { key } })))
          await waitForStatus(database, key, { state: 'revoked' })
          const open = () => queue.getJobCountByTypes('waiting', 'active', 'delayed', 'prioritized')
          await waitUntil(async () => expect(await open()).toBe(0))
        }
        const key = await fleet.connect()
        await Promise.all([fleet.startWorker(), fleet.startWorker(), fleet.startWorker()])
        await fleet.sync(key)

        await revokeAndRun()
        const [notice, ...more] = await database.notices()
        expect(notice).toMatchObject({ key, organization: sandbox.state.organization.name })
        expect(more).toEqual([])
        expect((await statusOf(database, key)).problem).toMatch(/revoked/)

        await fleet.connect()
        await fleet.sync(key)
        expect(await statusOf(database, key)).toMatchObject({ state: 'waiting', completeSweeps: 2, problem: undefined })
        expect(await database.changes(key)).toHaveLength(12)
        await revokeAndRun()
        expect(await database.notices()).toHaveLength(2)
      },
    )

    run('delays a sweep by a long Retry-After without using up an attempt', async (context) => {
      const fleet = await start(context)
      const { sandbox, database, queue } = fleet
      const key = await fleet.connect()
      await fleet.startWorker()
      const startedAt = Date.now()
      sandbox.faults.add({ path: /\/messages$/, after: 1, status: 429, retryAfter: 6 })
      await fleet.add(key)
      await waitForStatus(database, key, { state: 'delayed', problem: expect.stringMatching(/rate/i) })
      const { nextRunAt } = await statusOf(database, key)
      expect(nextRunAt).toBeGreaterThanOrEqual(startedAt + 6_000)
      await waitUntil(async () =>
        expect(await queue.getDelayed()).toMatchObject([{ attemptsMade: 0, attemptsStarted: 1 }]),
      )
      await waitForStatus(database, key, { completeSweeps: 1, problem: undefined })
      expect(sandbox.requests.filter(({ fault }) => fault !== undefined)).toHaveLength(1)
      await expectReplica(fleet, key, sandbox.state.organization.id)
    })

    run('tries again when the service rejects a token only once', async (context) => {
      const fleet = await start(context)
      const { sandbox, database } = fleet
      const key = await fleet.connect()
      await fleet.startWorker()
      sandbox.faults.add({ path: /\/messages$/, status: 401, body: { error: 'invalid_token' } })
      await fleet.sync(key)
      expect(sandbox.requests.filter(({ status }) => status === 401)).toHaveLength(1)
      expect(await database.notices()).toEqual([])
      expect(await statusOf(database, key)).toMatchObject({ state: 'waiting', problem: undefined })
    })

    run('fails once, with a reason and without the token, when a scope is missing', async (context) => {
      const fleet = await start(context)
      const { sandbox, database, queue } = fleet
      const token = sandbox.issueToken({ scopes: ['conversations:read'] })
      const key = await fleet.connect(token)
      await fleet.startWorker()
      await fleet.add(key)
      await waitForStatus(database, key, { state: 'failed', problem: expect.stringContaining('messages:read') })
      await waitUntil(async () => expect(await queue.getFailedCount()).toBe(1))
      expect(sandbox.requests.filter(({ operation }) => operation === 'listMessages')).toHaveLength(1)
      const [job] = await queue.getFailed()
      expect(JSON.stringify([job, await database.status()])).not.toContain(token)
    })

    run(
      'adds one note to each new conversation, also if a response is lost or the worker is killed',
      async (context) => {
        const fleet = await start(context, { addNotes: true })
        const { sandbox, database } = fleet
        const token = sandbox.issueToken({ actor: 'self' })
        const key = await fleet.connect(token)
        const person = new SupportWorkspace({ baseUrl: sandbox.url, accessToken: token, actor: 'self' })
        const create = async (name: string) => {
          const body = { customer_email: `${name}@customer.example`, initial_message: 'Hello' }
          return (await person.conversations.create(body)).id
        }
        const first = await fleet.startWorker()
        await fleet.sync(key)
        const created = [
          await create('arrives'),
          await create('unanswered'),
          await create('lost'),
          await create('killed'),
        ]
        const [, unanswered, lost, killed] = created
        const write = { method: 'POST', times: 1 }
        sandbox.faults.add({ ...write, path: new RegExp(`${unanswered}/notes$`), drop: 'after-effect' })
        sandbox.faults.add({ ...write, path: new RegExp(`${lost}/notes$`), drop: 'before-effect' })
        sandbox.faults.add({ ...write, path: new RegExp(`${killed}/notes$`), latency: 600_000 })
        await fleet.add(key)
        await waitUntil(() => expect(sandbox.state.notes(killed!)).toHaveLength(1))
        await kill(first)
        await fleet.startWorker()
        await waitForStatus(database, key, { completeSweeps: 2 })

        for (const id of created) {
          expect(sandbox.state.notes(id).map(({ body_html }) => body_html)).toEqual(['<p>Copied to the archive.</p>'])
        }
        const sent = sandbox.requests.filter(({ operation }) => operation === 'createNote').map(({ path }) => path)
        expect(sent.filter((path) => path.includes(lost!))).toHaveLength(2)
        expect(sent).toHaveLength(5)
      },
    )

    run('stops the Redis that it has started when it fails', async ({ onTestFinished }) => {
      const folder = mkdtempSync(join(tmpdir(), 'fleet-failure-'))
      const script = `import { startRedis } from ${JSON.stringify(redisServerModule)}
        console.log((await startRedis()).url)
        process.stdin.once('data', () => { throw new Error('any') })`
      const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
        env: { ...process.env, TMPDIR: folder },
        stdio: ['pipe', 'pipe', 'ignore'],
      })
      const ended = once(child, 'exit')
      const [url] = (await once(child.stdout, 'data')) as [Buffer]
      const redis = new Redis(String(url).trim(), { retryStrategy: () => null })
      onTestFinished(async () => {
        redis.disconnect()
        child.kill()
        await ended
        rmSync(folder, { recursive: true })
      })
      expect(await redis.ping()).toBe('PONG')
      const disconnected = once(redis, 'end')
      child.stdin.write('fail')
      expect(await ended).toEqual([1, null])
      await disconnected
      expect(readdirSync(folder)).toEqual([])
    })

    run('npm run example:fleet-sync leaves nothing behind when it fails to start', async ({ onTestFinished }) => {
      const folder = mkdtempSync(join(tmpdir(), 'fleet-failure-'))
      onTestFinished(() => rmSync(folder, { recursive: true }))
      const { REDIS_URL: _, ...environment } = process.env
      const child = spawn(process.execPath, [startFile], {
        env: {
          ...environment,
          ...preloadSource,
          TMPDIR: folder,
          ACCESS_TOKENS: 'secret',
          // A port that `fetch` refuses.
          BASE_URL: 'http://127.0.0.1:9',
          STORE_SECRET: 'a secret of this app, 32 characters or more',
          DATABASE_URL: join(folder, 'replica.sqlite'),
        },
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      const [ended, failure] = await Promise.all([once(child, 'exit'), text(child.stderr)])
      expect(ended).toEqual([1, null])
      expect(failure).toContain('NetworkError')
      expect(readdirSync(folder).filter((name) => name.startsWith('fleet-'))).toEqual([])
    })

    run(
      'npm run example:fleet-sync syncs 20 organizations until Ctrl-C',
      {
        timeout: 180_000,
      },
      async ({ onTestFinished }) => {
        const folder = mkdtempSync(join(tmpdir(), 'fleet-start-'))
        const redisServer = await startRedis()
        const databaseUrl = join(folder, 'replica.sqlite')
        const { BASE_URL: _, ...environment } = process.env
        const child = spawn(process.execPath, [startFile], {
          env: {
            ...environment,
            ...preloadSource,
            ACCESS_TOKENS: 'secret',
            REDIS_URL: redisServer.url,
            DATABASE_URL: databaseUrl,
            PORT: '0',
          },
          stdio: ['ignore', 'pipe', 'inherit'],
        })
        const ended = once(child, 'exit')
        onTestFinished(async () => {
          child.kill()
          await ended
          await redisServer.close()
          rmSync(folder, { recursive: true })
        })
        let printed = ''
        child.stdout.on('data', (piece: Buffer) => {
          printed += piece
        })
        await waitUntil(() => expect(printed).toContain('Ctrl-C'))
        const page = await fetch(/^Open (.*)$/m.exec(printed)?.[1] ?? '')
        expect(await page.text()).toContain('Fleet sync')
        const database = await openDatabase(databaseUrl)
        onTestFinished(() => database.close())
        await waitUntil(async () => {
          const connections = await database.status()
          expect(connections).toHaveLength(20)
          expect(connections.some(({ completeSweeps }) => completeSweeps > 0)).toBe(true)
        })
        if (process.platform === 'linux') {
          const environments = childrenOf(child.pid ?? 0).map((pid) => readFileSync(`/proc/${pid}/environ`, 'utf8'))
          expect(environments).toHaveLength(2)
          for (const each of environments) expect(each).not.toContain('ACCESS_TOKENS')
        }
        child.kill('SIGINT')
        expect(await ended).toEqual([0, null])
      },
    )
  })
})

function hasResponse({ status, fault }: { status: number | undefined; fault: string | undefined }): boolean {
  return status !== undefined && fault === undefined
}

/** Returns the processes that a process has started. */
function childrenOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
}
