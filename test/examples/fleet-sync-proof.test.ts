import type { RateLimitedCall } from 'support-workspace-sdk'
import { createSandbox } from 'support-workspace-sdk/sandbox'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Change, StoredItem } from '../../examples/fleet-sync/database.ts'
import { Changes } from '../../examples/fleet-sync/proof/changes.ts'
import { compare, noDifferences } from '../../examples/fleet-sync/proof/compare.ts'
import { createFixedRateLimiter } from '../../examples/fleet-sync/proof/fixed-rate-limiter.ts'
import { type Measurement, measured } from '../../examples/fleet-sync/proof/measured-rate-limiter.ts'
import { readOptions } from '../../examples/fleet-sync/proof/options.ts'
import { goodputs, latency, type Period, refusedShare } from '../../examples/fleet-sync/proof/report.ts'
import type { Account, Truth } from '../../examples/fleet-sync/proof/service.ts'

const call: RateLimitedCall = {
  operation: 'GET /things',
  canWait: true,
  startedAt: 0,
  timeLeft: 1_000,
  onWait: () => {},
}
const { signal } = new AbortController()

describe('compare', () => {
  const item = (id: string, data: object = { id }): StoredItem => ({
    kind: 'message',
    id,
    conversation: 'c',
    data,
    deleted: false,
  })
  const changesOf = (...changes: [Change['change'], string][]): Change[] =>
    changes.map(([change, id], index) => ({ number: index + 1, kind: 'message', id, change, sweep: 1 }))
  const truthOf = (items: StoredItem[], deleted: string[] = [], edits: [string, number][] = []): Truth => ({
    items: items.map(({ kind, id, data }) => ({ kind, id, data })),
    deleted: new Set(deleted),
    edits: new Map(edits),
  })

  test('finds no difference between a replica and what it is a copy of', () => {
    const stored = [item('a'), item('b'), { ...item('gone'), deleted: true }]
    const changes = changesOf(
      ['created', 'a'],
      ['created', 'b'],
      ['created', 'gone'],
      ['updated', 'b'],
      ['deleted', 'gone'],
    )
    expect(compare(stored, changes, truthOf([item('a'), item('b')], ['gone'], [['b', 2]]))).toEqual(noDifferences)
  })

  test.each<[string, StoredItem[], Change[], Truth, object]>([
    ['an item that is missing', [], changesOf(['created', 'a']), truthOf([item('a')]), { lost: 1 }],
    [
      'an item in an old state',
      [item('a', { id: 'a', old: true })],
      changesOf(['created', 'a']),
      truthOf([item('a')]),
      { lost: 1 },
    ],
    [
      'an item of another kind',
      [{ ...item('a'), kind: 'conversation' }],
      changesOf(['created', 'a']),
      truthOf([item('a')]),
      { lost: 1 },
    ],
    ['an item that was never reported', [item('a')], [], truthOf([item('a')]), { lost: 1 }],
    [
      'an item that does not exist',
      [item('a')],
      changesOf(['created', 'a']),
      truthOf([], ['a']),
      { doubled: 1, missedDeletions: 1 },
    ],
    [
      'a creation reported twice',
      [item('a')],
      changesOf(['created', 'a'], ['created', 'a']),
      truthOf([item('a')]),
      { doubled: 1 },
    ],
    [
      'more updates than edits',
      [item('a')],
      changesOf(['created', 'a'], ['updated', 'a'], ['updated', 'a']),
      truthOf([item('a')], [], [['a', 1]]),
      { doubled: 1 },
    ],
    [
      'a gap in the log',
      [item('a')],
      changesOf(['created', 'a']).map((change) => ({ ...change, number: 2 })),
      truthOf([item('a')]),
      { doubled: 1 },
    ],
    [
      'a deletion that never happened',
      [{ ...item('a'), deleted: true }],
      changesOf(['created', 'a'], ['deleted', 'a']),
      truthOf([item('a')]),
      { lost: 1, falseDeletions: 1 },
    ],
    [
      'a deletion that was taken back',
      [item('a')],
      changesOf(['created', 'a'], ['deleted', 'a'], ['restored', 'a']),
      truthOf([item('a')]),
      { falseDeletions: 2 },
    ],
    [
      'a deletion that was not reported',
      [{ ...item('a'), deleted: true }],
      changesOf(['created', 'a']),
      truthOf([], ['a']),
      { missedDeletions: 1 },
    ],
  ])('finds %s', (_, stored, changes, truth, differences) => {
    expect(compare(stored, changes, truth)).toEqual({ ...noDifferences, ...differences })
  })
})

test('records each change that other people make', async () => {
  const sandbox = createSandbox({ conversations: 3, messagesPerConversation: 1 })
  const organization = sandbox.state.organization.id
  const before = new Map(
    sandbox.state.conversations.flatMap(({ id }) => sandbox.state.messages(id)).map((each) => [each.id, each]),
  )
  const changes = new Changes(sandbox, new Map([[organization, sandbox.issueToken({ actor: 'self' })]]))
  for (let count = 0; count < 300; count += 1) await changes.make(organization)

  const { deleted, edits } = changes.logOf(organization)
  const writes = sandbox.state.writes.map(({ operation }) => operation)
  expect(new Set(writes)).toEqual(
    new Set(['createConversation', 'updateConversation', 'createMessage', 'updateMessage', 'deleteMessage']),
  )
  expect(deleted.size).toBe(writes.filter((operation) => operation === 'deleteMessage').length)
  const messages = sandbox.state.conversations.flatMap(({ id }) => sandbox.state.messages(id))
  expect(messages.filter(({ id }) => deleted.has(id))).toEqual([])
  expect([...before.keys()].filter((id) => !messages.some((message) => message.id === id))).toEqual([])
  const edited = [...edits.keys()].filter((id) => messages.some((message) => message.id === id) || deleted.has(id))
  expect(edited.length).toBeGreaterThan(0)
})

describe('the fixed rate limiter', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  test('asks each call to wait for the next slot of its connection', () => {
    const limiter = createFixedRateLimiter(4)
    const waits: number[] = []
    const waiting = { ...call, onWait: (wait: number) => waits.push(wait) }
    for (let count = 0; count < 3; count += 1) void Promise.resolve(limiter.acquire('a', signal, waiting))
    void limiter.acquire('b', signal, waiting)
    expect(waits).toEqual([250, 500])
  })

  test('holds a connection back after a 429', () => {
    const limiter = createFixedRateLimiter(4)
    const waits: number[] = []
    void limiter.penalize('a', 3_000)
    void limiter.acquire('a', signal, { ...call, onWait: (wait) => waits.push(wait) })
    expect(waits).toEqual([3_000])
  })

  test('takes no slot for a call that cannot wait', async () => {
    const limiter = createFixedRateLimiter(4)
    await limiter.acquire('a', signal, call)
    const impatient = () => {
      throw new Error('too long')
    }
    await expect(limiter.acquire('a', signal, { ...call, onWait: impatient })).rejects.toThrow('too long')
    const waits: number[] = []
    void limiter.acquire('a', signal, { ...call, onWait: (wait) => waits.push(wait) })
    expect(waits).toEqual([250])
  })
})

test('a measured limiter passes calls on, and reports each request when it is over', async () => {
  const events: string[] = []
  const requests: Measurement[] = []
  const limiter = measured(
    {
      acquire: (key) => {
        events.push(`acquire ${key}`)
        return () => void events.push('release')
      },
      penalize: (key, duration) => void events.push(`penalize ${key} ${duration}`),
    },
    (request) => requests.push(request),
  )
  const release = await limiter.acquire('a', signal, { ...call, startedAt: performance.now() })
  expect(requests).toEqual([])
  release?.()
  void limiter.penalize('a', 5)
  expect(events).toEqual(['acquire a', 'release', 'penalize a 5'])
  expect(requests).toEqual([{ key: 'a', held: expect.any(Number), total: expect.any(Number) }])
})

describe('the report', () => {
  const account = (id: string, role: Account['role'], limit: number): Account => ({
    id,
    role,
    limit,
    token: '',
    conversations: 1,
  })
  const accounts = [
    ...['paced', 'refused', 'held too long', 'slow machine'].map((id) => account(id, 'busy', 60)),
    account('quiet', 'quiet', 600),
  ]
  const keys = new Map(accounts.map(({ id }) => [id, `key of ${id}`]))
  const traffic = { sent: 0, refused: 0, others: 0, faults: 0 }
  const period: Period = {
    seconds: 100,
    traffic: new Map([
      ['paced', { ...traffic, sent: 97, refused: 1, others: 2 }],
      ['refused', { ...traffic, sent: 120, refused: 20 }],
      ['held too long', { ...traffic, sent: 40 }],
      ['slow machine', { ...traffic, sent: 50, refused: 1 }],
      ['quiet', { ...traffic, sent: 93 }],
    ]),
    requests: [
      ...Array.from({ length: 97 }, () => ({ key: 'key of paced', held: 900, total: 1_000 })),
      ...Array.from({ length: 40 }, () => ({ key: 'key of held too long', held: 2_400, total: 2_500 })),
      ...Array.from({ length: 50 }, () => ({ key: 'key of slow machine', held: 1, total: 2_000 })),
      ...[4, 1, 3, 2, 5].map((total) => ({ key: 'key of quiet', held: 0, total })),
    ],
    workerCpu: 0,
    serviceCpu: 0,
    sweeps: 0,
  }

  test('counts refused requests as a share of all', () => {
    expect(refusedShare([period])).toBe(0.055)
    expect(refusedShare([period, { ...period, traffic: new Map() }])).toBe(0.055)
  })

  test('relates accepted requests to the limit, except where the machine was too slow to reach it', () => {
    const expected = { paced: 0.98, refused: 1, 'held too long': 0.4 }
    expect(Object.fromEntries(goodputs(period, accounts, keys))).toEqual(expected)
  })

  test('gives the percentiles of some connections', () => {
    expect(latency(period, new Set(['key of quiet']))).toEqual({ p50: 3, p95: 4, requests: 5 })
  })
})

describe('the options', () => {
  test('plan one noisy organization, some quiet ones, and busy ones with different limits', () => {
    for (const args of [[], ['--ci'], ['--connections', '50']]) {
      const { organizations = [] } = readOptions(args) ?? {}
      const roles = organizations.map(({ role }) => role)
      expect(roles.filter((role) => role === 'noisy')).toHaveLength(1)
      expect(roles.filter((role) => role === 'quiet').length).toBeGreaterThan(1)
      expect(
        new Set(organizations.filter(({ role }) => role === 'busy').map(({ limit }) => limit)).size,
      ).toBeGreaterThan(3)
      expect(organizations.length).toBe(args.includes('50') ? 50 : args.includes('--ci') ? 20 : 200)
    }
  })

  test('set how long each part of the run takes', () => {
    const options = readOptions(['--warm-up', '30', '--seconds', '40', '--kills', '10', '--noisy', '50'])
    expect(options?.organizations.find(({ role }) => role === 'noisy')).toMatchObject({ conversations: 50 })
    expect(options).toMatchObject({ warmUp: 30, quiet: 20, noisy: 20, kills: 10 })
    expect(readOptions([])).toMatchObject({ warmUp: 120, quiet: 120, noisy: 120, kills: 90 })
  })

  test('reject what they do not know', () => {
    expect(() => readOptions(['--limiter', 'some'])).toThrow('--limiter must be shared, fixed or none.')
    expect(() => readOptions(['--workers', '0'])).toThrow('--workers must be an integer of at least 1.')
    expect(readOptions(['--help'])).toBeUndefined()
  })
})
