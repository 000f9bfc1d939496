import { WriteJournal } from 'support-workspace-sdk/journal'
import { describe, expect, test } from 'vitest'
import {
  type FaultTestChange,
  type FaultTestJob,
  type FaultTestOptions,
  faultTest,
} from '../../src/fault-test/index.ts'
import { LastLook } from '../../src/fault-test/last-look.ts'
import type { Sandbox } from '../../src/sandbox/index.ts'
import { replyToAll } from './programs/reply-checked-early.ts'
import { failuresOf } from './programs.ts'

const body_html = '<p>On it.</p>'
const live = [
  'customer-writes',
  'colleague-writes',
  'colleague-closes',
  'colleague-assigns',
  'colleague-writes-while-limited',
] as const
const options: FaultTestOptions = { faults: live, sandbox: { conversations: 2, contacts: 3 } }

/** The check comes before `once`, as a guide once taught it. */
const checkEarly: FaultTestJob = ({ workspace, storage }) =>
  replyToAll(workspace, new WriteJournal({ workspace, storage }))

/** Looks right before each attempt, and leaves retries to the queue. */
const checkLast: FaultTestJob = async ({ workspace, state }) => {
  for (const { id, user } of (await workspace.conversations.list({ limit: 2 })).data) {
    const [newest] = (await workspace.messages.list(id, { limit: 50 })).data
    if (newest === undefined || newest.user?.id !== user?.id || state[newest.id]) continue
    state[newest.id] = true
    await workspace.messages.create(id, { body_html }, { maxRetries: 0 }).catch((error) => {
      state[newest.id] = Reflect.get(Object(error), 'outcome') !== 'not-applied'
      throw error
    })
  }
}

describe('somebody writes while the job lives:', () => {
  test('a check before `once` is found, with and without a 429', async () => {
    const failures = failuresOf(await faultTest(checkEarly, options))
    expect(failures).toContain('customer-writes@4 unseen')
    expect(failures).toContain('colleague-writes@4 unseen')
    expect(failures).toContain('colleague-writes-while-limited@4 unseen')
    expect(failures.every((failure) => failure.endsWith(' unseen'))).toBe(true)
  })

  test('a check right before each attempt is not', async () => {
    const report = await faultTest(checkLast, options)
    report.assert()
    expect(report.writes).toEqual(['messages.create', 'messages.create'])
  })

  test("unseen: 'allowed' reports nothing of it", async () => {
    const { failures } = await faultTest(checkEarly, { ...options, unseen: 'allowed' })
    expect(failures).toEqual([])
  })

  test('the report says who wrote where', async () => {
    const report = await faultTest(checkEarly, { ...options, only: ['colleague-writes-while-limited@4'] })
    expect(String(report)).toMatch(
      /UNSEEN: a 429 with `Retry-After`, while a colleague writes during the wait at request 4 of \d+ \(messages\.create, .*\n {2}A message was sent to \S+\/messages, although a colleague had written there: the job had not read that message\./,
    )
  })
})

describe('`check` in these runs', () => {
  const reply: FaultTestJob = async ({ workspace }) => {
    const [newest] = (await workspace.conversations.list({ limit: 1 })).data
    await workspace.messages.create(newest?.id ?? '', { body_html })
  }
  const onlyClosed = { ...options, faults: ['colleague-closes', 'colleague-writes'] as const }

  test('gets what was changed and when, if it declares the parameter', async () => {
    const changes: (FaultTestChange | undefined)[] = []
    const report = await faultTest(reply, {
      ...onlyClosed,
      check(sandbox, _, change) {
        changes.push(change)
        const [message] = sandbox.state.messages(change?.id ?? '')
        if (change?.fault === 'colleague-closes') throw new Error(`Answered ${message?.body_html}`)
      },
    })
    expect(failuresOf(report)).toEqual(['colleague-closes@2 check'])
    const [id] = changes.flatMap((change) => change?.id ?? [])
    expect(changes).toEqual([
      undefined,
      undefined,
      { fault: 'colleague-writes', id, message: expect.stringMatching(/^msg_/), at: expect.any(Number) },
      { fault: 'colleague-closes', id, message: undefined, at: expect.any(Number) },
    ])
  })

  test('is ignored otherwise', async () => {
    const check = (sandbox: Sandbox) => expect(sandbox.state.conversations[0]?.status).toBe('closed')
    const report = await faultTest(reply, { ...onlyClosed, check })
    expect(failuresOf(report)).toEqual([])
  })
})

describe('the last look', () => {
  const path = '/api/oauth/v1/conversations'
  const message = `POST ${path}/cnv_1/messages`
  const look = `GET ${path}/cnv_1/messages`

  /** Follows requests that are answered at once, `wrote`, and waits in milliseconds. */
  function unseenAfter(...steps: readonly (string | number)[]): number {
    let now = 0
    const lastLook = new LastLook(() => now)
    for (const step of steps) {
      if (typeof step === 'number') now += step
      else if (step === 'wrote') lastLook.wrote('cnv_1')
      else {
        const [method = '', address, status = '200'] = step.split(' ')
        lastLook.send(method, new URL(`http://sandbox.localhost${address}`))(Number(status))
      }
    }
    return lastLook.unseen.length
  }

  test.each<[title: string, unseen: number, steps: readonly (string | number)[]]>([
    ['a message right after the look', 0, [look, 'wrote', message]],
    ['a message after the look and a wait', 1, [look, 'wrote', 1_001, message]],
    ['a message after the look and another request', 1, [look, 'GET /api/oauth/v1/me', 'wrote', message]],
    ['a message after a 429 of it', 1, [look, `${message} 429`, 'wrote', message]],
    ['a second look after the 429', 0, [look, `${message} 429`, 'wrote', look, message]],
    ['a message without a look', 1, ['wrote', message]],
    ['a look at the conversation', 0, ['wrote', `GET ${path}/cnv_1`, 5_000, message]],
    ['a look at another conversation', 1, ['wrote', `GET ${path}/cnv_2/messages`, message]],
    ['the next page, after the first was read before', 1, [look, 'wrote', `${look}?after=x`, 5_000, message]],
    ['a rejected look', 1, ['wrote', `${look} 503`, message]],
    ['two messages', 2, ['wrote', message, message]],
  ])('%s counts as %i unseen', (_, unseen, steps) => {
    expect(unseenAfter(...steps)).toBe(unseen)
  })

  test('requests of other conversations at the same time do not count as requests in between', () => {
    const lastLook = new LastLook(() => 0)
    const send = (step: string) => {
      const [method = '', address] = step.split(' ')
      return lastLook.send(method, new URL(`http://sandbox.localhost${address}`))
    }
    const first = send(look)
    const second = send(`GET ${path}/cnv_2/messages`)
    first(200)
    second(200)
    lastLook.wrote('cnv_1')
    send(message)(201)
    expect(lastLook.unseen).toEqual([])
  })
})
