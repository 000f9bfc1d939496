import {
  defineOperation,
  NotFoundError,
  NotLoadedError,
  type StandardSchemaV1,
  SupportWorkspaceError,
  type WebFetch,
} from 'support-workspace-sdk'
import { describe, expect, test, vi } from 'vitest'
import { json, makeClient, page, rejection } from '../helpers/client.ts'
import { turns } from '../helpers/turns.ts'
import { unhandledDuring } from '../helpers/unhandled.ts'

/** Makes a schema of a function, as another library would. */
const schemaOf = (validate: (value: unknown) => unknown) =>
  ({ '~standard': { version: 1, vendor: 'test', validate } }) as StandardSchemaV1<object, object>

const sdkError = () => new SupportWorkspaceError('A refinement called the service.', { hint: 'It failed.' })

const throwing = {
  'throws an error of this package': () => {
    throw sdkError()
  },
  'rejects with an error of this package': async () => {
    throw sdkError()
  },
}

const tags = { id: 'tags.list', method: 'GET', path: '/tags', envelope: 'list' } as const

test.each(Object.entries(throwing))(
  'a response schema that %s rejects the call, after one request',
  async (_, check) => {
    const fetch = vi.fn<WebFetch>(async (url) => json(url.includes('/tags/') ? { data: {} } : page([{ id: 't' }])))
    const client = makeClient({ fetch, validation: 'off' })
    const response = schemaOf(check)
    const list = defineOperation({ ...tags, response })
    const get = defineOperation({ id: 'tags.get', method: 'GET', path: '/tags/1', response })
    expect(await rejection(client.call(get))).toMatchObject({ name: 'UnexpectedResponseError', reason: 'schema' })
    expect(await rejection(client.call(list).toArray())).toMatchObject({ reason: 'schema' })
    expect(fetch).toHaveBeenCalledTimes(2)
  },
)

test('a list whose schema fails in different ways for its items leaves no rejection unhandled', async () => {
  let item = 0
  const check = () => {
    item += 1
    if (item % 2 === 0) throw new NotFoundError('x', {} as never)
    return Promise.reject(sdkError())
  }
  const fetch = async () => json(page([{ id: 1 }, { id: 2 }, { id: 3 }]))
  const unhandled = await unhandledDuring(async () => {
    const list = makeClient({ fetch }).call(defineOperation({ ...tags, response: schemaOf(check) }))
    expect(await rejection(list.toArray())).toMatchObject({ reason: 'schema' })
  })
  expect(unhandled).toEqual([])
})

test('an asynchronous query schema and a synchronous body schema that both fail leave no rejection unhandled', async () => {
  const issues = { issues: [{ message: 'no' }] }
  const create = defineOperation({
    id: 'tags.create',
    method: 'POST',
    path: '/tags',
    query: schemaOf(async () => issues),
    body: schemaOf(() => issues),
  })
  const fetch = vi.fn<WebFetch>()
  const unhandled = await unhandledDuring(async () => {
    const error = await rejection(makeClient({ fetch }).call(create, { query: {}, body: {} }))
    expect(error).toMatchObject({ name: 'InvalidArgumentError', argument: 'body' })
  })
  expect(unhandled).toEqual([])
  expect(fetch).not.toHaveBeenCalled()
})

describe('schemas of this package that cannot be loaded', () => {
  const check = () => Promise.reject(new NotLoadedError('The schemas', new Error('404')))
  const operation = { id: 'x', method: 'POST', path: '/x' } as const

  test('let a write reject before it is sent', async () => {
    const fetch = vi.fn<WebFetch>()
    const call = makeClient({ fetch }).call({ ...operation, body: schemaOf(check) }, { body: {} })
    expect(await rejection(call)).toMatchObject({ name: 'NotLoadedError', outcome: 'not-sent' })
    expect(fetch).not.toHaveBeenCalled()
  })
})

test.each([
  ['a symbol', [Symbol('x')], 'body.Symbol(x)'],
  ['fields of a missing object', ['a', 'b', 'c'], 'body.a.b.c'],
])('an issue whose path has %s names the field', async (_, path, argument) => {
  const body = schemaOf(() => ({ issues: [{ message: 'no', path }] }))
  const create = defineOperation({ id: 'tags.create', method: 'POST', path: '/tags', body })
  const error = await rejection(makeClient({ fetch: vi.fn<WebFetch>() }).call(create, { body: {} }))
  expect(error).toMatchObject({ name: 'InvalidArgumentError', argument })
  expect(String(error)).toContain('received missing')
})

test('the items of a page are checked one at a time, so that a first check can load the schemas for all', async () => {
  let running = 0
  let most = 0
  const response = schemaOf(async (value) => {
    running += 1
    most = Math.max(most, running)
    await turns(1)
    running -= 1
    return { value }
  })
  const fetch = async () => json(page([{ id: 1 }, { id: 2 }, { id: 3 }]))
  await makeClient({ fetch }).call(defineOperation({ ...tags, response }))
  expect(most).toBe(1)
})

test('a response schema is not called when the operation returns no data', async () => {
  const validate = vi.fn(() => ({ issues: [{ message: 'no' }] }))
  const remove = defineOperation({
    id: 'tags.delete',
    method: 'DELETE',
    path: '/tags/1',
    envelope: 'none',
    response: schemaOf(validate),
  })
  expect(await makeClient({ fetch: async () => json({ data: {} }) }).call(remove)).toBeUndefined()
  expect(validate).not.toHaveBeenCalled()
})

test('a response schema is not called once the call has been aborted', async () => {
  const controller = new AbortController()
  const validate = vi.fn((value: unknown) => ({ value }))
  // Aborts between the last byte and the end of the body.
  const body = new ReadableStream(
    {
      start: (stream) => stream.enqueue(new TextEncoder().encode('{"data":{}}')),
      pull(stream) {
        stream.close()
        controller.abort('enough')
      },
    },
    { highWaterMark: 0 },
  )
  const get = defineOperation({ id: 'tags.get', method: 'GET', path: '/tags/1', response: schemaOf(validate) })
  const call = makeClient({ fetch: async () => new Response(body) }).call(get, {}, { signal: controller.signal })
  expect(await rejection(call)).toBe('enough')
  await turns(20)
  expect(validate).not.toHaveBeenCalled()
})

test('a write is not sent once its schema has used up the total timeout', async () => {
  const create = defineOperation({
    id: 'tags.create',
    method: 'POST',
    path: '/tags',
    body: schemaOf((value) => {
      const end = performance.now() + 15
      while (performance.now() < end);
      return { value }
    }),
  })
  const fetch = vi.fn<WebFetch>(async () => json({ data: {} }))
  const error = await rejection(makeClient({ fetch, totalTimeout: 5 }).call(create, { body: {} }))
  expect(error).toMatchObject({ name: 'TimeoutError', limit: 'total', outcome: 'not-sent' })
  expect(fetch).not.toHaveBeenCalled()
})

test('a query schema that changes its input in place gets the original for each page', async () => {
  const query = schemaOf((value) => {
    ;(value as { tags: string[] }).tags.push('x')
    return { value }
  })
  const urls: string[] = []
  const fetch = async (url: string) => {
    urls.push(url)
    return json(page([{ id: urls.length }], urls.length < 3 ? `c${urls.length}` : null))
  }
  await makeClient({ fetch })
    .call(defineOperation({ ...tags, query }), { query: { tags: ['a'] } })
    .toArray()
  expect(urls.map((url) => new URL(url).searchParams.getAll('tags'))).toEqual(Array(3).fill(['a', 'x']))
})
