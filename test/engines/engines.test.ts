import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { ApplicationFailure } from '@temporalio/activity'
import { MockActivityEnvironment } from '@temporalio/testing'
import { resourceCatalog, type TaskRunExecution } from '@trigger.dev/core/v3'
import { runInMockTaskContext } from '@trigger.dev/core/v3/test'
import { TriggerTracer } from '@trigger.dev/core/v3/tracer'
import { StandardResourceCatalog, TaskExecutor, type TaskExecutorOptions } from '@trigger.dev/core/v3/workers'
import type { Inngest, InngestFunction } from 'inngest'
import { serve } from 'inngest/edge'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { readPage, root, writeFiles } from '../docs/page.ts'
import { problemsIn } from '../docs/problems.ts'

/** Inside this folder, so that the examples resolve the packages of the engines. */
const folder = fileURLToPath(new URL('.examples', import.meta.url))

let sandbox: Sandbox
let conversationId: string
let tests = 0

beforeEach(async () => {
  sandbox = await startSandbox({ conversations: 120 })
  conversationId = sandbox.state.conversations[0]?.id ?? ''
  vi.stubEnv('SUPPORT_WORKSPACE_URL', sandbox.url)
  vi.stubEnv('SUPPORT_WORKSPACE_TOKEN', sandbox.issueToken({ actor: 'self' }))
})

afterEach(async () => {
  vi.restoreAllMocks()
  vi.useRealTimers()
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
  await sandbox.close()
})

/** Runs a file of a page, and returns its exports. A module runs only once, so each test has a folder. */
async function load<Exports>(page: string, name: string): Promise<Exports> {
  const own = `${folder}/${++tests}`
  await writeFiles(readPage(`docs/${page}.md`).files, own)
  return import(/* @vite-ignore */ `${own}/${name}`)
}

test('this test and the programs of the pages compile in strict mode', async () => {
  const files = [`${root}test/engines/engines.test.ts`]
  for (const name of ['inngest', 'trigger-dev', 'temporal']) {
    const page = readPage(`docs/${name}.md`)
    await writeFiles(page.files, `${folder}/${name}`)
    files.push(...[...page.files.keys()].map((file) => `${folder}/${name}/${file}`))
  }
  expect(problemsIn(files, `${root}test/engines`)).toEqual([])
}, 180_000)

/** What the service does, and the remedy. */
const faults: [remedy: string, inject: () => void][] = [
  ['fix', () => sandbox.failNext({ status: 422 })],
  ['reconnect', () => sandbox.failNext({ status: 401, body: { error: 'invalid_token' } })],
  ['verify', () => sandbox.faults.add({ method: 'POST', drop: 'after-effect' })],
]

describe('in Inngest', () => {
  /** Runs the step of the function, and returns what Inngest reads of the response. */
  async function runStep() {
    const { inngest, reply } = await load<{ inngest: Inngest; reply: InngestFunction.Any }>('inngest', 'inngest.mts')
    const handler = serve({ client: inngest, functions: [reply] })
    const event = { name: 'support/reply.written', data: { conversationId, html: '<p>On it.</p>' } }
    const ctx = { run_id: 'run', attempt: 0, stack: { stack: [], current: 0 } }
    const response = await handler(
      new Request('http://localhost/api/inngest?fnId=support-reply&stepId=step', {
        method: 'POST',
        headers: { host: 'localhost' },
        body: JSON.stringify({ version: 1, event, events: [event], steps: {}, ctx }),
      }),
    )
    const [{ error, data }] = (await response.json()) as [{ error?: object; data?: unknown }]
    const { headers } = response
    return { retryAfter: headers.get('retry-after'), noRetry: headers.get('x-inngest-no-retry'), error, data }
  }

  beforeEach(() => {
    vi.stubEnv('INNGEST_DEV', '1')
    vi.spyOn(console, 'error').mockImplementation(() => {})
  })

  test('a step that succeeds returns the id of the message', async () => {
    expect((await runStep()).data).toBe(sandbox.state.messages(conversationId)[0]?.id)
  })

  test('a 429 is retried after Retry-After and a random part of it', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
    sandbox.failNext({ status: 429, retryAfter: 90 })
    expect(await runStep()).toMatchObject({ retryAfter: '135', noRetry: 'false', error: { name: 'RetryAfterError' } })
  })

  test('a write that was not sent is retried with the backoff of Inngest', async () => {
    await sandbox.close()
    expect(await runStep()).toMatchObject({ retryAfter: null, noRetry: 'false', error: { name: 'NetworkError' } })
  })

  test.each(faults)('%s is not retried', async (remedy, inject) => {
    inject()
    const message = expect.stringMatching(`^${remedy}: messages.create`)
    expect(await runStep()).toMatchObject({ noRetry: 'true', error: { name: 'NonRetriableError', message } })
    expect(sandbox.requests).toHaveLength(1)
  })
})

describe('in Trigger.dev', () => {
  /** Runs an attempt of a task, and returns its result. */
  function runAttempt(id: string, number = 1, signal = new AbortController().signal) {
    return runInMockTaskContext(async ({ ctx }) => {
      resourceCatalog.setGlobalResourceCatalog(new StandardResourceCatalog())
      resourceCatalog.setCurrentFileContext('trigger.ts', 'trigger.ts')
      await load('trigger-dev', 'trigger.mts')
      const consoleInterceptor = { intercept: (_: Console, run: () => unknown) => run() }
      const tracer = new TriggerTracer({ name: 'test', version: '1' })
      const options = { tracer, consoleInterceptor } as unknown as TaskExecutorOptions
      const task = resourceCatalog.getTask(id)
      if (task === undefined) throw new Error(`There is no task ${id}.`)
      const payload = JSON.stringify({ conversationId, html: '<p>On it.</p>' })
      const execution = {
        run: { id: 'run', payload, payloadType: 'application/json' },
        attempt: { number },
        environment: { type: 'PRODUCTION' },
      } as TaskRunExecution
      return (await new TaskExecutor(task, options).execute(execution, ctx, signal)).result
    })
  }

  test('a run that succeeds returns the id of the message', async () => {
    expect(await runAttempt('reply')).toMatchObject({ ok: true })
    expect(sandbox.state.writes).toHaveLength(1)
  })

  test('a 429 is retried after Retry-After and a random part of it', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
    vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_000 })
    sandbox.failNext({ status: 429, retryAfter: 90 })
    const retry = { delay: 135_000, timestamp: 1_800_000_135_000 }
    expect(await runAttempt('reply')).toMatchObject({ retry, error: { name: 'RateLimitError' } })
  })

  test('a 429 of the last attempt is not retried', async () => {
    sandbox.failNext({ status: 429, retryAfter: 90 })
    expect(await runAttempt('reply', 5)).toMatchObject({ retry: undefined, error: { name: 'RateLimitError' } })
  })

  test('a retry without Retry-After has the backoff of Trigger.dev', async () => {
    await sandbox.close()
    expect(await runAttempt('reply')).toMatchObject({
      retry: { delay: expect.any(Number) },
      error: { name: 'NetworkError' },
    })
  })

  test.each(faults)('%s is not retried', async (remedy, inject) => {
    inject()
    const error = { name: 'AbortTaskRunError', message: expect.stringMatching(`^${remedy}: messages.create`) }
    expect(await runAttempt('reply')).toMatchObject({ skippedRetrying: true, retry: undefined, error })
    expect(sandbox.requests).toHaveLength(1)
  })
})

describe('in Temporal', () => {
  interface Activities {
    reply(conversationId: string, html: string): Promise<string>
  }
  const log = () => {}
  const logger = { log, trace: log, debug: log, info: log, warn: log, error: log }
  const runReply = async () => {
    const { reply } = await load<Activities>('temporal', 'temporal.mts')
    const environment = new MockActivityEnvironment({}, { logger })
    return environment.run(reply, conversationId, '<p>On it.</p>').catch((error: unknown) => error)
  }

  test('an activity that succeeds returns the id of the message', async () => {
    expect(await runReply()).toBe(sandbox.state.messages(conversationId)[0]?.id)
  })

  test('a 429 is retried after Retry-After and a random part of it', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
    sandbox.failNext({ status: 429, retryAfter: 90 })
    const failure = await runReply()
    expect(failure).toBeInstanceOf(ApplicationFailure)
    expect(failure).toMatchObject({ type: 'retry', nonRetryable: false, nextRetryDelay: 135_000 })
    expect(failure).toMatchObject({ cause: { name: 'RateLimitError' } })
  })

  test('a write that was not sent is retried with the retry policy', async () => {
    await sandbox.close()
    expect(await runReply()).toMatchObject({ type: 'retry', nonRetryable: false, nextRetryDelay: undefined })
  })

  test.each(faults)('%s is not retried', async (remedy, inject) => {
    inject()
    const failure = await runReply()
    expect(failure).toBeInstanceOf(ApplicationFailure)
    expect(failure).toMatchObject({ type: remedy, nonRetryable: true })
    expect(sandbox.requests).toHaveLength(1)
  })
})
