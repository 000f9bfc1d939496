import {
  type Actor,
  ActorSelfRequiredError,
  type Drift,
  defineOperation,
  type Operation,
  schemas,
  UnexpectedResponseError,
} from 'support-workspace-sdk'
import { startSandbox } from 'support-workspace-sdk/sandbox'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { invalidArgument, json, makeClient, page, refusal, rejection, scripted, token } from '../../helpers/client.ts'

const create = {
  id: 'tags.create',
  method: 'POST',
  path: '/api/oauth/v1/conversations/{conversation_id}/tags',
  scope: 'tags:write',
} as const
const list = { id: 'tags.list', method: 'GET', path: '/api/oauth/v1/tags', envelope: 'list' } as const
const toTime = (seconds: number) => new Date(seconds * 1000)

/** The same operations, described with two schema libraries: seconds become a date, and a query has a default. */
const withZod = {
  create: defineOperation({
    ...create,
    query: z.object({ notify: z.boolean().default(true) }),
    body: z.object({ name: z.string().transform((name) => name.trim()) }),
    response: z.object({ id: z.string(), made_at: z.number().transform(toTime) }),
  }),
  list: defineOperation({ ...list, response: z.object({ id: z.string().transform(Number) }) }),
}

const withValibot = {
  create: defineOperation({
    ...create,
    query: v.object({ notify: v.optional(v.boolean(), true) }),
    body: v.object({ name: v.pipe(v.string(), v.trim()) }),
    response: v.object({ id: v.string(), made_at: v.pipe(v.number(), v.transform(toTime)) }),
  }),
  list: defineOperation({ ...list, response: v.object({ id: v.pipe(v.string(), v.transform(Number)) }) }),
}

describe.each([
  ['zod', withZod],
  ['valibot', withValibot],
])('an operation described with %s', (_, operations) => {
  // Both have the same input and output types, but the compiler cannot infer that from the table.
  const { create, list } = operations as typeof withZod
  const path = { conversation_id: 'a/b ü' }

  const created = json({ data: { id: 't', made_at: 1_700_000_000 } }, 201)

  test('sends the output of its query and body schemas, and returns the output of its response schema', async () => {
    const fetch = scripted(created)
    const tag = await makeClient({ fetch }).call(create, { path, query: {}, body: { name: ' urgent ' } })
    expect(tag).toEqual({ id: 't', made_at: new Date('2023-11-14T22:13:20Z') })
    const [request] = fetch.requests
    expect(request?.method).toBe('POST')
    expect(request?.url).toBe('https://api.test/api/oauth/v1/conversations/a%2Fb%20%C3%BC/tags?notify=true')
    expect(await request?.json()).toEqual({ name: 'urgent' })
    expect(request?.headers.get('authorization')).toBe(`Bearer ${token}`)
  })

  test.each([
    ['body.name', { path, query: {}, body: { name: 7 } }],
    ['query.notify', { path, query: { notify: 'yes' }, body: { name: 'x' } }],
    ['conversation_id', { path: { conversation_id: '..' }, query: {}, body: { name: 'x' } }],
  ])('rejects an invalid %s before a request is sent', async (argument, input) => {
    expect(await invalidArgument((client) => client.call(create, input as never))).toMatchObject({ argument })
  })

  const modes = ['observe', 'strict', 'off'] as const
  test.each(modes)('rejects a mismatch in %s mode, without quoting the response', async (validation) => {
    const drifts: Drift[] = []
    const fetch = scripted(json({ data: { id: 't', made_at: 'yesterday' } }))
    const client = makeClient({ fetch, validation, onDrift: (drift) => drifts.push(drift) })
    const error = await rejection(client.call(create, { path, query: {}, body: { name: 'x' } }))
    expect(error).toBeInstanceOf(UnexpectedResponseError)
    expect(error).toMatchObject({ reason: 'schema', operation: 'tags.create', outcome: 'unknown' })
    expect(JSON.stringify(error)).not.toContain('yesterday')
    expect(drifts).toEqual([])
  })

  test('pages through items that are the output of its schema', async () => {
    const fetch = scripted(json(page([{ id: '1' }, { id: '2' }], 'c=1&')), json(page([{ id: '3' }])))
    const items = await makeClient({ fetch })
      .call(list, { query: { limit: 2, kind: ['a', 'b'] } })
      .toArray()
    expect(items).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }])
    expect(fetch.queries()).toEqual(['?limit=2&kind=a&kind=b', '?limit=2&kind=a&kind=b&after=c%3D1%26'])
  })
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

test('in the sandbox, the actor of a custom operation is checked like that of a built-in one', async () => {
  await using sandbox = await startSandbox()
  const path = { id: sandbox.state.conversations[0]?.id ?? '' }
  const input = { path, body: { body_html: '<p>Hi</p>' } }
  const call = (tokenActor: Actor, actor: Actor) => {
    const accessToken = sandbox.issueToken({ actor: tokenActor })
    return makeClient<Actor>({ baseUrl: sandbox.url, accessToken, actor }).call(createNote, input)
  }
  expect((await call('self', 'self')).conversation_id).toBe(path.id)
  const refused = await rejection(call('app', 'self'))
  expect(refused).toBeInstanceOf(ActorSelfRequiredError)
  expect(refused).toMatchObject({ outcome: 'refused', status: 422 })

  sandbox.clearRequests()
  const notSent = await rejection(call('app', 'app'))
  expect(notSent).toBeInstanceOf(ActorSelfRequiredError)
  expect(notSent).toMatchObject({ outcome: 'not-sent', operation: 'notes.custom' })
  expect(sandbox.requests).toEqual([])
})

describe('the envelope', () => {
  const call = async (envelope: Operation['envelope'] & string, body: unknown) => {
    const fetch = scripted(body === undefined ? new Response() : json(body))
    return makeClient({ fetch }).call(defineOperation({ id: 'x', method: 'GET', path: '/x', envelope }) as Operation)
  }

  test.each([
    ['bare', { a: 1 }, { a: 1 }],
    ['any', [1, null], [1, null]],
    ['any', undefined, undefined],
    ['any', { error: 'x' }, { error: 'x' }],
    ['none', { a: 1 }, undefined],
    ['none', [], undefined],
    ['item', { data: { a: 1 } }, { a: 1 }],
    // They only resemble an error.
    ...[{ error: 'x', id: '1' }, { error: null }, { error: { code: 'x' } }, {}].map(
      (body) => ['bare', body, body] as const,
    ),
  ] as const)('`%s` of the body %j returns %j', async (envelope, body, expected) => {
    expect(await call(envelope, body)).toEqual(expected)
  })

  test.each([
    ['none', { error: 'x' }, 'the body is not what was asked for, but an error x'],
    ['none', { error: 'x', error_description: 'y' }, 'the body is not what was asked for, but an error x'],
    ['bare', { error: 'x' }, 'the body is not what was asked for, but an error x'],
    ['bare', { error: 'x', error_description: 'y' }, 'the body is not what was asked for, but an error x'],
    ['bare', [1], 'expected a JSON object'],
    ['item', { a: 1 }, 'the body has no `data`'],
  ] as const)('`%s` rejects the body %j, despite its status', async (envelope, body, words) => {
    const error = await rejection(call(envelope, body))
    expect(error).toMatchObject({ reason: 'envelope', message: expect.stringContaining(words) })
  })
})

describe('workspace.request', () => {
  test('sends one request and returns the JSON body unchanged', async () => {
    const fetch = scripted(json({ data: { name: 'urgent' }, extra: true }))
    const call = makeClient({ fetch }).request('PUT', '/api/oauth/v1/tags/{id}', {
      path: { id: 'a/b' },
      query: { dry_run: true, nothing: null },
      body: { name: 'urgent' },
    })
    expect(await call).toEqual({ data: { name: 'urgent' }, extra: true })
    expect((await call.withResponse()).response.status).toBe(200)
    expect(fetch.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'PUT https://api.test/api/oauth/v1/tags/a%2Fb?dry_run=true',
    ])
  })

  test('rejects like a built-in operation, with method and path as its name', async () => {
    const client = makeClient({ fetch: scripted(refusal(404, 'nope')) })
    const error = await rejection(client.request('GET', '/api/tags'))
    expect(error).toMatchObject({ name: 'NotFoundError', operation: 'GET /api/tags', code: 'nope' })
  })
})
