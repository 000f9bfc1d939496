import type { SupportWorkspace, WebFetch } from 'support-workspace-sdk'
import type { FindEffect } from 'support-workspace-sdk/journal'
import type { FaultRule, Sandbox } from 'support-workspace-sdk/sandbox'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { operations, type WriteOperationId } from '../../src/client/resources/built-in-operations.ts'
import { isObject } from '../../src/shared/json.ts'
import { rejection } from '../helpers/client.ts'
import { body_html, fetchOf, open, openWith, skipWaits } from './helpers.ts'

type Workspace = SupportWorkspace<'self'>

/** What the writes change: two of each, so that somebody else can change the other one. */
type Ids = Readonly<Record<'conversation' | 'contact' | 'member' | 'message' | 'task' | 'segment', [string, string]>>

interface Row {
  readonly write: (client: Workspace, ids: Ids) => PromiseLike<unknown>
  /** Leaves an effect that is like that of the write, and is not. */
  readonly another: (other: Workspace, ids: Ids) => PromiseLike<unknown>
  /** A field without which the effect cannot be told. */
  readonly field?: string
  /** Whether no field is known that would show the effect. */
  readonly isHidden?: boolean
}

const email = 'new@example.com'
const opening = { customer_email: email, initial_message: 'Hello, is anybody there?' }

const rows: Record<WriteOperationId, Row> = {
  'contacts.create': {
    write: ({ contacts }) => contacts.create({ email }),
    another: ({ contacts }) => contacts.create({ email: `a.${email}` }),
    field: 'inserted_at',
  },
  'contacts.update': {
    write: ({ contacts }, { contact: [id] }) => contacts.update(id, { blocked: true }),
    another: ({ contacts }, { contact: [, id] }) => contacts.update(id, { blocked: true }),
    field: 'blocked',
  },
  'conversations.create': {
    write: ({ conversations }) => conversations.create(opening),
    another: ({ conversations }) => conversations.create({ ...opening, initial_message: 'Hello.' }),
    field: 'initial_message',
  },
  'conversations.update': {
    write: ({ conversations }, { conversation: [id] }) => conversations.update(id, { status: 'closed', pinned: true }),
    another: ({ conversations }, { conversation: [id] }) => conversations.update(id, { status: 'closed' }),
    field: 'pinned',
  },
  'conversations.assign': {
    write: ({ conversations }, { conversation: [id], member: [user_id] }) => conversations.assign(id, { user_id }),
    another: ({ conversations }, { conversation: [id], member: [, user_id] }) => conversations.assign(id, { user_id }),
    field: 'conversation_assignee',
  },
  'conversations.unassign': {
    write: ({ conversations }, { conversation: [id] }) => conversations.unassign(id),
    another: ({ conversations }, { conversation: [, id] }) => conversations.unassign(id),
    field: 'conversation_assignee',
  },
  'members.invite': {
    write: ({ members }) => members.invite({ email }),
    another: ({ members }) => members.invite({ email: `a.${email}` }),
    field: 'email',
  },
  'members.update': {
    write: ({ members }, { member: [id] }) => members.update(id, { role: 'moderator' }),
    another: ({ members }, { member: [, id] }) => members.update(id, { role: 'moderator' }),
    field: 'role',
  },
  'members.remove': {
    write: ({ members }, { member: [id] }) => members.remove(id),
    another: ({ members }, { member: [, id] }) => members.remove(id),
  },
  'messages.create': {
    write: ({ messages }, { conversation: [id] }) => messages.create(id, { body_html }),
    another: ({ messages }, { conversation: [id] }) => messages.create(id, { body_html }),
    field: 'user',
  },
  'messages.update': {
    write: ({ messages }, { conversation: [at], message: [id] }) => messages.update(at, id, { body_html }),
    another: ({ messages }, { conversation: [at] }) => messages.create(at, { body_html }),
    field: 'body_html',
  },
  'messages.delete': {
    write: ({ messages }, { conversation: [at], message: [id] }) => messages.delete(at, id),
    another: ({ messages }, { conversation: [at] }) => messages.create(at, { body_html }),
  },
  'notes.create': {
    write: ({ notes }, { conversation: [id] }) => notes.create(id, { body_html }),
    another: ({ notes }, { conversation: [id] }) => notes.create(id, { body_html }),
    field: 'body_html',
  },
  'organization.update': {
    write: ({ organization }) => organization.update({ display_name: 'Acme' }),
    another: ({ organization }) => organization.updateSettings({ locale: 'Acme' }),
    field: 'display_name',
  },
  'organization.updateSettings': {
    write: ({ organization }) => organization.updateSettings({ locale: 'fr', bot_configuration: { name: 'Bo' } }),
    another: ({ organization }) => organization.updateSettings({ locale: 'fr' }),
    field: 'locale',
  },
  'segments.create': {
    write: ({ segments }) => segments.create({ name: 'New' }),
    another: ({ segments }) => segments.create({ name: 'New' }),
    isHidden: true,
  },
  'segments.update': {
    write: ({ segments }, { segment: [id] }) => segments.update(id, { name: 'New' }),
    another: ({ segments }, { segment: [, id] }) => segments.update(id, { name: 'New' }),
    field: 'name',
  },
  'segments.delete': {
    write: ({ segments }, { segment: [id] }) => segments.delete(id),
    another: ({ segments }, { segment: [, id] }) => segments.delete(id),
  },
  'tasks.create': {
    write: ({ tasks }) => tasks.create({ name: 'New' }),
    another: ({ tasks }) => tasks.create({ name: 'New' }),
    isHidden: true,
  },
  'tasks.update': {
    write: ({ tasks }, { task: [id] }) => tasks.update(id, { name: 'New' }),
    another: ({ tasks }, { task: [, id] }) => tasks.update(id, { name: 'New' }),
    field: 'name',
  },
  'tasks.delete': {
    write: ({ tasks }, { task: [id] }) => tasks.delete(id),
    another: ({ tasks }, { task: [, id] }) => tasks.delete(id),
  },
}

const cases = operations.flatMap(({ id, method }) =>
  id in rows ? [{ id, method, ...rows[id as WriteOperationId] }] : [],
)
const hidden = 'the service does not show enough to tell'

beforeEach(skipWaits)

/** Starts a process in a workspace with two of each, and returns what makes its one write under a fault. */
async function prepare({ id, method, write }: (typeof cases)[number], fault: Partial<FaultRule>) {
  const { sandbox, start, workspace } = open({ conversations: 2, contacts: 2 })
  const ids = await createTwoOfEach(workspace, sandbox)
  const { id: member } = await workspace.members.invite({ email: 'other@example.org', role: 'admin' })
  const { workspace: other } = start({ accessToken: sandbox.issueToken({ actor: 'self', member }) })
  const before = sandbox.state.writes.length
  const once = (fetch: WebFetch = sandbox.fetch) => {
    const { journal } = start({ fetch, maxRetries: 0 })
    sandbox.faults.add({ method, ...fault })
    return journal.once(id, (client) => write(client, ids))
  }
  return { sandbox, ids, other, once, written: () => sandbox.state.writes.slice(before) }
}

async function createTwoOfEach(workspace: Workspace, { state }: Sandbox): Promise<Ids> {
  const two = async (create: (name: string) => PromiseLike<{ id: string }>): Promise<[string, string]> => [
    (await create('one')).id,
    (await create('two')).id,
  ]
  const conversation = await two((name) =>
    workspace.conversations.create({ customer_email: `${name}@example.com`, initial_message: name }),
  )
  const member = await two((name) => workspace.members.invite({ email: `${name}@example.org` }))
  for (const id of conversation) await workspace.conversations.assign(id, { user_id: state.members[0]?.id ?? '' })
  return {
    conversation,
    member,
    contact: await two((name) => workspace.contacts.create({ email: `${name}@example.net` })),
    message: await two((name) => workspace.messages.create(conversation[0], { body_html: `<p>${name}</p>` })),
    task: await two((name) => workspace.tasks.create({ name })),
    segment: await two((name) => workspace.segments.create({ name })),
  }
}

describe('the effect of', () => {
  test.each(cases)('$id is found if the response is lost', async (row) => {
    const { once, written } = await prepare(row, { drop: 'after-effect' })
    const result = await once().catch((error: Error) => error)
    expect(written()).toHaveLength(1)
    if (row.isHidden) expect(result).toMatchObject({ message: expect.stringContaining(hidden) })
    else expect(result).toEqual({ id: written()[0]?.id })
  })

  test.each(cases)('$id is not seen where there is none', async (row) => {
    const { once, written } = await prepare(row, { drop: 'before-effect' })
    if (row.method === 'DELETE') {
      await once()
      expect(written()).toHaveLength(1)
    } else {
      const missing = /\.(create|invite)$/.test(row.id)
        ? 'shows nothing like it that is as new as the write'
        : 'does not show it'
      const problem = row.isHidden ? hidden : missing
      expect(await rejection(once())).toMatchObject({ message: expect.stringContaining(problem) })
      expect(written()).toEqual([])
    }
  })

  test.each(cases)('$id is not taken for that of another write', async (row) => {
    const { once, written, other, ids } = await prepare(row, { drop: 'before-effect' })
    await row.another(other, ids)
    await vi.advanceTimersByTimeAsync(1_000)
    const result = await once().catch((error: Error) => error)
    if (row.method === 'DELETE') expect(result).not.toBeInstanceOf(Error)
    else expect(result).toMatchObject({ name: 'UnconfirmedWriteError' })
    expect(written()).toHaveLength(row.method === 'DELETE' ? 2 : 1)
  })

  test.each(cases.filter(({ field }) => field))('$id cannot be told without $field', async (row) => {
    const { sandbox, once, written } = await prepare(row, { drop: 'after-effect' })
    const error = await rejection(
      once(
        fetchOf(sandbox, async (response) => {
          // A 204 has no body.
          const text = (await response.text()).replaceAll(`"${row.field}":`, '"unknown_field":')
          return new Response(text || null, response)
        }),
      ),
    )
    expect(error).toMatchObject({ message: expect.stringContaining(hidden) })
    expect(written()).toHaveLength(1)
  })
})

test('a message whose time is in milliseconds tells nothing', async () => {
  const { sandbox, start } = openWith({ drop: 'after-effect' })
  const { reply } = start({
    fetch: fetchOf(sandbox, async (response) => {
      const text = (await response.text()).replaceAll(/("inserted_at":\d+)/g, '$1000')
      return new Response(text, response)
    }),
  })
  expect(await rejection(reply())).toMatchObject({ message: expect.stringContaining(hidden) })
})

test.each([
  [400, undefined],
  [422, undefined],
  [500, { name: 'UnconfirmedWriteError', message: expect.stringContaining('the check failed') }],
])('a message is looked for without `limit` after a status that rejects it, such as %i', async (status, error) => {
  const { sandbox, start, sent } = openWith({ drop: 'after-effect' })
  const { reply } = start({
    fetch: fetchOf(sandbox, (response, url) => (url.includes('limit=100') ? new Response('{}', { status }) : response)),
    maxRetries: 0,
  })
  const result = await reply().catch((thrown: Error) => thrown)
  expect(result).toMatchObject(error ?? { id: sent()[0] })
})

test('fields that are read back in another order are the same', async () => {
  const { sandbox, start, fail } = open()
  const reversed = (value: unknown): unknown =>
    isObject(value)
      ? Object.fromEntries(
          Object.entries(value)
            .reverse()
            .map(([name, each]) => [name, reversed(each)]),
        )
      : value
  const { journal } = start({
    fetch: fetchOf(sandbox, async (response) => Response.json(reversed(await response.json()), response)),
  })
  fail({ method: 'PATCH', path: /settings$/, drop: 'after-effect' })
  const settings = { bot_configuration: { name: 'Bo', avatar_url: 'https://example.com/bo.png' } }
  expect(await journal.once('settings', ({ organization }) => organization.updateSettings(settings))).toEqual({})
})

describe('`find` of the caller', () => {
  const name = 'Call back about order 7'
  const find: FindEffect = async ({ tasks }) => (await tasks.list().toArray()).filter((task) => task.name === name)

  const twice: FindEffect = async (...args) => [...((await find(...args)) ?? []), ...((await find(...args)) ?? [])]
  const applied = { status: 'fulfilled', value: { id: expect.stringMatching('tsk') } }

  test.each<[string, FaultRule, FindEffect, object]>([
    ['finds a task', { drop: 'after-effect' }, find, applied],
    ['may find it twice', { drop: 'after-effect' }, twice, applied],
    ['tells that there is none', { drop: 'before-effect' }, find, { reason: { name: 'UnconfirmedWriteError' } }],
  ])('%s', async (_, fault, find, expected) => {
    const { sandbox, journal } = open()
    sandbox.faults.add({ method: 'POST', ...fault })
    const [result] = await Promise.allSettled([
      journal.once('task:7', (client) => client.tasks.create({ name }), { find }),
    ])
    expect(result).toMatchObject(expected)
  })

  test('cannot change what was sent', async () => {
    const { journal, conversation, create } = openWith({ status: 503 })
    const find: FindEffect = async (_, { path, body }) => {
      Object.assign(path, { conversation_id: 'another' })
      Object.assign(body, { body_html: 'another' })
      return []
    }
    expect(await rejection(journal.once('reply', create, { find }))).toMatchObject({
      conversation,
      text: JSON.stringify({ body_html }),
    })
  })

  test('is told what was sent, when and by whom', async () => {
    const { sandbox, journal, workspace } = open()
    const find = vi.fn<FindEffect>(async () => [])
    sandbox.faults.add({ method: 'POST', status: 503 })
    const start = Date.now() / 1000
    await rejection(journal.once('task:7', (client) => client.tasks.create({ name }), { find }))
    const write = find.mock.calls[0]?.[1]
    expect(write).toMatchObject({ operation: 'tasks.create', path: {}, body: { name } })
    expect(write?.author).toBe((await workspace.me()).user?.id)
    expect(write?.since).toBeGreaterThan(start - 310)
    expect(write?.since).toBeLessThanOrEqual(start - 290)
  })
})
