import { readFile } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { inspect } from 'node:util'
import { SupportWorkspace } from 'support-workspace-sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type FaultName,
  type FaultTestJob,
  type FaultTestOptions,
  type FaultTestReport,
  faultTest,
} from '../../src/fault-test/index.ts'
import { showProgress } from '../../src/fault-test/test-all.ts'
import type { Sandbox } from '../../src/sandbox/index.ts'
import { failuresOf } from './programs.ts'

const body_html = '<p>On it.</p>'

/** Lists, and sends one reply. A queue that repeats it sends two. */
const reply: FaultTestJob = async ({ workspace }) => {
  const [newest] = (await workspace.conversations.list({ limit: 1 })).data
  await workspace.messages.create(newest?.id ?? '', { body_html })
}

const readMe: FaultTestJob = async ({ workspace }) => {
  await workspace.me()
}

const createContact: FaultTestJob = ({ workspace }) => workspace.contacts.create({ email: 'ada@example.com' })

const fail = (error: Error) => (): never => {
  throw error
}

/** Returns a client of the job's own, which never retries. */
function clientOf({ url: baseUrl, fetch, issueToken }: Sandbox): SupportWorkspace<'self'> {
  const accessToken = issueToken({ actor: 'self' })
  return new SupportWorkspace({ baseUrl, accessToken, actor: 'self', fetch, maxRetries: 0 })
}

/** Returns a function that throws its argument in a callback. */
function throwIn(call: (callback: () => void) => unknown): (error: unknown) => void {
  return (error) =>
    void call(() => {
      throw error
    })
}

function readThisFile(callback: () => void): void {
  readFile(import.meta.filename, callback)
}

function endsOf({ runs }: FaultTestReport): Record<string, string> {
  return Object.fromEntries(runs.map(({ id, end }) => [id, end]))
}

let rememberedCalls = 0

test.each<[why: string, message: string, job: FaultTestJob, options?: FaultTestOptions]>([
  ['that sends nothing', 'The job sends no request', async () => {}],
  ['that fails without a fault', 'not done without a fault: Error: Broken', async () => fail(new Error('Broken'))()],
  [
    'that waits for nothing',
    'not done without a fault: was stopped after waiting for nothing. Settle every promise. Timers that a module kept',
    () => new Promise(() => {}),
  ],
  [
    'whose own client does not use the sandbox',
    'Pass `fetch: sandbox.fetch` to your client.',
    ({ sandbox }) => clientOf({ ...sandbox, fetch: () => Promise.reject(new TypeError('fetch failed')) }).me(),
  ],
  [
    'that `done` does not accept',
    'not done without a fault: resolved, but was not done',
    readMe,
    { done: () => false },
  ],
  [
    'whose check fails without a fault',
    '`check` failed without a fault: RangeError: No. Fix the job or `check` first.',
    readMe,
    { check: fail(new RangeError('No')) },
  ],
  ['whose `setup` fails', 'Closed.', readMe, { setup: fail(new Error('Closed.')) }],
  [
    'for which `done` returns no boolean',
    '`done` must be a boolean, not a str',
    readMe,
    { done: () => 'yes' as never },
  ],
  [
    'that leaves an error unhandled',
    'leaves an error unhandled without a fault',
    async ({ workspace }) => {
      await workspace.me()
      void Promise.reject(new Error('Nobody cares'))
    },
  ],
  [
    'that remembers an earlier run',
    'differ. Requests: 1 in the first, 2 in the second. The second run is a day later, and then a minute.',
    async ({ workspace }) => {
      rememberedCalls += 1
      if (rememberedCalls > 1) await workspace.me()
      await workspace.me()
    },
  ],
])('a job is refused %s', async (_, message, job, options) => {
  await expect(faultTest(job, options)).rejects.toThrow(message)
})
const noAssignments = 'killed-before-assignment@1 was never injected: the job made 0 assignments.'

test.each<[what: string, options: object, message: string, job?: FaultTestJob]>([
  ['an unknown option', { fault: [] }, '`fault` is not an option of `faultTest`. Use one of: '],
  ['an unknown fault', { faults: ['503'] }, 'There is no fault "503". Use one of: unavailable, '],
  ['the id of no run', { only: ['unavailable@x'] }, '`only[0]` must be an integer of at least 1'],
  ['an id with two requests', { only: ['unavailable@1@2'] }, '"unavailable@1@2" is not the id of a run.'],
  ['a run beyond the requests', { only: ['revoked@9'] }, 'revoked@9 was never injected: the job made 1 request.'],
  ['a run beyond the assignments', { only: ['killed-before-assignment@1'] }, noAssignments],
  [
    'a request beyond the last',
    { faults: ['killed-before-request'], requests: [7] },
    'killed-before-request@7 was never',
  ],
  [
    'a change of what is not there',
    { only: ['item-removed@1'] },
    'item-removed@1 was never injected: the fault cannot affect',
  ],
  ['faults that cannot be injected', { faults: ['killed-before-assignment'] }, noAssignments],
  ['a hole in `faults`', { faults: new Array(1) }, '`faults[0]` must be a non-empty string, not undefined.'],
  ['no faults', { faults: [] }, '`faults` is empty, so nothing is tested.'],
  ['a list that is none', { faults: 'revoked' }, '`faults` must be an array, not a string.'],
  ['data that cannot be', { sandbox: { conversations: -1 } }, '`conversations`'],
  ['a check that is no function', { check: true }, '`check` must be a function'],
  ['a limiter that outlives a run', { client: { rateLimiter: {} } }, '`client` has `rateLimiter`, which each run gets'],
  ['its own clock', { sandbox: { now: Date.now } }, '`sandbox` has `now`, which each run gets from the fault test.'],
  ['client options that are none', { client: 5 }, '`client` must be a plain object, not a number.'],
  ['a promise of options', { sandbox: Promise.resolve({}) }, '`sandbox` must be a plain object, not a Promise.'],
  ['a signal that is none', { signal: new AbortController() }, '`signal` must be an AbortSignal'],
  ['a job that is no function', {}, '`job` must be a function, not an object.', {} as FaultTestJob],
])('rejects %s', async (_, options, message, job = readMe) => {
  await expect(faultTest(job, options)).rejects.toThrow(message)
})

const jobWith =
  (requests: number, assignments: number): FaultTestJob =>
  async ({ workspace, state }) => {
    for (let count = 0; count < requests; count += 1) await workspace.me()
    for (let count = 0; count < assignments; count += 1) state[count] = true
  }

test('each number of `requests` needs that request, and an assignment does not stand in for it', async () => {
  const options: FaultTestOptions = { faults: ['killed-before-assignment', 'unavailable'], requests: [2] }
  const { runs } = await faultTest(jobWith(2, 1), options)
  expect(runs.map(({ id }) => id)).toEqual(['unavailable@2', 'killed-before-assignment@1'])
  const message = 'unavailable@2 was never injected: the job made 1 request.'
  await expect(faultTest(jobWith(1, 2), options)).rejects.toThrow(message)
})

test('the data is less than two days old in every run, and none of it lies in the future', async () => {
  const times = new Set<string>()
  await faultTest(
    async ({ workspace }) => {
      const conversations = await workspace.conversations.list({ limit: 50 }).toArray()
      const ages = conversations.map((each) => Date.now() / 1_000 - (each.last_message_inserted_at ?? 0))
      if (ages.some((age) => age < 0 || age > 2 * 86_400)) throw new Error(`Ages: ${ages}`)
      times.add(new Date().toISOString().slice(0, 16))
    },
    { only: ['killed-before-request@1'] },
  )
  expect([...times]).toEqual(['2026-01-05T15:00', '2026-01-06T17:03'])
})

test('the requests of `setup` and `check` are not counted, and meet no fault', async () => {
  const create = async (sandbox: Sandbox, email: string): Promise<undefined> => {
    await clientOf(sandbox).contacts.create({ email })
  }
  const report = await faultTest(readMe, {
    faults: ['unavailable-from-here', 'reset-before-effect'],
    setup: (sandbox) => create(sandbox, 'before@example.com'),
    check: (sandbox) => create(sandbox, 'after@example.com'),
  })
  expect(endsOf(report)).toEqual({ 'unavailable-from-here@1': 'gave-up', 'reset-before-effect@1': 'done' })
  expect(report.writes).toEqual([])
})

test('injects each fault into each request, and kills before each assignment', async () => {
  const report = await faultTest(async ({ workspace, state }) => {
    await workspace.me()
    state.first = true
    await workspace.me()
    delete state.first
  })
  expect(report.runs).toHaveLength(2 * 11 + 2)
  expect(failuresOf(report)).toEqual([])
})

test('repeats a job as a queue does, by the remedy of its error', async () => {
  expect(endsOf(await faultTest(reply))).toMatchObject({
    'unavailable@1': 'done', // by the client
    'unavailable-from-here@1': 'gave-up',
    'unavailable@2': 'verify',
    'rate-limited@2': 'done',
    'refused@2': 'done',
    'reset-before-effect@2': 'verify',
    'late-effect@2': 'verify',
    'stalled@2': 'verify',
    'revoked@2': 'done', // with a new token
    'killed-before-request@2': 'done',
  })
})

describe('after a kill', () => {
  test('the job begins anew with what it had assigned', async () => {
    const seen: unknown[] = []
    await faultTest(
      async ({ workspace, state }) => {
        seen.push(structuredClone({ ...state }))
        const list = ['one']
        state.list = list
        list.push('lost')
        await workspace.me()
        state.done = true
      },
      { only: ['killed-before-request@1'] },
    )
    expect(seen).toEqual([{}, {}, {}, { list: ['one'] }])
  })

  test('the old run reaches nothing: not the service, the storage, the state, nor a timer', async () => {
    const report = await faultTest(
      async ({ workspace, state, storage, context: reached }) => {
        const isFirst = state.begun === undefined && reached.runs++ === 0
        await workspace.me()
        if (!isFirst) return
        setTimeout(() => reached.ghosts.push('timer'), 1)
        state.begun = true
        state.ghost = true
        void Promise.resolve(storage.compareAndSet('ghost', null, 'value')).then(() => reached.ghosts.push('storage'))
        void workspace.contacts.create({ email: 'ghost@example.com' }).finally(() => reached.ghosts.push('service'))
      },
      {
        setup: () => ({ runs: 0, ghosts: [] as string[] }),
        only: ['killed-before-assignment@1'],
        check(sandbox, { state, attempts, context }) {
          if (attempts.length === 1) return
          expect([state, context.ghosts, sandbox.state.writes]).toEqual([{}, [], []])
        },
      },
    )
    expect(report.runs[0]?.attempts).toEqual(['was killed', 'resolved'])
    expect(failuresOf(report)).toEqual(['killed-before-assignment@1 lost'])
  })

  test('the storage survives, and each write to it is a moment to be killed at', async () => {
    const job: FaultTestJob = async ({ workspace, storage }) => {
      await workspace.me()
      const text = await storage.get('key')
      if (!(await storage.compareAndSet('key', text ?? null, `${text ?? ''}x`))) throw new Error('Taken')
      if ((await storage.get('key')) === 'x') await storage.compareAndSet('key', 'x', 'done')
      const listed: string[] = []
      for await (const page of storage.list('')) listed.push(...page.map(([key]) => key))
      if (listed.join() !== 'key') throw new Error('Not listed')
    }
    const report = await faultTest(job, { faults: ['killed-before-assignment'] })
    expect(report.runs.map(({ attempts }) => attempts)).toEqual(Array(2).fill(['was killed', 'resolved']))
  })
})

describe('a judgement', () => {
  test.each<[name: string, job: FaultTestJob, options: FaultTestOptions, failures: string[]]>([
    [
      'doubled: a job looks for its write before a late effect',
      async ({ workspace }) => {
        const [newest] = (await workspace.conversations.list({ limit: 1 })).data
        const id = newest?.id ?? ''
        await workspace.messages.create(id, { body_html }).catch(async () => {
          const found = (await workspace.messages.list(id)).data.some((message) => message.body_html === body_html)
          if (!found) await workspace.messages.create(id, { body_html })
        })
      },
      { faults: ['reset-before-effect', 'reset-after-effect', 'late-effect'] },
      ['late-effect@2 doubled'],
    ],
    [
      'doubled: a text that differs in every run is compared by number',
      async ({ workspace }) => {
        const [newest] = (await workspace.conversations.list({ limit: 1 })).data
        await workspace.messages.create(newest?.id ?? '', { body_html: `${Date.now()} ${Math.random()}` })
      },
      { faults: ['rate-limited', 'killed-after-effect', 'killed-for-an-hour'] },
      ['killed-after-effect@2 doubled', 'killed-for-an-hour@2 doubled'],
    ],
    [
      'lost',
      ({ workspace }) =>
        workspace.me().then(
          ({ user }) => workspace.contacts.create({ email: `for-${user?.email}` }),
          () => undefined,
        ),
      { faults: ['revoked'], requests: [1] },
      ['revoked@1 lost'],
    ],
    [
      'extra',
      async ({ workspace }) => {
        await workspace.me().catch(() => workspace.contacts.create({ email: 'extra@example.com' }))
      },
      { faults: ['unavailable'], client: { maxRetries: 0 } },
      ['unavailable@1 extra'],
    ],
    [
      'stuck',
      createContact,
      { faults: ['killed-before-request', 'killed-after-effect'] },
      ['killed-after-effect@1 stuck'],
    ],
    [
      'never-ends: a job that retries for ever',
      async (world) => {
        while ((await readMe(world).catch(() => 'failed')) === 'failed') await wait(60_000)
      },
      { faults: ['unavailable', 'unavailable-from-here'] },
      ['unavailable-from-here@1 never-ends'],
    ],
    [
      'never-ends: a job that waits without a pause for a lock that a killed one has left',
      async ({ workspace, storage }) => {
        while (!(await storage.compareAndSet('lock', null, 'mine'))) {}
        await workspace.contacts.create({ email: 'ada@example.com' })
        await storage.compareAndSet('lock', 'mine', null)
      },
      { faults: ['killed-after-effect'] },
      ['killed-after-effect@1 never-ends'],
    ],
    [
      'check',
      reply,
      {
        faults: ['rate-limited', 'killed-after-effect'],
        check: (sandbox) => expect(sandbox.state.writes.length).toBeLessThan(2),
      },
      ['killed-after-effect@2 doubled', 'killed-after-effect@2 check'],
    ],
  ])('%s', async (_, job, options, failures) => {
    expect(failuresOf(await faultTest(job, options))).toEqual(failures)
  })

  test.each<[what: string, job: FaultTestJob]>([
    [
      'a rejection that nobody awaits',
      async ({ workspace }) => {
        void workspace.me()
        await wait(1)
      },
    ],
    ['an exception after a file was read', ({ workspace }) => workspace.me().catch(throwIn(readThisFile))],
    ['a rejection without a reason', ({ workspace }) => workspace.me().catch(() => void Promise.reject())],
  ])('unhandled: %s', async (_, job) => {
    const report = await faultTest(job, { faults: ['unavailable'], client: { maxRetries: 0 } })
    expect(failuresOf(report)).toEqual(['unavailable@1 unhandled'])
    expect(String(report)).toContain('\n  An error that nobody handled ends the process: ')
  })

  test('none for a timer that a job leaves behind, which does not go on for long', async () => {
    let fired = 0
    const leave: FaultTestJob = async ({ workspace }) => {
      await workspace.me()
      setInterval(() => {
        fired += 1
      })
    }
    expect(failuresOf(await faultTest(leave, { only: ['rate-limited@1'] }))).toEqual([])
    expect(fired).toBe(3 * 20_000)
  })

  test('none, if `done` says that a job which resolved is not done', async () => {
    type Result = { readonly failed: number }
    const job: FaultTestJob<undefined, Result> = async ({ workspace }) => {
      const [{ status }] = await Promise.allSettled([workspace.contacts.create({ email: 'ada@example.com' })])
      return { failed: status === 'rejected' ? 1 : 0 }
    }
    const options: FaultTestOptions<undefined, Result> = { faults: ['revoked'] }
    expect(failuresOf(await faultTest(job, options))).toEqual(['revoked@1 lost'])
    for (const done of [({ failed }: Result) => failed === 0, async ({ failed }: Result) => failed === 0]) {
      const report = await faultTest(job, { ...options, done })
      expect([failuresOf(report), endsOf(report)]).toEqual([[], { 'revoked@1': 'not-done' }])
    }
  })
})

describe('a signal', () => {
  const reason = new Error('Enough')
  let controller: AbortController
  beforeEach(() => {
    controller = new AbortController()
  })
  const abortAndHang = (): Promise<never> => {
    controller.abort(reason)
    return new Promise(() => {})
  }

  test.each<[where: string, options: FaultTestOptions, job?: FaultTestJob]>([
    ['in `setup`', { setup: abortAndHang }],
    ['in a run', {}, ({ workspace }) => workspace.me().then(abortAndHang)],
    [
      'in a job that repeats without a pause',
      {},
      async ({ workspace }) => {
        setImmediate(() => controller.abort(reason))
        for (;;) await workspace.me()
      },
    ],
  ])('ends a fault test %s', async (_, options, job = readMe) => {
    const { signal } = controller
    await expect(faultTest(job, { ...options, signal, client: { maxRetries: 0 } })).rejects.toBe(reason)
  })
})

const throwing = () => fail(new Error('No words'))()

test.each<[what: string, thrown: unknown, words: string]>([
  ['that is no object', undefined, 'undefined'],
  ['without words', Object.create(null), '[Object: null prototype] {}'],
  ['that cannot be printed', { [inspect.custom]: throwing, number: 5 }, '{ number: 5, '],
])('a job may throw a value %s, and keep a state that holds itself', async (_, thrown, words) => {
  const job: FaultTestJob = async ({ workspace, state }) => {
    if (state.self !== undefined) throw thrown
    const self: Record<string, unknown> = {}
    state.self = Object.assign(self, { self })
    await workspace.me()
  }
  const { failures } = await faultTest(job, { faults: ['revoked'] })
  expect(failures.map(({ judgements }) => judgements.map(({ text }) => text))).toEqual([
    [expect.stringContaining(`the job gave up with ${words}`)],
  ])
})

const events = ['unhandledRejection', 'uncaughtException'] as const

test.each(events)('an %s outside the job goes where it went before', async (event) => {
  const others = process.listeners(event as 'uncaughtException')
  process.removeAllListeners(event)
  const listener = vi.fn()
  process.on(event, listener)
  const error = new Error('Outside')
  await faultTest(readMe, {
    only: ['rate-limited@1'],
    setup() {
      if (event === 'unhandledRejection') void Promise.reject(error)
      else throwIn(process.nextTick)(error)
      return new Promise<undefined>((resolve) => setImmediate(resolve, undefined))
    },
  })
  process.off(event, listener)
  for (const other of others) process.on(event, other)
  expect(listener.mock.calls.map(([thrown]) => thrown)).toEqual([error, error, error])
})

test('two fault tests at once do not see each other', async () => {
  const reports = await Promise.all([faultTest(readMe), faultTest(reply, { faults: ['killed-after-effect'] })])
  expect(reports.map(failuresOf)).toEqual([[], ['killed-after-effect@2 doubled']])
})

describe('a report', () => {
  afterEach(() => {
    vi.restoreAllMocks()
    process.exitCode = undefined
  })

  const options: FaultTestOptions = { faults: ['refused', 'revoked', 'killed-after-effect'] }

  test('says what came out twice, how the job ended, and how to repeat the run', async () => {
    const report = await faultTest(async (world) => {
      await reply(world)
      world.state.isDone = true
    }, options)
    const lines = String(report).split('\n')
    expect(lines).toEqual([
      '                     1        2',
      'refused              ok       ok',
      'revoked              retried  retried',
      'killed-after-effect           doubled',
      '',
      '1 conversations.list, 2 messages.create',
      '',
      '5 runs, 1 failed (causes: 1). Without a fault, 1 write: 1 messages.create.',
      '',
      expect.stringMatching(
        /^DOUBLED: the process killed after the effect at request 2 of 2 \(messages.create, POST .+\)$/,
      ),
      expect.stringMatching(/^ {2}messages.create \S+ was applied 2 times instead of 1: \{.+$/),
      '  Applied before: nothing',
      '  The job was killed, then resolved.',
      '  To repeat it:',
      "    test('survives killed-after-effect@2', async () => {",
      "      (await faultTest(job, { ...options, only: ['killed-after-effect@2'] })).assert()",
      '    })',
    ])
    expect(() => report.assert()).toThrow(lines.slice(7).join('\n'))
  })

  test.each<[job: FaultTestJob, fault: FaultName, exitCode: number | undefined, summary: string]>([
    [reply, 'killed-after-effect', 1, '1 run, 1 failed (causes: 1). Without a fault, 1 write: 1 messages.create.'],
    [readMe, 'revoked', undefined, '1 run, 0 failed. The job sent no write.'],
  ])('is printed, and sets the exit code if a run failed', async (job, fault, exitCode, summary) => {
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
    const report = await faultTest(job, { faults: [fault] })
    report.print()
    expect(write).toHaveBeenCalledWith(`${report}\n`)
    expect([process.exitCode, String(report)]).toEqual([exitCode, expect.stringContaining(summary)])
  })

  test('names the earliest request and the simplest fault of each cause first', async () => {
    const report = await faultTest(async ({ workspace, state }) => {
      const { data } = await workspace.conversations.list({ limit: 2 })
      for (const { id } of data) await workspace.notes.create(id, { body_html })
      state.isDone = true
    })
    expect(report.failures.map(({ id }) => id)).toEqual(['killed-after-effect@2'])
    expect(String(report)).toContain(
      'The same in 12 more: killed-for-an-hour@2, killed-for-a-day@2, status-changed@2, ',
    )
  })
})

test.each([
  ['a browser', undefined],
  ['Bun', { versions: { node: '24.0.0', bun: '1.3.0' } }],
])('says in %s that it needs Node', async (_, other) => {
  vi.stubGlobal('process', other)
  await expect(faultTest(readMe)).rejects.toThrow('A fault test simulates time with hooks that only Node has.')
  vi.unstubAllGlobals()
})

test('without a terminal, the progress is a line each half minute', () => {
  const now = vi.spyOn(performance, 'now')
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  for (const seconds of [0, 29, 31, 60, 62]) {
    now.mockReturnValue(10_000_000 + seconds * 1_000)
    showProgress(`${seconds} of 99`)
  }
  showProgress('')
  const lines = write.mock.calls.map(([line]) => line)
  vi.restoreAllMocks()
  expect(lines).toEqual(['0 of 99\n', '31 of 99\n', '62 of 99\n'])
})
