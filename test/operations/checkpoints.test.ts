import {
  CursorRejectedError,
  defineOperation,
  type ListOptions,
  type ListQuery,
  type OperationId,
  type Paginated,
  type SupportWorkspace,
} from 'support-workspace-sdk'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { operations } from '../../src/resources/operations.ts'
import { json, makeClient, page, refusal, rejection, scripted } from '../helpers/client.ts'
import { printedForms } from '../helpers/printed-forms.ts'

type List = (workspace: SupportWorkspace, query: ListQuery, options: ListOptions) => Paginated<unknown>

/** Each built-in list. A missing one is a compile error. */
const builtIn: Readonly<Record<Extract<OperationId, `${string}.list`>, List>> = {
  'conversations.list': ({ conversations }, query, options) => conversations.list(query, options),
  'messages.list': ({ messages }, query, options) => messages.list('c', query, options),
  'notes.list': ({ notes }, query, options) => notes.list('c', query, options),
  'contacts.list': ({ contacts }, query, options) => contacts.list(query, options),
  'members.list': ({ members }, query, options) => members.list(query, options),
  'tasks.list': ({ tasks }, query, options) => tasks.list(query, options),
  'segments.list': ({ segments }, query, options) => segments.list(query, options),
}

const tags = { method: 'GET', path: '/api/tags', envelope: 'list' } as const
const plain = defineOperation({ ...tags, id: 'tags.plain' })
const sorted = defineOperation({ ...tags, id: 'tags.sorted', query: z.object({ limit: z.number() }) })

const lists: [string, List][] = [
  ...Object.entries(builtIn),
  [plain.id, (workspace, query, options) => workspace.call(plain, { query }, options)],
  [
    sorted.id,
    (workspace, query, options) => workspace.call(sorted, { query: { ...query, limit: query.limit ?? 1 } }, options),
  ],
]

const at = (cursor: string) => ({ cursor, done: false })
const twoPages = [json(page([{ id: '1' }], 'b')), json(page([{ id: '2' }]))]

test('every list of the service is in the table', () => {
  const ids = operations.filter(({ envelope }) => envelope === 'list').map(({ id }) => id)
  expect(ids.sort()).toEqual(Object.keys(builtIn).sort())
})

test.each(lists)('%s resumes from the checkpoint of its page, and not once it is finished', async (_, list) => {
  const fetch = scripted(...twoPages)
  const workspace = makeClient({ fetch })
  const first = await list(workspace, { limit: 7 }, { resumeFrom: at('a') })
  expect(first.checkpoint).toEqual(at('b'))
  const second = await list(workspace, { limit: 7 }, { resumeFrom: first.checkpoint })
  expect(second.data).toMatchObject([{ id: '2' }])
  expect(await list(workspace, { limit: 7 }, { resumeFrom: second.checkpoint }).toArray()).toEqual([])
  expect(fetch.requests.map(({ url }) => new URL(url).search)).toEqual(['?limit=7&after=a', '?limit=7&after=b'])
})

test.each(lists)('%s rejects with a CursorRejectedError', async (id, list) => {
  const workspace = makeClient({ fetch: scripted(refusal(400, 'invalid_request')) })
  for (const call of [
    list(workspace, { limit: 7, after: 'a' }, {}),
    list(workspace, { limit: 7 }, { resumeFrom: at('a') }).toArray(),
  ]) {
    const error = await rejection(call)
    expect(error).toBeInstanceOf(CursorRejectedError)
    expect(error).toMatchObject({ operation: id, hint: expect.stringContaining('onRejectedCursor') })
  }
})

test.each(lists)('%s restarts without the rejected cursor if asked to', async (_, list) => {
  const fetch = scripted(refusal(400, 'invalid_request'), ...twoPages)
  const options = { resumeFrom: at('a'), onRejectedCursor: 'restart' } as const
  expect(await list(makeClient({ fetch }), { limit: 7 }, options).toArray()).toMatchObject([{ id: '1' }, { id: '2' }])
  expect(fetch.requests.map(({ url }) => new URL(url).search)).toEqual([
    '?limit=7&after=a',
    '?limit=7',
    '?limit=7&after=b',
  ])
})

const cursor = 'Zx81mQ7-cursor_9rT4vB2nK6'

test.each<[string, Response | Error]>([
  ['a refusal', refusal(400, `bad ${cursor}`, { 'x-request-id': cursor, 'x-echo': `after=${cursor}` })],
  ['a success that holds an error', json({ error: `bad ${cursor}` })],
  ['a redirect', new Response(null, { status: 302, headers: { location: `/list?after=${cursor}` } })],
  ['a failed fetch', new TypeError(`request to /list?after=${cursor} failed`)],
  ['a revoked token', refusal(401, 'invalid_token', { 'www-authenticate': `Bearer error="bad ${cursor}"` })],
])('no error or event quotes the cursor when the service responds with %s', async (_, step) => {
  const events: unknown[] = []
  const keep = (event: unknown) => void events.push(event)
  const workspace = makeClient({
    fetch: scripted(step),
    maxRetries: 1,
    hooks: { onAttemptStart: keep, onAttemptEnd: keep, onRetry: keep, onOperationEnd: keep },
  })
  const error = await rejection(workspace.contacts.list({}, { resumeFrom: at(cursor), timeout: 5_000 }))
  expect(printedForms([error, events]).join('\n')).not.toContain(cursor)
})

test.each([1_000, 40_000, 200_000])(
  'a cursor of %s characters is refused like a short one, and not quoted',
  async (length) => {
    const long = `${cursor}${'c'.repeat(length)}`
    const slowDown = refusal(429, `bad ${long}`, { 'retry-after': '90' })
    const fetch = scripted(refusal(400, `bad ${long}`), refusal(401, 'invalid_token'), slowDown)
    const workspace = makeClient({ fetch })
    const list = () => rejection(workspace.contacts.list({}, { resumeFrom: at(long) }))
    const errors = [await list(), await list(), await list()]
    expect(errors).toMatchObject([
      { name: 'CursorRejectedError' },
      { name: 'AuthenticationError' },
      { name: 'RateLimitError', retryAfter: 90 },
    ])
    expect(printedForms(errors).join('\n')).not.toContain(long.slice(0, 30))
  },
)
