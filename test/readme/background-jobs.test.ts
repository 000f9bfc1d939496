import { rm } from 'node:fs/promises'
import { type Job, Queue, QueueEvents, type Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { describeOnRedis, type RedisServer, startRedis } from '../connections/helpers/redis-server.ts'
import { examplesFolder, examplesOf, writeExamples } from './examples.ts'

describeOnRedis('test/readme/background-jobs.test.ts', (binary) => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedis(binary)
  })
  afterAll(() => redis.close())

  let sandbox: Sandbox
  let guide: { replies: Worker; counts: Worker }
  let queues: { replies: Queue; counts: Queue }
  let events: { replies: QueueEvents; counts: QueueEvents }
  /** The listener that the guide adds. */
  let onSigterm: () => Promise<void>
  let tests = 0

  beforeEach(async () => {
    sandbox = await startSandbox({ conversations: 5 })
    const connection = { path: redis.path, maxRetriesPerRequest: null }
    queues = { replies: new Queue('replies', { connection }), counts: new Queue('counts', { connection }) }
    events = { replies: new QueueEvents('replies', { connection }), counts: new QueueEvents('counts', { connection }) }
    await Promise.all(Object.values(events).map((each) => each.waitUntilReady()))
    const given = { baseUrl: sandbox.url, accessToken: sandbox.issueToken({ actor: 'self' }), connection }
    for (const [name, value] of Object.entries(given)) vi.stubGlobal(name, value)
    // A module runs only once.
    const folder = `${examplesFolder}/background-jobs-${++tests}`
    await writeExamples(folder, examplesOf('background-jobs.md'))
    guide = await import(/* @vite-ignore */ `${folder}/background-jobs/bullmq.ts`)
    await rm(folder, { recursive: true })
    onSigterm = process.listeners('SIGTERM').at(-1) as typeof onSigterm
    process.removeListener('SIGTERM', onSigterm)
  })

  afterEach(async () => {
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
    await Promise.all([guide.replies.close(), guide.counts.close()])
    await Promise.all(Object.values(queues).map((queue) => queue.obliterate({ force: true })))
    await Promise.all([...Object.values(queues), ...Object.values(events)].map((each) => each.close()))
    await sandbox.close()
  })

  const conversationId = () => sandbox.state.conversations[0]?.id ?? ''
  const newestMessage = () => sandbox.state.messages(conversationId())[0]
  const addReply = (attempts = 3) =>
    queues.replies.add('reply', { conversationId: conversationId(), html: '<p>On it.</p>' }, { attempts })
  const stateOf = async (job: Job) => {
    const queue = job.queueName === 'replies' ? queues.replies : queues.counts
    const { attemptsMade, attemptsStarted, failedReason } = (await queue.getJob(job.id ?? '')) as Job
    return { state: await job.getState(), attemptsMade, attemptsStarted, failedReason }
  }
  /** Resolves when the next reply is delayed. Call it before what causes that. */
  const nextDelayed = () =>
    new Promise<{ jobId: string; delay: unknown }>((resolve) => events.replies.once('delayed', resolve))
  const failureOf = async (job: Job) => {
    const error: unknown = await job.waitUntilFinished(events.replies).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(Error)
    return (error as Error).message
  }

  test('a 429 delays the job for Retry-After and uses no attempt', async () => {
    sandbox.failNext({ status: 429, retryAfter: 90 })
    const isDelayed = nextDelayed()
    const before = Date.now()
    const job = await addReply(1)
    const { jobId, delay } = await isDelayed
    expect(jobId).toBe(job.id)
    expect(Number(delay)).toBeGreaterThanOrEqual(before + 90_000)
    expect(await stateOf(job)).toMatchObject({ state: 'delayed', attemptsMade: 0 })
    expect(sandbox.state.writes).toEqual([])
  })

  test('while the client is rate limited, the next job is delayed without a request, and both are done later', async () => {
    sandbox.failNext({ status: 429, retryAfter: 30 })
    const errors: Error[] = []
    guide.replies.on('error', (error) => errors.push(error))
    const jobs = []
    for (let count = 0; count < 2; count += 1) {
      const isDelayed = nextDelayed()
      jobs.push(await addReply(1))
      await isDelayed
    }
    expect(sandbox.requests.map(({ status }) => status)).toEqual([429])
    const now = performance.now.bind(performance)
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 30_000)
    for (const job of jobs) {
      await job.promote()
      await job.waitUntilFinished(events.replies)
      expect(await stateOf(job)).toMatchObject({ state: 'completed', attemptsMade: 1, attemptsStarted: 2 })
    }
    expect(sandbox.state.writes).toHaveLength(2)
    expect(errors).toEqual([])
  })

  test('a job that is always delayed fails in the end', async () => {
    sandbox.faults.add({ status: 429, retryAfter: 90, times: Number.POSITIVE_INFINITY })
    events.replies.on('delayed', async ({ jobId }) => (await queues.replies.getJob(jobId))?.promote())
    const job = await addReply(1)
    expect(await failureOf(job)).toBe('job started more than allowable limit')
    expect(sandbox.requests).toHaveLength(20)
  })

  test('a retry without Retry-After uses an attempt', async () => {
    sandbox.failNext({ status: 500 })
    const job = await queues.counts.add('count', {}, { attempts: 2 })
    expect(await job.waitUntilFinished(events.counts)).toBe(5)
    expect(await stateOf(job)).toMatchObject({ state: 'completed', attemptsMade: 2 })
  })

  test.each([
    ['fix', 422, undefined],
    ['reconnect', 401, { error: 'invalid_token' }],
  ])('%s fails the job at once', async (remedy, status, body) => {
    sandbox.failNext({ status, ...(body && { body }) })
    const job = await addReply()
    expect(await failureOf(job)).toMatch(new RegExp(`^${remedy}: messages\\.create failed with ${status}`))
    expect(await stateOf(job)).toMatchObject({ state: 'failed', attemptsMade: 1, attemptsStarted: 1 })
    expect(sandbox.requests).toHaveLength(1)
  })

  test('a job that failed with reconnect is done when it is retried after a login', async () => {
    sandbox.failNext({ status: 401, body: { error: 'invalid_token' } })
    const job = await addReply()
    await failureOf(job)
    await job.retry()
    expect(await job.waitUntilFinished(events.replies)).toBe(newestMessage()?.id)
    expect(sandbox.state.writes).toHaveLength(1)
  })

  test('verify fails the job at once and does not send the message again', async () => {
    sandbox.faults.add({ method: 'POST', drop: 'after-effect' })
    const job = await addReply()
    expect(await failureOf(job)).toMatch(/^verify: messages\.create/)
    expect(await stateOf(job)).toMatchObject({ state: 'failed', attemptsStarted: 1, failedReason: /^verify: / })
    expect(sandbox.requests).toHaveLength(1)
    expect(sandbox.state.writes).toHaveLength(1)
  })

  /** Holds back the responses of the sandbox, and returns a function that sends the first one. */
  function holdResponses() {
    const held: (() => void)[] = []
    let arrive = () => {}
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve
    })
    const { fetch } = globalThis
    vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
      const response = await fetch(url, init)
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

  test('on SIGTERM, a read in progress is canceled, uses an attempt and waits for another worker', async () => {
    const { arrived } = holdResponses()
    const job = await queues.counts.add('count', {}, { attempts: 2 })
    await arrived
    await onSigterm()
    const failedReason = 'The worker is shutting down.'
    expect(await stateOf(job)).toMatchObject({ state: 'waiting', attemptsMade: 1, failedReason })
  })

  test('a job whose lock is lost during the write fails and does not send the message again', async () => {
    const { arrived, release } = holdResponses()
    const client = new Redis(redis.path)
    onTestFinished(() => client.disconnect())
    const job = await addReply()
    await arrived
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const checkForStalledJobs = async () => {
      await client.del('bull:replies:stalled-check')
      await guide.replies.startStalledCheckTimer()
      await vi.waitFor(async () => expect(await client.exists('bull:replies:stalled-check')).toBe(1))
    }
    await checkForStalledJobs() // remembers the active jobs
    await client.del(`bull:replies:${job.id}:lock`)
    await checkForStalledJobs()
    release()
    expect(await failureOf(job)).toBe('job stalled more than allowable limit')
    expect(sandbox.state.writes).toHaveLength(1)
  })
})
