import type { CallOptions, OperationId, SupportWorkspace } from 'support-workspace-sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { operations } from '../../src/resources/operations.ts'
import { json, makeClient, neverSettles, page, refusal, rejection, scripted } from '../helpers/client.ts'

type Run = (workspace: SupportWorkspace<'self'>, options: CallOptions) => PromiseLike<unknown>

const body = { body_html: '<p>On it.</p>' }
const query = { limit: 7, after: 'cursor' }

/** A call of each operation with options, and of each list with a query too. A missing operation is a compile error. */
const calls: Readonly<Record<OperationId, Run>> = {
  me: (workspace, options) => workspace.me(options),
  'conversations.list': ({ conversations }, options) => conversations.list(query, options),
  'conversations.get': ({ conversations }, options) => conversations.get('c', options),
  'conversations.create': ({ conversations }, options) =>
    conversations.create({ customer_email: 'a@b.c', initial_message: 'Hi' }, options),
  'conversations.update': ({ conversations }, options) => conversations.update('c', { pinned: true }, options),
  'conversations.assign': ({ conversations }, options) => conversations.assign('c', { user_id: 'u' }, options),
  'conversations.unassign': ({ conversations }, options) => conversations.unassign('c', options),
  'messages.list': ({ messages }, options) => messages.list('c', query, options),
  'messages.create': ({ messages }, options) => messages.create('c', body, options),
  'messages.update': ({ messages }, options) => messages.update('c', 'm', body, options),
  'messages.delete': ({ messages }, options) => messages.delete('c', 'm', options),
  'notes.list': ({ notes }, options) => notes.list('c', query, options),
  'notes.create': ({ notes }, options) => notes.create('c', body, options),
  'contacts.list': ({ contacts }, options) => contacts.list(query, options),
  'contacts.get': ({ contacts }, options) => contacts.get('k', options),
  'contacts.create': ({ contacts }, options) => contacts.create({ email: 'a@b.c' }, options),
  'contacts.update': ({ contacts }, options) => contacts.update('k', { blocked: true }, options),
  'members.list': ({ members }, options) => members.list(query, options),
  'members.get': ({ members }, options) => members.get('m', options),
  'members.invite': ({ members }, options) => members.invite({ email: 'a@b.c' }, options),
  'members.update': ({ members }, options) => members.update('m', { role: 'agent' }, options),
  'members.remove': ({ members }, options) => members.remove('m', options),
  'organization.get': ({ organization }, options) => organization.get(options),
  'organization.update': ({ organization }, options) => organization.update({ display_name: 'Acme' }, options),
  'organization.getSettings': ({ organization }, options) => organization.getSettings(options),
  'organization.updateSettings': ({ organization }, options) => organization.updateSettings({ locale: 'en' }, options),
  'tasks.list': ({ tasks }, options) => tasks.list(query, options),
  'tasks.get': ({ tasks }, options) => tasks.get('t', options),
  'tasks.create': ({ tasks }, options) => tasks.create({}, options),
  'tasks.update': ({ tasks }, options) => tasks.update('t', {}, options),
  'tasks.delete': ({ tasks }, options) => tasks.delete('t', options),
  'segments.list': ({ segments }, options) => segments.list(query, options),
  'segments.get': ({ segments }, options) => segments.get('s', options),
  'segments.create': ({ segments }, options) => segments.create({}, options),
  'segments.update': ({ segments }, options) => segments.update('s', {}, options),
  'segments.delete': ({ segments }, options) => segments.delete('s', options),
}

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

const rows = operations.map((operation) => [operation.id, operation] as const)
const writes = rows.filter(([, { body: schema }]) => schema !== undefined)

describe.each(rows)('%s', (id, { envelope = 'item' }) => {
  const bodies = { list: page([]), item: { data: { id: '1' } }, bare: {}, none: {}, any: {} }
  const setUp = (options = {}) => {
    const fetch = scripted(json(bodies[envelope]))
    return { fetch, workspace: makeClient({ fetch, ...options }) }
  }

  test('sends headers, undocumented parameters and, for a list, its query', async () => {
    const { fetch, workspace } = setUp()
    await calls[id](workspace, { headers: { 'x-probe': id }, extraQuery: { probe: ['a', 'b'] } })
    expect(fetch.requests).toHaveLength(1)
    const [request] = fetch.requests
    expect(request?.headers.get('x-probe')).toBe(id)
    const expected = envelope === 'list' ? '?limit=7&after=cursor&probe=a&probe=b' : '?probe=a&probe=b'
    expect(new URL(request?.url ?? '').search).toBe(expected)
  })

  test('rejects with the abort reason and sends nothing when its signal is already aborted', async () => {
    const { fetch, workspace } = setUp()
    const reason = new Error('closing time')
    expect(await rejection(calls[id](workspace, { signal: AbortSignal.abort(reason) }))).toBe(reason)
    expect(fetch.requests).toHaveLength(0)
  })

  test('rejects with the abort reason and is not retried when aborted in flight', async () => {
    const controller = new AbortController()
    const reason = new Error('closing time')
    const fetch = scripted(() => {
      controller.abort(reason)
      return refusal(429, 'slow_down')
    })
    const call = calls[id](makeClient({ fetch }), { signal: controller.signal })
    expect(await rejection(call)).toBe(reason)
    expect(fetch.requests).toHaveLength(1)
  })

  test('is retried maxRetries times', async () => {
    for (const maxRetries of [0, 1]) {
      const fetch = scripted(refusal(429, 'slow_down', { 'retry-after': '0' }))
      const failed = rejection(calls[id](makeClient({ fetch, maxRetries: 5 }), { maxRetries }))
      await vi.advanceTimersByTimeAsync(60_000)
      expect(await failed).toMatchObject({ name: 'RateLimitError', operation: id })
      expect(fetch.requests).toHaveLength(1 + maxRetries)
    }
  })

  test.each([
    ['timeout', 'attempt'],
    ['totalTimeout', 'total'],
  ])('is limited by %s', async (name, limit) => {
    const failed = rejection(calls[id](makeClient({ fetch: scripted(neverSettles), maxRetries: 0 }), { [name]: 77 }))
    await vi.advanceTimersByTimeAsync(77)
    expect(await failed).toMatchObject({ name: 'TimeoutError', operation: id, limit, timeout: 77 })
  })
})

test.each(writes)('%s sends undocumented body fields', async (id) => {
  const fetch = scripted(json({ data: { id: '1' } }))
  await calls[id](makeClient({ fetch }), { extraBody: { probe: { deep: [1] } } })
  expect(await fetch.requests[0]?.json()).toMatchObject({ probe: { deep: [1] } })
})

const lists = rows.filter(([, { envelope }]) => envelope === 'list')

test.each(lists)('%s accepts list options', async (id) => {
  const fetch = scripted(json(page([{ id: '1' }, { id: '2' }], null, 'b')))
  const call = calls[id](makeClient({ fetch }), { direction: 'backward', maxItems: 3, prefetch: false } as CallOptions)
  const seen: unknown[] = []
  for await (const item of call as AsyncIterable<unknown> & PromiseLike<unknown>) seen.push(item)
  expect(seen).toHaveLength(3)
  expect(fetch.requests.map(({ url }) => new URL(url).search)).toEqual(['?limit=7&after=cursor', '?limit=7&before=b'])
})
