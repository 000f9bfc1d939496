import { rm } from 'node:fs/promises'
import { type Job, Queue, QueueEvents, type Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { type Fault, type Sandbox, type SandboxOptions, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { describeOnRedis } from '../connections/helpers/servers.ts'
import { examplesFolder, readPage, writeFiles } from './page.ts'

const names = ['replies', 'counts'] as const
type Name = (typeof names)[number]
const forEachName = <Value>(create: (name: Name) => Value) =>
  Object.fromEntries(names.map((name) => [name, create(name)])) as Record<Name, Value>

const { fetch: platformFetch } = globalThis

describeOnRedis((path) => {
  let sandbox: Sandbox
  let workers: Record<Name, Worker>
  let queues: Record<Name, Queue>
  let events: Record<Name, QueueEvents>
  /** Does what the listeners of the page do. */
  let onSigterm: () => Promise<unknown>
  let tests = 0

  /** Runs the programs of the page against a new sandbox. */
  async function open(options: SandboxOptions = {}) {
    sandbox = await startSandbox({ conversations: 120, ...options })
    const connection = { path: path(), maxRetriesPerRequest: null }
    queues = forEachName((name) => new Queue(name, { connection }))
    events = forEachName((name) => new QueueEvents(name, { connection }))
    await Promise.all(Object.values(events).map((each) => each.waitUntilReady()))
    const accessToken = sandbox.issueToken({ actor: 'self' })
    vi.stubEnv('SUPPORT_WORKSPACE_URL', sandbox.url)
    vi.stubEnv('SUPPORT_WORKSPACE_TOKEN', accessToken)
    vi.stubEnv('REDIS_URL', path())
    // A module runs only once.
    const folder = `${examplesFolder}/background-jobs-${++tests}`
    await writeFiles(readPage('docs/bullmq.md').files, folder)
    const before = process.listeners('SIGTERM')
    const { replies, counts } = await import(/* @vite-ignore */ `${folder}/bullmq.mts`)
    workers = { replies, counts }
    await rm(folder, { recursive: true })
    const added = process.listeners('SIGTERM').filter((listener) => !before.includes(listener))
    for (const listener of added) process.removeListener('SIGTERM', listener)
    onSigterm = () => Promise.all(added.map((listener) => listener('SIGTERM')))
  }

  async function close() {
    await onSigterm()
    await Promise.all(Object.values(queues).map((queue) => queue.obliterate({ force: true })))
    await Promise.all([...Object.values(queues), ...Object.values(events)].map((each) => each.close()))
    await sandbox.close()
  }

  beforeEach(() => open())

  afterEach(async () => {
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
    vi.unstubAllEnvs()
    await close()
  })

  const conversationId = () => sandbox.state.conversations[0]?.id ?? ''
  const newestMessage = () => sandbox.state.messages(conversationId())[0]
  const addReply = (attempts = 3) =>
    queues.replies.add('reply', { conversationId: conversationId(), html: '<p>On it.</p>' }, { attempts })
  const stateOf = async (job: Job) => {
    const { attemptsMade, attemptsStarted, failedReason } = (await queues[job.queueName as Name].getJob(
      job.id ?? '',
    )) as Job
    return { state: await job.getState(), attemptsMade, attemptsStarted, failedReason }
  }
  /** Resolves when the next reply is delayed. Call it before what causes that. */
  const nextDelayed = () =>
    new Promise<{ jobId: string; delay: unknown }>((resolve) => events.replies.once('delayed', resolve))
  const failureOf = async (job: Job) => {
    const error: unknown = await job.waitUntilFinished(events[job.queueName as Name]).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(Error)
    return (error as Error).message
  }

  test.each([
    [0, 90_000],
    [0.5, 135_000],
  ])(
    'a 429 delays the job for Retry-After and a random part (%d) of it, and uses no attempt',
    async (random, least) => {
      vi.spyOn(Math, 'random').mockReturnValue(random)
      sandbox.failNext({ status: 429, retryAfter: 90 })
      const isDelayed = nextDelayed()
      const before = Date.now()
      const job = await addReply(1)
      const { jobId, delay } = await isDelayed
      expect(jobId).toBe(job.id)
      expect(Number(delay)).toBeGreaterThanOrEqual(before + least)
      expect(await stateOf(job)).toMatchObject({ state: 'delayed', attemptsMade: 0 })
      expect(sandbox.state.writes).toEqual([])
    },
  )

  test('a list whose retry uses an attempt continues with the page that failed', async () => {
    sandbox.faults.add({ status: 500, after: 1, times: 3 })
    const job = await queues.counts.add('count', { team: 'billing' }, { attempts: 2 })
    expect(await job.waitUntilFinished(events.counts)).toBe(120)
    expect(await stateOf(job)).toMatchObject({ state: 'completed', attemptsMade: 2 })
    expect(sandbox.requests.map(({ status, query }) => [status, 'after' in query])).toEqual([
      [200, false],
      [500, true],
      [500, true],
      [500, true],
      [200, true],
      [200, true],
    ])
    const checkpoint = { cursor: null, done: true }
    expect((await queues.counts.getJob(job.id ?? ''))?.data).toEqual({ team: 'billing', count: 120, checkpoint })
  })

  test.each<[string, Fault, string]>([
    ['fix', { status: 422 }, 'failed with 422'],
    ['reconnect', { status: 401, body: { error: 'invalid_token' } }, 'failed with 401'],
    ['verify', { drop: 'after-effect' }, 'The write may have been applied'],
  ])('%s fails the job at once, which is done if a person retries it', async (remedy, fault, words) => {
    sandbox.failNext(fault)
    const job = await addReply()
    expect(await failureOf(job)).toMatch(new RegExp(`^${remedy}: messages\\.create.*${words}`))
    expect(await stateOf(job)).toMatchObject({ state: 'failed', attemptsMade: 1, attemptsStarted: 1 })
    expect(sandbox.requests).toHaveLength(1)
    const writes = sandbox.state.writes.length
    await job.retry()
    expect(await job.waitUntilFinished(events.replies)).toBe(newestMessage()?.id)
    expect(sandbox.state.writes).toHaveLength(writes + 1)
  })

  /** Holds back the responses of the sandbox, and returns a function that sends the first one. */
  function holdResponses() {
    const held: (() => void)[] = []
    let arrive = () => {}
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve
    })
    vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
      const response = await platformFetch(url, init)
      await new Promise<void>((resolve, reject) => {
        held.push(resolve)
        init.signal?.addEventListener('abort', () => reject(init.signal?.reason))
        arrive()
      })
      return response
    })
    return { arrived, release: () => held.splice(0).map((resolve) => resolve()) }
  }

  test('on SIGTERM, the worker finishes the write in progress and starts no other job', async () => {
    const { arrived, release } = holdResponses()
    const first = await addReply()
    const second = await addReply()
    await arrived
    const closed = onSigterm()
    release()
    await closed
    expect(await stateOf(first)).toMatchObject({ state: 'completed', attemptsMade: 1 })
    expect(await stateOf(second)).toMatchObject({ state: 'waiting', attemptsStarted: 0 })
    expect(sandbox.state.writes).toHaveLength(1)
  })

  /** Does to a job in progress what a crash of its worker does: its lock expires, and the next check finds it stalled. */
  async function stall(job: Job) {
    const name = job.queueName as Name
    const client = new Redis(path())
    onTestFinished(() => client.disconnect())
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const checkForStalledJobs = async () => {
      await client.del(`bull:${name}:stalled-check`)
      await workers[name].startStalledCheckTimer()
      await vi.waitFor(async () => expect(await client.exists(`bull:${name}:stalled-check`)).toBe(1))
    }
    await checkForStalledJobs() // remembers the active jobs
    await client.del(`bull:${name}:${job.id}:lock`)
    await checkForStalledJobs()
  }

  test('a job whose lock is lost during the write fails and does not send the message again', async () => {
    const { arrived, release } = holdResponses()
    const job = await addReply()
    await arrived
    await stall(job)
    release()
    expect(await failureOf(job)).toBe('job stalled more than allowable limit')
    expect(sandbox.state.writes).toHaveLength(1)
  })
})
