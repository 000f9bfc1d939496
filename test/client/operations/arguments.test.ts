import { runInNewContext } from 'node:vm'
import { defineOperation, InvalidArgumentError, type Operation, type SupportWorkspace } from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { invalidArgument, json, makeClient, page, rejection, scripted } from '../../helpers/client.ts'
import { thrower } from '../../helpers/failing-callbacks.ts'

/** Returns a client that gets an empty page for each GET and an item for every other request. */
function setUp() {
  const fetch = scripted(({ method }) => json(method === 'GET' ? page([]) : { data: { id: '1' } }))
  return { fetch, workspace: makeClient({ fetch }) }
}

const createTag = defineOperation({ id: 'tags.create', method: 'POST', path: '/api/tags' })

/** Every way to send a body. */
const senders: [string, (workspace: SupportWorkspace<'self'>, body: never) => PromiseLike<unknown>][] = [
  ['a built-in operation', (workspace, body) => workspace.tasks.create(body)],
  ['a custom operation', (workspace, body) => workspace.call(createTag, { body })],
  ['workspace.request', (workspace, body) => workspace.request('POST', '/api/tags', { body })],
]

/** Not declared by TypeScript yet. */
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): object }

const keyOf = (key: string) => key
const fail = thrower(new Error('hunter2'))
const cycle: unknown[] = []
cycle.push({ cycle })
const deep = Array.from({ length: 100_000 }).reduce<unknown>((nested) => [nested], null)

class CustomClass {
  secret = 'hunter2'
}

describe.each(senders)('a body sent through %s', (_, send) => {
  test.each<[string, unknown, string?]>([
    ['FormData', new FormData()],
    ['URLSearchParams', new URLSearchParams('secret=hunter2')],
    ['Blob', new Blob(['hunter2'])],
    ['Map', new Map([['secret', 'hunter2']])],
    ['Uint8Array', new Uint8Array(3)],
    ['Promise', Promise.resolve('hunter2')],
    ['Error', new Error('hunter2'), 'is an Error'],
    ['CustomClass', new CustomClass()],
    ['an Object', new (class {})(), 'is an Object'],
    ['a field called constructor', Object.create({ constructor: { name: 'hunter2' } }), 'is an Object'],
    ['function', () => 'hunter2'],
    ['symbol', Symbol('hunter2')],
    ['bigint', 7n],
    ['NaN', Number.NaN, 'finite number'],
  ])('with %s at any depth is rejected with its type', async (name, value, type = name) => {
    for (const [body, argument] of [
      [{ files: value }, 'body.files'],
      [{ deep: [{ files: value }] }, 'body.deep.0.files'],
      [{ deep: { toJSON: () => value } }, 'body.deep'],
    ]) {
      const error = await invalidArgument((workspace) => send(workspace, body as never))
      expect(error).toMatchObject({ argument, message: expect.stringContaining(`${type}, which cannot be sent`) })
      expect(error.stack).not.toContain('hunter2')
    }
  })

  test.each([
    ['a cycle', 'contains a reference to itself', cycle],
    ['a getter that throws', 'cannot be read', Object.defineProperty({}, 'text', { get: fail, enumerable: true })],
    ['a toJSON that throws', 'cannot be read', { toJSON: fail }],
    ['an invalid Date', 'is an invalid Date, which cannot be sent', new Date(Number.NaN)],
    ['100,000 levels of nesting', 'is nested too deeply', deep],
  ])('with %s is rejected without being quoted', async (_, problem, field) => {
    const error = await invalidArgument((workspace) => send(workspace, { field } as never))
    expect(String(error)).toContain(problem)
    expect(`${error.stack} ${error.cause}`).not.toContain('hunter2')
  })

  test('whose toJSON returns undefined is rejected, because it would be sent without a body', async () => {
    const error = await invalidArgument((workspace) => send(workspace, { toJSON() {} } as never))
    expect(error).toMatchObject({ argument: 'body', message: expect.stringContaining('`toJSON` returns undefined') })
  })

  test.each([
    ['a Date', { due: new Date(0) }, { due: '1970-01-01T00:00:00.000Z' }],
    ['an object with toJSON', { id: { toJSON: () => 'text', other: 1n } }, { id: 'text' }],
    ['a toJSON that uses its key', { id: { toJSON: keyOf }, list: [{ toJSON: keyOf }] }, { id: 'id', list: ['0'] }],
    ['a URL (inherited toJSON)', { link: new URL('https://a.test/b') }, { link: 'https://a.test/b' }],
    ['a Buffer', { file: Buffer.from('a') }, { file: { type: 'Buffer', data: [97] } }],
    ['undefined', { a: undefined, list: [undefined, 1] }, { list: [null, 1] }],
    ['inherited properties', Object.create({ inherited: 1 }, { own: { value: 2, enumerable: true } }), { own: 2 }],
    ['no prototype', Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ['a field called constructor', { constructor: { name: 'x' } }, { constructor: { name: 'x' } }],
    ['an object of another realm', runInNewContext('({ list: [1, { deep: null }] })'), { list: [1, { deep: null }] }],
    ['one object twice', ((shared) => ({ a: shared, b: [shared] }))({ id: 1 }), { a: { id: 1 }, b: [{ id: 1 }] }],
  ])('with %s is sent as JSON.stringify writes it', async (_, body, expected) => {
    const { fetch, workspace } = setUp()
    await send(workspace, body as never)
    expect(await fetch.requests[0]?.json()).toEqual(expected)
    expect(JSON.parse(JSON.stringify(body))).toEqual(expected)
  })

  test.each([
    ['a field called __proto__', JSON.parse('{"__proto__":{"a":1},"b":2}'), '{"__proto__":{"a":1},"b":2}'],
    ['a number of `JSON.rawJSON`', { id: rawJson('12345678901234567890') }, '{"id":12345678901234567890}'],
  ])('with %s is sent unchanged', async (_, body, text) => {
    const { fetch, workspace } = setUp()
    await send(workspace, body as never)
    expect(await fetch.requests[0]?.text()).toBe(text)
  })
})

test('a custom body schema receives a copy, Dates included, and its output must be JSON', async () => {
  const { fetch, workspace } = setUp()
  const create = (transform: (due: Date) => unknown) =>
    defineOperation({
      id: 'tags.create',
      method: 'POST',
      path: '/api/tags',
      body: z.object({ due: z.date().transform(async (due) => transform(due)) }),
    })
  const body = { due: new Date(0) }
  const call = workspace.call(
    create((due) => due),
    { body },
  )
  body.due.setTime(1e12)
  await call
  expect(await fetch.requests[0]?.json()).toEqual({ due: '1970-01-01T00:00:00.000Z' })
  const error = await rejection(
    workspace.call(
      create(() => new Map()),
      { body },
    ),
  )
  expect(error).toMatchObject({ argument: 'body.due', message: expect.stringContaining('a Map') })
  expect(fetch.requests).toHaveLength(1)
})

describe('the arguments of a call', () => {
  test('are copied when it is made: body, path, query, headers, extraQuery and extraBody', async () => {
    const { fetch, workspace } = setUp()
    const input = { path: { id: 'a' }, query: { tag: ['a'] }, body: { deep: { list: ['a'] } } }
    const options = { headers: { 'x-probe': 'a' }, extraQuery: { extra: ['a'] }, extraBody: { extra: { is: 'a' } } }
    const call = workspace.request('POST', '/x/{id}', input, options)
    input.path.id = 'b'
    input.query.tag.push('b')
    input.body.deep.list.push('b')
    options.headers['x-probe'] = 'b'
    options.extraQuery.extra.push('b')
    options.extraBody.extra.is = 'b'
    await call
    const [request] = fetch.requests
    expect(request?.url).toBe('https://api.test/x/a?tag=a&extra=a')
    expect(request?.headers.get('x-probe')).toBe('a')
    expect(await request?.json()).toEqual({ deep: { list: ['a'] }, extra: { is: 'a' } })
  })

  test('can include a query that is a proxy, as stores of user interfaces have them', async () => {
    const { fetch, workspace } = setUp()
    const query = new Proxy({ limit: 2 }, {})
    await workspace.contacts.list(query)
    await workspace.call(createTag, { query })
    expect(fetch.queries()).toEqual(['?limit=2', '?limit=2'])
  })

  test('stay the same on every page of a list', async () => {
    const fetch = scripted(json(page([{ id: '1' }], 'a')), json(page([{ id: '2' }])))
    const query = { limit: 2 }
    const options = { headers: { 'x-probe': 'a' }, extraQuery: { status: ['open'] }, maxItems: 5 }
    const list = makeClient({ fetch }).conversations.list(query, options)
    const change = () => {
      query.limit += 1
      options.headers['x-probe'] += 'b'
      options.extraQuery.status.push('b')
      options.maxItems = 0
    }
    change()
    for await (const _item of list) change()
    expect(fetch.queries()).toEqual(['?limit=2&status=open', '?limit=2&status=open&after=a'])
    expect(fetch.requests.map(({ headers }) => headers.get('x-probe'))).toEqual(['a', 'a'])
  })
})

describe('a custom query schema', () => {
  test('receives a copy that was made with the call, Dates included, for every page', async () => {
    const fetch = scripted(json(page([{ id: '1' }], 'a')), json(page([{ id: '2' }])))
    const query = z.object({ range: z.object({ from: z.date() }).transform(({ from }) => from.getTime()) })
    const tags = defineOperation({ id: 'tags.list', method: 'GET', path: '/api/tags', envelope: 'list', query })
    const range = { from: new Date(7) }
    const list = makeClient({ fetch }).call(tags, { query: { range } })
    range.from.setTime(8)
    await list.toArray()
    expect(fetch.queries()).toEqual(['?range=7', '?range=7&after=a'])
  })

  test('does not receive the cursors of a list', async () => {
    const fetch = scripted(json(page([{ id: '1' }], 'a')), json(page([{ id: '2' }])))
    const query = z.strictObject({ kind: z.string().transform((kind) => kind.toUpperCase()) })
    const list = defineOperation({ id: 'tags.list', method: 'GET', path: '/api/tags', envelope: 'list', query })
    await makeClient({ fetch })
      .call(list, { query: { kind: 'x' } })
      .toArray()
    expect(fetch.queries()).toEqual(['?kind=X', '?kind=X&after=a'])
  })

  test('receives `after` if the operation is not a list', async () => {
    const { fetch, workspace } = setUp()
    const query = z.object({ after: z.string().transform((after) => after.toUpperCase()) })
    const create = defineOperation({ id: 'tags.create', method: 'POST', path: '/api/tags', query })
    await workspace.call(create, { query: { after: 'x' } })
    expect(fetch.queries()[0]).toBe('?after=X')
  })
})

describe('extraQuery and extraBody', () => {
  test('are added to the documented parameters', async () => {
    const { fetch, workspace } = setUp()
    await workspace.contacts.create({ email: 'a@b.c' }, { extraBody: { vip: true }, extraQuery: { notify: false } })
    await workspace.call(createTag, {}, { extraBody: { vip: true } })
    await workspace.call(createTag, { body: { vip: true } }, { extraBody: {} })
    expect(fetch.requests[0]?.url).toBe('https://api.test/api/oauth/v1/contacts?notify=false')
    expect(await fetch.requests[0]?.json()).toEqual({ email: 'a@b.c', vip: true })
    expect(await fetch.requests[1]?.json()).toEqual({ vip: true })
    expect(await fetch.requests[2]?.json()).toEqual({ vip: true })
  })

  const creating = (options: object) => (workspace: SupportWorkspace<'self'>) =>
    workspace.contacts.create({ email: 'a@b.c' }, options)
  const sending = (body: unknown) => (workspace: SupportWorkspace) =>
    workspace.request('POST', '/x', { body }, { extraBody: { a: 1 } })
  test.each<[string, Parameters<typeof invalidArgument>[0]]>([
    ['extraBody.file', creating({ extraBody: { file: new Map() } })],
    ['extraBody', creating({ extraBody: new FormData() })],
    ['extraBody', creating({ extraBody: [1] })],
    ['extraBody', creating({ extraBody: null })],
    ['extraQuery', creating({ extraQuery: null })],
    ['a', creating({ extraQuery: { a: new Map() } })],
    ['extraQuery', creating({ extraQuery: new URLSearchParams('a=1') })],
    ['extraBody', sending([1])],
    ['extraBody', ({ contacts }) => contacts.get('k', { extraBody: {} })],
  ])('are rejected where they do not apply or cannot be sent: %s', async (argument, call) => {
    expect(await invalidArgument(call)).toHaveProperty('argument', argument)
  })

  test('take precedence over a field of the same name', async () => {
    const { fetch, workspace } = setUp()
    await workspace.request('POST', '/x', { body: { a: 1, b: 2 } }, { extraBody: { a: 3 } })
    expect(await fetch.requests[0]?.json()).toEqual({ a: 3, b: 2 })
  })

  test.each([{ limit: null }, { limit: 1 }])('take precedence over a parameter of the same name: %o', async (query) => {
    const { fetch, workspace } = setUp()
    await workspace.conversations.list(query, { extraQuery: { limit: 7 } })
    expect(fetch.queries()[0]).toBe('?limit=7')
  })
})

describe('an invalid argument', () => {
  const invalidCalls: Record<string, (workspace: SupportWorkspace<'self'>) => PromiseLike<unknown>> = {
    'no operation': (workspace) => workspace.call(undefined as unknown as Operation),
    'an operation without a path': (workspace) => workspace.call({ id: 'x', method: 'GET' } as Operation),
    'an operation with an unknown method': (workspace) =>
      workspace.call({ id: 'x', method: 'get', path: '/x' } as unknown as Operation),
    'a list without a path': (workspace) => workspace.call({ id: 'x', method: 'GET', envelope: 'list' } as Operation),
    'a path that is a symbol': (workspace) => workspace.request('GET', Symbol('x') as never),
    'an input that is a string': (workspace) => workspace.call(createTag, 'x' as never),
    'a signal as the options': (workspace) => workspace.me(AbortSignal.abort() as never),
    'a signal as the options of a list': (workspace) => workspace.members.list({}, AbortSignal.abort() as never),
    'a method that is no text': (workspace) => workspace.request(Object.create(null), '/x'),
    'a parameter that the path lacks': (workspace) => workspace.request('DELETE', '/x', { path: { id: 'y' } }),
    'a query that is a string': (workspace) => workspace.conversations.list('limit=5' as never),
    'a query that is URLSearchParams': (workspace) =>
      workspace.conversations.list(new URLSearchParams('limit=5') as never),
    'an unknown direction': (workspace) => workspace.conversations.list({}, { direction: 'down' as never }),
    'a prefetch that is a number': (workspace) => workspace.conversations.list({}, { prefetch: 1 as never }),
  }
  const options = 'maxItems direction prefetch resumeFrom signal timeout headers extraQuery'
  for (const name of options.split(' ')) {
    invalidCalls[`${name} in a query`] = (workspace) => workspace.conversations.list({ [name]: 10 } as never)
  }

  test.each(Object.entries(invalidCalls))('makes the call reject and never throw: %s', async (_, call) => {
    const { fetch, workspace } = setUp()
    let result: PromiseLike<unknown> | undefined
    expect(() => {
      result = call(workspace)
    }).not.toThrow()
    const error = await rejection(result as PromiseLike<unknown>)
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(fetch.requests).toHaveLength(0)
  })

  test('of a list makes every use of the list reject', async () => {
    const list = setUp().workspace.conversations.list({ limit: 0 })
    const uses = [
      list,
      list.withResponse(),
      list.toArray(),
      list.pages().next(),
      list[Symbol.asyncIterator]().next(),
      setUp().workspace.conversations.list().toArray({ maxItems: -1 }),
    ]
    for (const use of uses) expect(await rejection(use)).toBeInstanceOf(InvalidArgumentError)
  })

  test('is valid where a custom operation documents the parameter', async () => {
    const { fetch, workspace } = setUp()
    const sorted = defineOperation({
      id: 'tags.sorted',
      method: 'GET',
      path: '/api/tags',
      envelope: 'list',
      query: z.object({ direction: z.string() }),
    })
    await workspace.call(sorted, { query: { direction: 'up' } })
    expect(fetch.queries()[0]).toBe('?direction=up')
  })
})
