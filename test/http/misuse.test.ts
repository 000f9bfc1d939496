import {
  defineOperation,
  type FetchInit,
  type InvalidArgumentError,
  type SupportWorkspace,
} from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import { json, makeClient, page, refusal, rejection, scripted, token } from '../helpers/client.ts'
import { printedForms } from '../helpers/printed-forms.ts'

/** Calls a function that may throw. */
const startedBy = async (use: () => unknown) => use()

describe('a misspelled or misplaced name is rejected, not ignored', () => {
  const fetch = () => Promise.reject(new Error('not expected'))
  const client = makeClient({ fetch })
  const operation = { id: 'x', method: 'GET', path: '/x' } as const
  test.each<[string, string, () => PromiseLike<unknown>]>([
    ['in the options of toArray', 'maxItem', () => client.members.list().toArray({ maxItem: 5 } as never)],
    ['in the options of a call', 'page', () => client.me({ page: 7 } as never)],
    ['in the options of a list', 'page', () => client.members.list({}, { page: 2 } as never)],
    ['in the input of request', 'json', () => client.request('POST', '/x', { json: {} } as never)],
    [
      'in the input of request, where options come later',
      'signal',
      () => client.request('GET', '/x', { signal: null } as never),
    ],
    ['in the input of an operation', 'bdy', () => client.call(operation, { bdy: {} } as never)],
  ])('%s: %s', async (_, argument, call) => {
    const error = (await rejection(call())) as InvalidArgumentError
    expect(error).toMatchObject({ name: 'InvalidArgumentError', argument, outcome: 'not-sent' })
    expect(error.message).toMatch(/Use one of:|Did you mean `(maxItems|body)`\?$/)
  })

  test.each<[string, string, () => unknown]>([
    ['timout', 'timeout', () => makeClient({ timout: 5 } as never)],
    ['AccessToken', 'accessToken', () => makeClient({ AccessToken: token } as never)],
    ['onRety', 'onRetry', () => makeClient({ hooks: { onRety: () => {} } } as never)],
    ['maxRetrys', 'maxRetries', () => client.me({ maxRetrys: 5 } as never)],
    ['extrabody', 'extraBody', () => client.contacts.create({ email: 'a@b.c' }, { extrabody: {} } as never)],
    ['prefech', 'prefetch', () => client.members.list({}, { prefech: false } as never)],
    ['limt', 'limit', () => client.members.list({ limt: 5 } as never)],
    ['Limit', 'limit', () => client.members.list({ Limit: 5 } as never)],
    ['limti', 'limit', () => client.members.list({ limti: 5 } as never)],
    ['befor', 'before', () => client.members.list({ befor: 'x' } as never)],
    ['aftre', 'after', () => client.members.list({ aftre: 'x' } as never)],
  ])('with a suggestion: %s, for %s', async (argument, meant, use) => {
    expect(await rejection(startedBy(use))).toMatchObject({
      name: 'InvalidArgumentError',
      argument,
      outcome: 'not-sent',
      hint: expect.stringMatching(new RegExp(`^Did you mean \`${meant}\`\\?`)),
    })
  })

  test('unless an undocumented query parameter of a list only looks a little like another', async () => {
    const fetch = scripted(json(page([])))
    const query = { status: 'open', list: 1, later: true, filter: 'x', sort: 'asc' }
    await makeClient({ fetch }).members.list(query as never)
    expect(new URL(fetch.requests[0]?.url ?? '').search).toBe('?status=open&list=1&later=true&filter=x&sort=asc')
  })

  test.each([
    ['envelop', { ...operation, envelop: 'list' }],
    ['evidence', { ...operation, evidence: 'reference' }],
    ['scope', { ...operation, scope: 5 }],
    ['id', { ...operation, id: 'x\r\ny' }],
    ['path', { ...operation, path: '/..\u0001' }],
  ])('in a defined operation: %s', (argument, definition) => {
    expect(() => defineOperation(definition as never)).toThrow(expect.objectContaining({ argument }))
  })

  test('in appInfo', () => {
    expect(() => makeClient({ appInfo: { name: 'a', versoin: '1' } as never })).toThrow('`versoin`')
  })
})

test.each(['/..\u0001', '/..\u0000', '/a/..\b', '/x\u007f'])(
  'a path with control characters is rejected: %j',
  async (path) => {
    const fetch = scripted(json({}))
    expect(await rejection(makeClient({ fetch }).request('GET', path as '/'))).toMatchObject({ argument: 'path' })
    expect(fetch.requests).toEqual([])
  },
)

test('a path parameter cannot complete an encoded ".."', async () => {
  const fetch = scripted(json({}))
  const call = makeClient({ fetch }).request('GET', '/%2{a}%2e/x', { path: { a: 'e' } })
  expect(await rejection(call)).toMatchObject({ argument: 'path' })
  expect(fetch.requests).toEqual([])
})

test('a token in a path is not quoted', async () => {
  const error = await rejection(makeClient({ fetch: scripted(json({})) }).request('GET', `/x?access_token=${token}`))
  for (const printed of printedForms(error)) expect(printed).not.toContain(token)
})

test('a token provider that quotes an earlier token before a retry does not leak it', async () => {
  let attempts = 0
  const secret = 'opaque-Zx9Q-2rT4vB2nK6'
  const accessToken = () => {
    attempts += 1
    if (attempts === 1) return secret
    throw new Error(`no token after ${secret}`)
  }
  const error = await rejection(makeClient({ accessToken, fetch: scripted(refusal(503, 'x')) }).me())
  expect(String(error)).toContain('no token after [redacted]')
  for (const printed of printedForms(error)) expect(printed).not.toContain(secret)
})

test.each<[string, (client: SupportWorkspace<'self'>) => PromiseLike<unknown>]>([
  [
    'conversations.get: `conversation_id` must be an id, not undefined.',
    ({ conversations }) => conversations.get(undefined as never),
  ],
  [
    'messages.create: `conversation_id` must be an id, not an empty string.',
    ({ messages }) => messages.create('', { body_html: '' }),
  ],
  [
    'messages.create: `options` must be a plain object, not a string.',
    ({ messages }) => messages.create('c', { body_html: '' }, 'x' as never),
  ],
  ['me: `timeout` must be a positive number, not -1.', (client) => client.me({ timeout: -1 })],
  [
    'me: `maxRetries` must be an integer of at least 0, not a string.',
    (client) => client.me({ maxRetries: '2' as never }),
  ],
  [
    'me: `signal` must be an AbortSignal, not an AbortController.',
    (client) => client.me({ signal: new AbortController() as never }),
  ],
  ['contacts.list: `options` must be a plain object, not a string.', ({ contacts }) => contacts.list({}, 'x' as never)],
  ['contacts.list: `limit` must be an integer of at least 1, not 0.', ({ contacts }) => contacts.list({ limit: 0 })],
  [
    'contacts.create: `body.tags` is a Map, which cannot be sent as JSON.',
    ({ contacts }) => contacts.create({ tags: new Map() } as never),
  ],
  [
    'contacts.create: `body.email` is invalid: expected string, received missing.',
    ({ contacts }) => contacts.create({} as never),
  ],
])('an invalid argument names operation, argument and what it got: %s', async (words, call) => {
  expect(String(await rejection(call(makeClient({ fetch: scripted(json({})) }))))).toContain(
    `InvalidArgumentError: ${words}`,
  )
})

test('the text that a token prints as is not a token', () => {
  expect(() => makeClient({ accessToken: '[redacted]' })).toThrow('the text that a token prints as')
})

describe('a fetch option that', () => {
  const thrower = (property: string) =>
    Object.defineProperty(new TypeError('broken'), property, {
      get() {
        throw new Error('unreadable')
      },
    })

  test.each(['cause', 'name', 'code'])(
    'rejects with an error whose %s cannot be read is the cause',
    async (property) => {
      const fetch = () => Promise.reject(thrower(property))
      const error = await rejection(makeClient({ fetch, maxRetries: 0 }).me())
      expect(error).toMatchObject({ name: 'NetworkError', outcome: 'no-effect', attempts: [{ error: 'NetworkError' }] })
      expect(String(error)).toContain('received no response')
    },
  )

  const headers = new Headers()
  test.each<[string, unknown]>([
    ['a response with a status that is not a number', { status: Number.NaN, headers, text: async () => '{}' }],
    ['a mock that only has json()', { status: 200, headers, json: async () => ({}) }],
    ['a response with plain headers', { status: 200, headers: {}, text: async () => '{}' }],
  ])('returns %s is named as the cause, and not retried', async (_, response) => {
    const fetch = async () => response as never
    const error = await rejection(makeClient({ fetch }).messages.create('c', { body_html: 'x' }))
    expect(error).toMatchObject({ name: 'NetworkError', outcome: 'unknown', attempts: [{}] })
    expect(String(error)).toContain('failed in the `fetch` option: the `fetch` option returned no Response')
  })

  test.each<[string, () => unknown]>([
    [
      'read',
      () => {
        const response = new Response('{}')
        void response.text()
        return response
      },
    ],
    [
      'locked',
      () => {
        const response = new Response('{}')
        response.body?.getReader()
        return response
      },
    ],
    ['made of strings', () => new Response(new ReadableStream({ start: (body) => body.enqueue('{}') }))],
  ])('returns a body that is %s is named as the cause, and not retried', async (_, respond) => {
    const fetch = async () => respond() as never
    const error = await rejection(makeClient({ fetch }).me())
    expect(error).toMatchObject({ name: 'NetworkError', attempts: [{}] })
    expect(String(error)).toContain('failed in the `fetch` option')
  })
})

test('a content-type of the caller is sent', async () => {
  let sent: FetchInit | undefined
  const fetch = async (_: string, init: FetchInit) => {
    sent = init
    return json({ data: {} })
  }
  const headers = { 'content-type': 'application/merge-patch+json' }
  await makeClient({ fetch }).request('PATCH', '/x', { body: {} }, { headers })
  expect(sent?.headers['content-type']).toBe('application/merge-patch+json')
})

test('a schema without an issue does not accept a value by accident', async () => {
  const response = { '~standard': { version: 1, vendor: 'x', validate: () => ({ issues: [] }) } } as const
  const operation = defineOperation({ id: 'x', method: 'GET', path: '/x', response })
  expect(await rejection(makeClient({ fetch: scripted(json({ data: {} })) }).call(operation))).toMatchObject({
    reason: 'schema',
  })
})

test.each(['abc', ['a'], null])('a query schema that returns %j is rejected', async (value) => {
  const query = { '~standard': { version: 1, vendor: 'x', validate: () => ({ value }) } } as const
  const fetch = scripted(json({ data: {} }))
  const operation = defineOperation({ id: 'x', method: 'GET', path: '/x', query })
  expect(await rejection(makeClient({ fetch }).call(operation))).toMatchObject({ argument: 'query' })
  expect(fetch.requests).toEqual([])
})

test('a hint for a custom operation is about its definition', async () => {
  const operation = defineOperation({ id: 'x', method: 'GET', path: '/x' })
  const error = await rejection(makeClient({ fetch: scripted(json(page([]))) }).call(operation))
  expect(String(error)).toContain('expected an object in `data`, received array. Make sure that the `envelope`')
})
