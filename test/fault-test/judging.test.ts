import { SupportWorkspaceError } from 'support-workspace-sdk'
import { WriteJournal } from 'support-workspace-sdk/journal'
import { describe, expect, test } from 'vitest'
import { type FaultTestJob, type FaultTestOptions, faultTest } from '../../src/fault-test/index.ts'
import { failuresOf as namesOf } from './programs.ts'

const body_html = '<p>On it.</p>'

async function failuresOf(job: FaultTestJob, options: FaultTestOptions = {}): Promise<string[]> {
  return namesOf(await faultTest(job, { unseen: 'allowed', ...options }))
}

/** Sends a reply and a note to the newest open conversation, each once for a key. */
const replyAndNote =
  (keyOf: (id: string) => string): FaultTestJob =>
  async ({ workspace, storage }) => {
    const journal = new WriteJournal({ workspace, storage })
    const { data } = await workspace.conversations.list({ limit: 4 })
    const id = data.find(({ status }) => status === 'open')?.id
    if (id === undefined) return
    await journal.once(`reply:${keyOf(id)}`, (client) => client.messages.create(id, { body_html }))
    await journal.once(`note:${keyOf(id)}`, (client) => client.notes.create(id, { body_html }))
  }

/** The same with what was begun in the state, which the job ends first. */
const replyAndNoteOnce: FaultTestJob = async ({ workspace, state }) => {
  const { data } = await workspace.conversations.list({ limit: 4 })
  state.id ??= data.find(({ status }) => status === 'open')?.id
  const id = String(state.id)
  for (const list of ['messages', 'notes'] as const) {
    if (state[list] === 'done') continue
    if (state[list] === 'begun') {
      const hint = 'Look at the conversation.'
      throw new SupportWorkspaceError('Perhaps sent.', { hint, remedy: 'verify' })
    }
    state[list] = 'begun'
    if (list === 'notes') await workspace.notes.create(id, { body_html })
    else await workspace.messages.create(id, { body_html })
    state[list] = 'done'
  }
}

/** Closes every conversation whose last message is older than this, in seconds. */
const endStale =
  (age: number): FaultTestJob =>
  async ({ workspace }) => {
    for await (const { id, last_message_inserted_at: at } of workspace.conversations.list()) {
      if ((at ?? 0) < Date.now() / 1_000 - age) await workspace.conversations.update(id, { status: 'closed' })
    }
  }

describe('somebody else works, too:', () => {
  const changes: FaultTestOptions = { faults: ['status-changed', 'assignee-changed', 'message-received'] }

  test('a reply whose conversation is closed before the note loses the note', async () => {
    expect(
      await failuresOf(
        replyAndNote((id) => id),
        changes,
      ),
    ).toEqual(['status-changed@3 lost'])
  })

  test('a job that ends what it began does not', async () => {
    expect(await failuresOf(replyAndNoteOnce, changes)).toEqual([])
  })

  test('what nobody began may be left out, and what is now due may be written', async () => {
    const answerOpen: FaultTestJob = async ({ workspace, state }) => {
      const { data } = await workspace.conversations.list({ limit: 12 })
      for (const { id, status } of data.filter((each) => each.status === 'open').slice(0, 2)) {
        if (state[id] === undefined) await workspace.notes.create(id, { body_html: `${status}: on it.` })
        state[id] = true
      }
    }
    expect(await failuresOf(answerOpen, { faults: ['item-removed', 'status-changed'] })).toEqual([])
  })

  test('a customer who writes again may get a second answer, and a colleague gets none', async () => {
    const reply: FaultTestJob = async ({ workspace }) => {
      const [newest] = (await workspace.conversations.list({ limit: 1 })).data
      await workspace.messages.create(newest?.id ?? '', { body_html })
    }
    expect(await failuresOf(reply, changes)).toEqual(['status-changed@2 doubled', 'assignee-changed@2 doubled'])
  })

  test('an item that is removed ends a job, which is not stuck for that', async () => {
    const { runs } = await faultTest(replyAndNoteOnce, { faults: ['item-removed'] })
    expect(runs.map(({ id, end, judgements }) => [id, end, judgements])).toEqual([
      ['item-removed@1', 'fix', []],
      ['item-removed@2', 'fix', []],
      ['item-removed@3', 'done', []],
    ])
  })

  test('what `check` says of data that was changed meanwhile does not count', async () => {
    const count: FaultTestJob = async ({ workspace, state }) => {
      state.count = (await workspace.conversations.list().toArray()).length
      for await (const contact of workspace.contacts.list()) await workspace.contacts.get(contact.id)
    }
    const failures = await failuresOf(count, {
      faults: ['item-removed', 'unavailable-from-here'],
      requests: [1, 2],
      check(sandbox, { state, end }) {
        if (end === 'gave-up') throw new Error('Given up')
        expect(state.count).toBe(sandbox.state.conversations.length)
        expect(sandbox.state.contacts).toHaveLength(12)
      },
    })
    expect(failures).toEqual(['unavailable-from-here@1 check', 'unavailable-from-here@2 check'])
  })
})

describe('an effect that is there already is not lost:', () => {
  test.each<[what: string, job: FaultTestJob]>([
    [
      'an update that changes nothing',
      async ({ workspace, storage }) => {
        const journal = new WriteJournal({ workspace, storage })
        const [contact] = (await workspace.contacts.list({ limit: 1 })).data
        const blocked = contact?.blocked ?? false
        await journal.once('block', (client) => client.contacts.update(contact?.id ?? '', { blocked }))
      },
    ],
    [
      'the newest two assigned to the second member',
      async ({ workspace, storage }) => {
        const journal = new WriteJournal({ workspace, storage })
        const user_id = (await workspace.members.list()).data[1]?.id ?? ''
        for (const { id } of (await workspace.conversations.list({ limit: 2 })).data) {
          await journal.once(`assign:${id}`, (client) => client.conversations.assign(id, { user_id }))
        }
      },
    ],
  ])('%s', async (_, job) => {
    const faults = ['reset-before-effect', 'reset-after-effect', 'killed-after-effect'] as const
    expect(await failuresOf(job, { faults })).toEqual([])
  })

  test('an update that is not there is', async () => {
    const pin: FaultTestJob = async ({ workspace }) => {
      const [newest] = (await workspace.conversations.list({ limit: 1 })).data
      await workspace.conversations.update(newest?.id ?? '', { pinned: true }).catch(() => {})
    }
    expect(await failuresOf(pin, { faults: ['reset-before-effect', 'reset-after-effect'] })).toEqual([
      'reset-before-effect@2 lost',
    ])
  })
})

describe('time passes:', () => {
  test.each([
    ['three hours', 3 * 3_600],
    ['twelve hours', 12 * 3_600],
  ])('a job that closes what is stale for %s is not refused', async (_, age) => {
    expect(await failuresOf(endStale(age), { faults: ['killed-before-request', 'reset-before-effect'] })).toEqual([])
  })

  const late: FaultTestOptions = { faults: ['killed-for-an-hour', 'killed-for-a-day'] }

  test.each<[what: string, length: number, failures: string[]]>([
    ['hour', 13, ['hour@3', 'hour@4', 'day@3', 'day@4']],
    ['day', 10, ['day@3', 'day@4']],
    ['month', 7, []],
  ])('a key that holds the %s is a doubled write', async (_, length, failures) => {
    const job = replyAndNote((id) => `${id}:${new Date().toISOString().slice(0, length)}`)
    const { runs } = await faultTest(job, late)
    const doubled = runs.filter(({ judgements }) => judgements.some(({ name }) => name === 'doubled'))
    expect(doubled.map(({ id }) => id.replace(/killed-for-an?-/, ''))).toEqual(failures)
  })

  test('writes that became due meanwhile are not', async () => {
    const answerStale: FaultTestJob = async ({ workspace, state }) => {
      for await (const { id, last_message_inserted_at: at } of workspace.conversations.list()) {
        if ((at ?? 0) > Date.now() / 1_000 - 5 * 3_600 || state[id] === true) continue
        state[id] = true
        await workspace.messages.create(id, { body_html })
      }
    }
    expect(await failuresOf(answerStale, late)).toEqual([])
  })
})
