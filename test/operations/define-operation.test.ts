import {
  ActorSelfRequiredError,
  type ClientOptions,
  type Drift,
  defineOperation,
  InsufficientScopeError,
  InvalidArgumentError,
  NotFoundError,
  type Operation,
  RateLimitError,
  ServerError,
  SupportWorkspace,
  schemas,
  UnexpectedResponseError,
} from 'support-workspace-sdk'
import { startSandbox } from 'support-workspace-sdk/sandbox'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { rejection } from '../helpers/client.ts'
import { useJsonServers } from './json-server.ts'

const serve = useJsonServers()

function clientOf({ url }: { url: string }, options: Partial<ClientOptions> = {}): SupportWorkspace {
  return new SupportWorkspace({ baseUrl: url, accessToken: 'swot_abc123def456', ...options })
}

/** The same operations, described with two schema libraries: seconds become a date, and a query has a default. */
const withZod = {
  create: defineOperation({
    id: 'tags.create',
    method: 'POST',
    path: '/api/oauth/v1/conversations/{conversation_id}/tags',
    scope: 'tags:write',
    query: z.object({ notify: z.boolean().default(true) }),
    body: z.object({ name: z.string().transform((name) => name.trim()) }),
    response: z.object({ id: z.string(), made_at: z.number().transform((seconds) => new Date(seconds * 1000)) }),
  }),
  list: defineOperation({
    id: 'tags.list',
    method: 'GET',
    path: '/api/oauth/v1/tags',
    envelope: 'list',
    response: z.object({ id: z.string().transform(Number) }),
  }),
}

const withValibot = {
  create: defineOperation({
    id: 'tags.create',
    method: 'POST',
    path: '/api/oauth/v1/conversations/{conversation_id}/tags',
    scope: 'tags:write',
    query: v.object({ notify: v.optional(v.boolean(), true) }),
    body: v.object({ name: v.pipe(v.string(), v.trim()) }),
    response: v.object({
      id: v.string(),
      made_at: v.pipe(
        v.number(),
        v.transform((seconds) => new Date(seconds * 1000)),
      ),
    }),
  }),
  list: defineOperation({
    id: 'tags.list',
    method: 'GET',
    path: '/api/oauth/v1/tags',
    envelope: 'list',
    response: v.object({ id: v.pipe(v.string(), v.transform(Number)) }),
  }),
}

describe.each([
  ['zod', withZod],
  ['valibot', withValibot],
])('an operation described with %s', (_, operations) => {
  // Both have the same input and output types, but the compiler cannot infer that from the table.
  const { create, list } = operations as typeof withZod
  const path = { conversation_id: 'a/b ü' }

  test('sends the output of its query and body schemas, and returns the output of its response schema', async () => {
    const server = await serve(() => ({ status: 201, body: { data: { id: 't', made_at: 1_700_000_000 } } }))
    const tag = await clientOf(server).call(create, { path, query: {}, body: { name: ' urgent ' } })
    expect(tag).toEqual({ id: 't', made_at: new Date('2023-11-14T22:13:20Z') })
    const [request] = server.received
    expect(request?.method).toBe('POST')
    expect(request?.url).toBe('/api/oauth/v1/conversations/a%2Fb%20%C3%BC/tags?notify=true')
    expect(request?.body).toEqual({ name: 'urgent' })
    expect(request?.headers.authorization).toBe('Bearer swot_abc123def456')
  })

  test('applies the defaults of a query that is left out', async () => {
    const server = await serve(() => ({ status: 201, body: { data: { id: 't', made_at: 1_700_000_000 } } }))
    await clientOf(server).call(create, { path, body: { name: 'urgent' } })
    expect(server.received[0]?.url).toMatch(/\?notify=true$/)
  })

  test.each([
    ['body.name', { path, query: {}, body: { name: 7 } }],
    ['query.notify', { path, query: { notify: 'yes' }, body: { name: 'x' } }],
    ['conversation_id', { path: { conversation_id: '..' }, query: {}, body: { name: 'x' } }],
  ])('rejects an invalid %s before a request is sent', async (argument, input) => {
    const server = await serve(() => ({ body: {} }))
    const error = await rejection(clientOf(server).call(create, input as never))
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(error).toMatchObject({ argument })
    expect(server.received).toEqual([])
  })

  test.each(['observe', 'strict', 'off'] as const)(
    'rejects a response that does not match its schema in %s mode, without quoting it',
    async (validation) => {
      const drifts: Drift[] = []
      const server = await serve(() => ({ body: { data: { id: 't', made_at: 'yesterday' } } }))
      const client = clientOf(server, { validation, onDrift: (drift) => drifts.push(drift) })
      const error = await rejection(client.call(create, { path, query: {}, body: { name: 'x' } }))
      expect(error).toBeInstanceOf(UnexpectedResponseError)
      expect(error).toMatchObject({ reason: 'schema', operation: 'tags.create' })
      expect(JSON.stringify(error)).not.toContain('yesterday')
      expect(drifts).toEqual([])
    },
  )

  test('pages through items that are the output of its schema', async () => {
    const server = await serve(({ url }) => {
      const after = new URL(url, 'http://x').searchParams.get('after')
      const page = after === null ? { data: [{ id: '1' }, { id: '2' }], after: 'c=1&' } : { data: [{ id: '3' }] }
      return { body: { data: page.data, page_metadata: { after: page.after ?? null, before: null } } }
    })
    const items = await clientOf(server)
      .call(list, { query: { limit: 2, kind: ['a', 'b'] } })
      .toArray()
    expect(items).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }])
    expect(server.received.map(({ url }) => url)).toEqual([
      '/api/oauth/v1/tags?limit=2&kind=a&kind=b',
      '/api/oauth/v1/tags?limit=2&kind=a&kind=b&after=c%3D1%26',
    ])
  })

  test('names its scope in the error when the token lacks it', async () => {
    const server = await serve(() => ({ status: 403, body: { error: 'insufficient_scope' } }))
    const error = await rejection(
      clientOf(server, { scopes: ['contacts:read'] }).call(create, { path, query: {}, body: { name: 'x' } }),
    )
    expect(error).toBeInstanceOf(InsufficientScopeError)
    expect(error).toMatchObject({
      required: ['tags:write'],
      missing: ['tags:write'],
      scopesToRequest: ['contacts:read', 'tags:write'],
    })
  })

  test('is retried like a built-in one: a read after a 503, but not a write', async () => {
    const server = await serve(({ method }) =>
      server.received.filter((request) => request.method === method).length === 1
        ? { status: 503, headers: { 'retry-after': '0' } }
        : { body: { data: [] } },
    )
    const client = clientOf(server)
    await client.call(list)
    expect(server.received.length).toBe(2)
    const error = await rejection(client.call(create, { path, query: {}, body: { name: 'x' } }))
    expect(error).toBeInstanceOf(ServerError)
    expect(error).toMatchObject({ outcome: 'unknown', operation: 'tags.create' })
    expect(server.received.length).toBe(3)
  })
})

describe('in the sandbox', () => {
  test('a redefined built-in operation behaves like the original', async () => {
    await using sandbox = await startSandbox({ contacts: 45 })
    const workspace = clientOf(sandbox, { accessToken: sandbox.issueToken(), validation: 'strict' })
    const listContacts = defineOperation({
      id: 'contacts.custom',
      method: 'GET',
      path: '/api/oauth/v1/contacts',
      envelope: 'list',
      response: schemas.contact,
    })
    const contacts = await workspace.call(listContacts, { query: { limit: 20 } }).toArray()
    expect(contacts.length).toBe(45)
    expect(contacts).toEqual(await workspace.contacts.list({ limit: 20 }).toArray())
    expect((await workspace.call(listContacts)).after).toEqual(expect.any(String))
  })

  const createNote = defineOperation({
    id: 'notes.custom',
    method: 'POST',
    path: '/api/oauth/v1/conversations/{id}/notes',
    actor: 'self',
    scope: 'notes:write',
    body: z.looseObject({ body_html: z.string() }),
    response: schemas.message,
  })

  test('the actor of a custom operation is checked like that of a built-in one', async () => {
    await using sandbox = await startSandbox()
    const path = { id: sandbox.state.conversations[0]?.id ?? '' }
    const input = { path, body: { body_html: '<p>Hi</p>' } }
    const note = await clientOf(sandbox, { accessToken: sandbox.issueToken({ actor: 'self' }) }).call(createNote, input)
    expect(note.conversation_id).toBe(path.id)

    const accessToken = sandbox.issueToken({ actor: 'app' })
    sandbox.clearRequests()
    const notSent = await rejection(clientOf(sandbox, { accessToken, actor: 'app' }).call(createNote, input))
    expect(notSent).toBeInstanceOf(ActorSelfRequiredError)
    expect(notSent).toMatchObject({ outcome: 'not-sent', operation: 'notes.custom' })
    expect(sandbox.requests).toEqual([])

    const refused = await rejection(clientOf(sandbox, { accessToken }).call(createNote, input))
    expect(refused).toBeInstanceOf(ActorSelfRequiredError)
    expect(refused).toMatchObject({ outcome: 'refused', status: 422 })
  })

  test('a missing scope that the operation does not declare is still an InsufficientScopeError', async () => {
    await using sandbox = await startSandbox()
    const accessToken = sandbox.issueToken({ scopes: ['tasks:read'] })
    const list = defineOperation({
      id: 'contacts.custom',
      method: 'GET',
      path: '/api/oauth/v1/contacts',
      envelope: 'list',
    })
    const error = await rejection(clientOf(sandbox, { accessToken }).call(list))
    expect(error).toBeInstanceOf(InsufficientScopeError)
    expect(error).toMatchObject({ required: [], missing: [], scopesToRequest: [] })
  })
})

describe('the envelope', () => {
  const call = async (envelope: Operation['envelope'] & string, body: unknown) => {
    const server = await serve(() => ({ body }))
    return clientOf(server).call(defineOperation({ id: 'x', method: 'GET', path: '/x', envelope }) as Operation)
  }

  test('`bare` returns the body itself', async () => {
    expect(await call('bare', { a: 1 })).toEqual({ a: 1 })
  })

  test('`any` returns any JSON, or undefined for an empty body', async () => {
    expect(await call('any', [1, null])).toEqual([1, null])
    expect(await call('any', undefined)).toBeUndefined()
  })

  test('`none` ignores the body', async () => {
    expect(await call('none', { a: 1 })).toBeUndefined()
    expect(await call('none', [])).toBeUndefined()
  })

  test.each(['none', 'bare'] as const)('`%s` rejects a body that is an error, despite its status', async (envelope) => {
    for (const body of [{ error: 'x' }, { error: 'x', error_description: 'y' }]) {
      await expect(call(envelope, body)).rejects.toMatchObject({
        reason: 'envelope',
        message: expect.stringContaining('the body is not what was asked for, but an error x'),
      })
    }
  })

  test.each([{ error: 'x', id: '1' }, { error: null }, { error: { code: 'x' } }, {}])(
    '`bare` accepts a body that only resembles an error: %j',
    async (body) => {
      expect(await call('bare', body)).toEqual(body)
    },
  )

  test('`bare` rejects a body that is not an object', async () => {
    await expect(call('bare', [1])).rejects.toMatchObject({ reason: 'envelope' })
  })

  test('`any` accepts an error body', async () => {
    expect(await call('any', { error: 'x' })).toEqual({ error: 'x' })
  })

  test('`item`, the default, requires `data`', async () => {
    expect(await call('item', { data: { a: 1 } })).toEqual({ a: 1 })
    await expect(call('item', { a: 1 })).rejects.toMatchObject({ reason: 'envelope' })
  })
})

describe('workspace.request', () => {
  test('sends one request and returns the JSON body unchanged', async () => {
    const server = await serve(({ body }) => ({ body: { data: body, extra: true } }))
    const call = clientOf(server).request('PUT', '/api/oauth/v1/tags/{id}', {
      path: { id: 'a/b' },
      query: { dry_run: true, nothing: null },
      body: { name: 'urgent' },
    })
    expect(await call).toEqual({ data: { name: 'urgent' }, extra: true })
    expect((await call.withResponse()).response.status).toBe(200)
    expect(server.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'PUT /api/oauth/v1/tags/a%2Fb?dry_run=true',
    ])
  })

  test('rejects like a built-in operation, with method and path as its name', async () => {
    const server = await serve(({ method }) => ({ status: method === 'GET' ? 404 : 429, body: { error: 'nope' } }))
    const client = clientOf(server, { maxRetries: 0 })
    const missing = await rejection(client.request('GET', '/api/tags'))
    expect(missing).toBeInstanceOf(NotFoundError)
    expect(missing).toMatchObject({ operation: 'GET /api/tags', code: 'nope' })
    const busy = await rejection(client.request('POST', '/api/tags'))
    expect(busy).toBeInstanceOf(RateLimitError)
  })

  test.each(['//evil.test/x', '/../x', '/a/%2e%2e/b', '/a?x=1', '/a#b', '/a\\b'])(
    'rejects the path %s',
    async (path) => {
      const server = await serve(() => ({}))
      const send = async () => clientOf(server).request('GET', path as '/')
      await expect(send()).rejects.toBeInstanceOf(InvalidArgumentError)
      expect(server.received).toEqual([])
    },
  )
})
