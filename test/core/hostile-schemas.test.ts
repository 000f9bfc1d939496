import {
  defineOperation,
  NotFoundError,
  type StandardSchemaV1,
  SupportWorkspaceError,
  type WebFetch,
} from 'support-workspace-sdk'
import { describe, expect, test, vi } from 'vitest'
import * as z from 'zod/mini'
import { invalidArgument, json, makeClient, page, rejection, scripted } from '../helpers/client.ts'
import { failingCallbacks } from '../helpers/failing-callbacks.ts'
import { turns } from '../helpers/turns.ts'
import { unhandledDuring } from '../helpers/unhandled.ts'

/** Makes a schema of a function, as another library would. */
const schemaOf = (validate: (value: unknown) => unknown) =>
  ({ '~standard': { version: 1, vendor: 'test', validate } }) as StandardSchemaV1<object, object>

const sdkError = () => new SupportWorkspaceError('MARKED', { hint: 'It failed.' })

const get = { id: 'tags.get', method: 'GET', path: '/tags/1' } as const
const tags = { id: 'tags.list', method: 'GET', path: '/tags', envelope: 'list' } as const

describe.each([
  ['an error', () => new Error('MARKED')],
  ['an error of this package', sdkError],
])('with %s', (_, makeError) => {
  test.each(failingCallbacks(makeError()))('a response schema that %s rejects a call in any mode', async (_, check) => {
    const response = schemaOf(check)
    for (const validation of ['observe', 'strict', 'off'] as const) {
      const fetch = vi.fn<WebFetch>(async (url) => json(url.endsWith('/1') ? { data: {} } : page([{ id: 't' }])))
      const client = makeClient({ fetch, validation })
      const error = await rejection(client.call(defineOperation({ ...get, response })))
      expect(error).toMatchObject({ name: 'UnexpectedResponseError', reason: 'schema' })
      expect(String(error)).toContain('expected unknown in the body, received object')
      expect(String(error)).not.toContain('MARKED')
      const list = client.call(defineOperation({ ...tags, response }))
      expect(await rejection(list.toArray())).toMatchObject({ reason: 'schema' })
      expect(fetch).toHaveBeenCalledTimes(2)
    }
  })
})

test('a response schema is named in one short line, whatever the keys of the response are', async () => {
  const response = z.record(z.string(), z.string())
  for (const key of ['a\nERROR forged', 'a\u2028ERROR forged', 'k'.repeat(5_000)]) {
    const client = makeClient({ fetch: scripted(json({ data: { [key]: 1 } })) })
    const { message } = (await rejection(client.call(defineOperation({ ...get, response })))) as Error
    expect(message).toMatch(
      /^tags\.get received an unusable response \(200\): expected string in `(a ERROR forged`|k{400})/,
    )
    expect(message.length).toBeLessThan(1_000)
  }
})

test.each([
  ['quotes the payload as the expected type', { issues: [{ message: 'x', expected: 'MARKED' }] }],
  ['has no issue, but no value either', { issues: [] }],
])('a response schema whose result %s rejects the call without quoting it', async (_, result) => {
  const client = makeClient({ fetch: scripted(json({ data: { name: 'MARKED' } })) })
  const error = await rejection(client.call(defineOperation({ ...get, response: schemaOf(() => result) })))
  expect(error).toMatchObject({ reason: 'schema' })
  expect(String(error)).toContain('expected unknown in')
  expect(String(error)).not.toContain('MARKED')
})

test('a response schema gets every item of a long page', async () => {
  const items = Array.from({ length: 1_002 }, (_, id) => ({ id }))
  const response = schemaOf((value) => ({ value }))
  const list = makeClient({ fetch: scripted(json(page(items))) }).call(defineOperation({ ...tags, response }))
  expect((await list).data).toEqual(items)
})

test.each(['abc', ['a'], null])('a query schema that returns %j is rejected', async (value) => {
  const operation = defineOperation({ ...get, query: schemaOf(() => ({ value })) })
  expect(await invalidArgument((client) => client.call(operation))).toHaveProperty('argument', 'query')
})

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

test.each([
  ['a symbol', [Symbol('x')], 'body.Symbol(x)'],
  ['fields of a missing object', ['a', 'b', 'c'], 'body.a.b.c'],
])('an issue whose path has %s names the field', async (_, path, argument) => {
  const body = schemaOf(() => ({ issues: [{ message: 'no', path }] }))
  const create = defineOperation({ id: 'tags.create', method: 'POST', path: '/tags', body })
  const error = await invalidArgument((client) => client.call(create, { body: {} }))
  expect(error).toHaveProperty('argument', argument)
  expect(String(error)).toContain('received missing')
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
  const operation = defineOperation({ ...get, response: schemaOf(validate) })
  const call = makeClient({ fetch: async () => new Response(body) }).call(operation, {}, { signal: controller.signal })
  expect(await rejection(call)).toBe('enough')
  await turns(20)
  expect(validate).not.toHaveBeenCalled()
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
