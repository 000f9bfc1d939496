import { SupportWorkspace, type WebFetch } from 'support-workspace-sdk'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApiDocument } from '../../scripts/openapi.ts'
import { operations } from '../../src/client/resources/operations.ts'
import { type Ids, run } from '../client/operations/calls.ts'
import { checkerOf, type Exchange } from './checker.ts'

const check = checkerOf(openApiDocument())

let sandbox: Sandbox
let workspace: SupportWorkspace<'self'>
/** What was sent and received since it was last emptied. */
let exchanges: Exchange[] = []

beforeAll(async () => {
  sandbox = await startSandbox({ conversations: 5, contacts: 5, members: 40, tasks: 40, segments: 40 })
  const fetch: WebFetch = async (url, init) => {
    const response = await globalThis.fetch(url, init as RequestInit)
    exchanges.push(await exchangeOf(url, init, response.clone()))
    return response
  }
  workspace = new SupportWorkspace({
    baseUrl: sandbox.url,
    accessToken: sandbox.issueToken({ actor: 'self' }),
    actor: 'self',
    fetch,
    maxRetries: 0,
  })
})

afterAll(() => sandbox.close())

async function exchangeOf(url: string, init: Parameters<WebFetch>[1], response: Response): Promise<Exchange> {
  const { pathname, searchParams } = new URL(url)
  const text = await response.text()
  return {
    method: init.method,
    path: pathname,
    query: searchParams,
    sent: init.body === undefined ? undefined : JSON.parse(init.body),
    status: response.status,
    received: text === '' ? undefined : JSON.parse(text),
  }
}

async function existing(): Promise<Ids> {
  const { state } = sandbox
  const [conversation, contact, task, segment] = [state.conversations, state.contacts, state.tasks, state.segments].map(
    (resources) => resources[0]?.id ?? '',
  ) as [string, string, string, string]
  const { id } = await workspace.messages.create(conversation, { body_html: '<p>My message</p>' })
  exchanges = []
  return { conversation, message: id, contact, member: state.members.at(-1)?.id ?? '', task, segment }
}

test.each(operations.map(({ id }) => id))('%s sends and receives what the document says', async (id) => {
  await run(id, workspace, await existing())
  expect(exchanges).toHaveLength(1)
  expect(exchanges.flatMap(check)).toEqual([])
})

test('an error response is what the document says', async () => {
  await existing()
  for (const call of [workspace.members.get('nobody'), workspace.conversations.list({ after: 'made up' })]) {
    await call.then(expect.unreachable, () => {})
  }
  expect(exchanges.map(({ status }) => status)).toEqual([404, 400])
  expect(exchanges.flatMap(check)).toEqual([])
})

type Id = (typeof operations)[number]['id']
type Change = (exchange: Exchange) => Partial<Exchange>

/** Changes a value at a path of the received body. `undefined` removes it. */
const received =
  (path: string, value: unknown): Change =>
  ({ received: body }) => ({ received: changed(body, path.split('.'), value) })
const sent =
  (path: string, value: unknown): Change =>
  ({ sent: body }) => ({ sent: changed(body, path.split('.'), value) })
const status =
  (status: number): Change =>
  () => ({ status })

function changed(body: unknown, [name = '', ...rest]: string[], value: unknown): unknown {
  const copy = Array.isArray(body) ? [...body] : { ...(body as object) }
  const inner = rest.length === 0 ? value : changed(Reflect.get(copy, name), rest, value)
  if (inner === undefined) Reflect.deleteProperty(copy, name)
  else Reflect.set(copy, name, inner)
  return copy
}

describe('one change is one violation', () => {
  test.each<[Id, string, Change]>([
    ['me', 'is wrapped', ({ received }) => ({ received: { data: received } })],
    ['me', 'has a scope that is a number', received('scopes', [1])],
    ['me', 'names its actor with a number', received('actor', 1)],
    ['me', 'has an app without an id', received('application.id', undefined)],
    ['conversations.list', 'has no `data`', received('data', undefined)],
    ['conversations.list', 'has an object as `data`', received('data', {})],
    ['conversations.list', 'has an item without an id', received('data.0.id', undefined)],
    ['conversations.list', 'has a text as a time', received('data.0.inserted_at', '2026-11-21T00:00:00Z')],
    ['conversations.list', 'has a fraction as a time', received('data.0.inserted_at', 1.5)],
    ['conversations.list', 'has a number as a status', received('data.0.status', 1)],
    ['conversations.list', 'has a customer without an id', received('data.0.user.id', undefined)],
    ['conversations.list', 'has a text as the number of unread messages', received('data.0.unread_count', '3')],
    ['conversations.list', 'has a number as a cursor', received('page_metadata.after', 1)],
    ['conversations.list', 'has a list as `page_metadata`', received('page_metadata', [])],
    ['conversations.list', 'sends a limit of 0', ({ query }) => ({ query: with0(query) })],
    ['conversations.list', 'sends an unknown parameter', () => ({ query: new URLSearchParams({ status: 'open' }) })],
    ['conversations.list', 'has the status 201', status(201)],
    ['conversations.get', 'has no `data`', received('data', undefined)],
    ['conversations.create', 'has the status 200', status(200)],
    ['conversations.create', 'sends no customer', sent('customer_email', undefined)],
    ['conversations.create', 'sends no email address', sent('customer_email', 'Ada')],
    ['conversations.create', 'sends a number as its message', sent('initial_message', 1)],
    ['conversations.update', 'sends a text as a flag', sent('is_spam', 'no')],
    ['conversations.unassign', 'has a body', () => ({ received: {} })],
    ['messages.create', 'sends no text', sent('body_html', undefined)],
    ['messages.create', 'sends no body', () => ({ sent: undefined })],
    ['messages.list', 'has a text as an attachment', received('data.0.attachments', ['file'])],
    ['contacts.create', 'is wrapped in a list', ({ received }) => ({ received: { data: [received] } })],
    ['contacts.create', 'fails with an error that is a number', () => ({ status: 422, received: { error: 1 } })],
    ['contacts.update', 'has the status 500', status(500)],
    ['contacts.get', 'has a text as a flag', received('data.blocked', 'no')],
    ['organization.get', 'has a time without a date', received('data.created_at', '12:00')],
    ['tasks.list', 'has a task without an id', received('data.0.id', undefined)],
    ['tasks.create', 'sends a list', () => ({ sent: [] })],
  ])('%s %s', async (id, _, change) => {
    await run(id, workspace, await existing())
    const [exchange] = exchanges
    expect(check({ ...exchange!, ...change(exchange!) })).toHaveLength(1)
  })
})

function with0(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams({ ...Object.fromEntries(query), limit: '0' })
}
