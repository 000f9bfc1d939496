import { AdaptiveRateLimiter, defineOperation, type FetchInit, SupportWorkspace } from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { invalidArgument, json, makeClient, page, rejection, scripted, token } from '../helpers/client.ts'
import { printedForms } from '../helpers/printed-forms.ts'

/** Calls a function that may throw. */
const startedBy = async (use: () => unknown) => use()

describe('a misspelled or misplaced name is rejected, not ignored', () => {
  const fetch = () => Promise.reject(new Error('not expected'))
  const client = makeClient({ fetch })
  const operation = { id: 'x', method: 'GET', path: '/x' } as const
  const source = { getAccessToken: () => token }
  test.each<[string, string, () => unknown]>([
    ['timout', 'timeout', () => makeClient({ timout: 5 } as never)],
    ['onInvalidTokn', 'onInvalidToken', () => makeClient({ accessToken: { ...source, onInvalidTokn() {} } as never })],
    ['AccessToken', 'accessToken', () => makeClient({ AccessToken: token } as never)],
    ['onRety', 'onRetry', () => makeClient({ hooks: { onRety: () => {} } } as never)],
    ['versoin', 'version', () => makeClient({ appInfo: { name: 'a', versoin: '1' } as never })],
    ['maxRetrys', 'maxRetries', () => client.me({ maxRetrys: 5 } as never)],
    ['extrabody', 'extraBody', () => client.contacts.create({ email: 'a@b.c' }, { extrabody: {} } as never)],
    ['prefech', 'prefetch', () => client.members.list({}, { prefech: false } as never)],
    ['page', 'timeout', () => client.me({ page: 7 } as never)],
    ['page', 'direction', () => client.members.list({}, { page: 2 } as never)],
    ['maxItem', 'maxItems', () => client.members.list().toArray({ maxItem: 5 } as never)],
    ['json', 'body', () => client.request('POST', '/x', { json: {} } as never)],
    ['signal', 'query', () => client.request('GET', '/x', { signal: null } as never)],
    ['bdy', 'body', () => client.call(operation, { bdy: {} } as never)],
  ])('with the names that exist: %s, for %s', async (argument, meant, use) => {
    expect(await rejection(startedBy(use))).toMatchObject({
      name: 'InvalidArgumentError',
      argument,
      outcome: 'not-sent',
      hint: expect.stringMatching(new RegExp(`^Use one of: .*\`${meant}\``)),
    })
  })

  test('unless it is an undocumented query parameter, also if it resembles an option', async () => {
    const fetch = scripted(json(page([])))
    const query = { status: 'open', list: 1, later: true, filter: 'x', sort: 'asc', readers: 2 }
    await makeClient({ fetch }).members.list(query as never)
    expect(fetch.queries()[0]).toBe('?status=open&list=1&later=true&filter=x&sort=asc&readers=2')
  })

  test.each([
    ['operation', undefined],
    ['envelop', { ...operation, envelop: 'list' }],
    ['evidence', { ...operation, evidence: 'reference' }],
    ['scope', { ...operation, scope: 5 }],
    ['id', { ...operation, id: 'x\r\ny' }],
    ['id', { ...operation, id: '' }],
    ['path', { ...operation, path: '/..\u0001' }],
    ['envelope', { ...operation, envelope: 'List' }],
    ['actor', { ...operation, actor: 'Self' }],
    ['response', { ...operation, response: { type: 'object' } }],
    ['body', { ...operation, body: () => true }],
  ])('in a defined operation: %s', async (argument, definition) => {
    // Begins with the id of the operation, if there is one.
    const message = expect.stringMatching(definition?.id ? /^x/ : /^`/)
    expect(() => defineOperation(definition as never)).toThrow(expect.objectContaining({ argument, message }))
    if (['operation', 'envelop', 'evidence'].includes(argument)) return
    expect(await rejection(client.call(definition as never))).toMatchObject({ argument, outcome: 'not-sent' })
  })
})

describe('what holds no options and would be ignored as a whole is rejected', () => {
  const client = makeClient({ fetch: () => Promise.reject(new Error('not expected')) })
  const later = Promise.resolve({ timeout: 5 })
  test.each<[string, () => unknown, string]>([
    [
      'options of withOptions',
      () => client.withOptions(later as never),
      '`options` must be a plain object, not a Promise.',
    ],
    [
      'options of a limiter',
      () => new AdaptiveRateLimiter(new Map() as never),
      '`options` must be a plain object, not a Map.',
    ],
    [
      'input of a write',
      () => client.request('POST', '/x', new FormData() as never),
      '`input` must be a plain object, not a FormData.',
    ],
    [
      'path of an operation',
      () => client.call({ id: 'x', method: 'GET', path: '/x/{id}' }, { path: null as never }),
      '`path` must be a plain object, not null.',
    ],
    [
      'query that has a schema',
      () =>
        client.call({ id: 'x', method: 'GET', path: '/x', query: z.map(z.string(), z.string()) }, { query: new Map() }),
      '`query` must be a plain object, not a Map.',
    ],
  ])('%s', async (_, use, problem) => {
    expect(String(await rejection(startedBy(use)))).toContain(problem)
  })

  test('but options can be an instance of a class', () => {
    class Configuration {
      readonly baseUrl = 'https://api.test'
      get accessToken() {
        return token
      }
    }
    expect(String(new SupportWorkspace(new Configuration()))).toBe('[object SupportWorkspace]')
  })
})

test('a path parameter cannot complete an encoded ".."', async () => {
  const error = await invalidArgument((client) => client.request('GET', '/%2{a}%2e/x', { path: { a: 'e' } }))
  expect(error).toHaveProperty('argument', 'path')
})

test('a token in a path is not quoted', async () => {
  const error = await rejection(makeClient({ fetch: scripted(json({})) }).request('GET', `/x?access_token=${token}`))
  for (const printed of printedForms(error)) expect(printed).not.toContain(token)
})

const createTag = defineOperation({ id: 'tags.create', method: 'POST', path: '/tags', body: z.any() })

/** Calls by what their error says. */
const invalidCalls: Record<string, (client: SupportWorkspace<'self'>) => PromiseLike<unknown>> = {
  'conversations.get: `conversation_id` must be an id, not undefined.': ({ conversations }) =>
    conversations.get(undefined as never),
  'messages.create: `conversation_id` must be an id, not an empty string.': ({ messages }) =>
    messages.create('', { body_html: '' }),
  'messages.create: `options` must be a plain object, not a string.': ({ messages }) =>
    messages.create('c', { body_html: '' }, 'x' as never),
  'me: `timeout` must be a positive number, not -1.': (client) => client.me({ timeout: -1 }),
  'me: `maxRetries` must be an integer of at least 0, not a string.': (client) =>
    client.me({ maxRetries: '2' as never }),
  'me: `signal` must be an AbortSignal, not an AbortController.': (client) =>
    client.me({ signal: new AbortController() as never }),
  'contacts.list: `options` must be a plain object, not a string.': ({ contacts }) => contacts.list({}, 'x' as never),
  'contacts.list: `limit` must be an integer of at least 1, not 0.': ({ contacts }) => contacts.list({ limit: 0 }),
  'contacts.create: `body.tags` is a Map, which cannot be sent as JSON.': ({ contacts }) =>
    contacts.create({ tags: new Map() } as never),
  'tags.create: `body` contains a value that cannot be copied.': (client) =>
    client.call(createTag, { body: { tag() {} } }),
  'me: The `authorization` header is set by the client. Pass the token as `accessToken`.': (client) =>
    client.me({ headers: { authorization: 'x' } }),
  'me: The `host` header is set by the client or the platform. Leave it out.': (client) =>
    client.me({ headers: { host: 'x' } }),
}

test.each(Object.entries(invalidCalls))('an invalid argument is named, with what it got: %s', async (words, call) => {
  expect(String(await invalidArgument(call))).toContain(`InvalidArgumentError: ${words}`)
})

test.each([
  ['baseUrl', { baseUrl: undefined }],
  ['accessToken', { accessToken: undefined }],
  ['accessToken.onInvalidToken', { accessToken: { getAccessToken: () => token, onInvalidToken: true } }],
  ['maxRetry', { maxRetry: 5 }],
  ['timeout', { timeout: 0 }],
  ['timeout', { timeout: Number.NaN }],
  ['timeout', { timeout: '5' }],
  ['totalTimeout', { totalTimeout: -1 }],
  ['maxRetries', { maxRetries: 1.5 }],
  ['maxRetries', { maxRetries: Number.POSITIVE_INFINITY }],
  ['maxRetryAfter', { maxRetryAfter: 0 }],
  ['maxResponseBytes', { maxResponseBytes: 0 }],
  ['validation', { validation: 'loose' }],
  ['actor', { actor: 'admin' }],
  ['fetch', { fetch: 'fetch' }],
  ['fetch', { fetch: null }],
  ['onDrift', { onDrift: true }],
  ['scopes', { scopes: 'conversations:read' }],
  ['scopes', { scopes: ['contacts:read', 1] }],
  ['hooks', { hooks: () => {} }],
  ['hooks', { hooks: [] }],
  ['hooks', { hooks: Promise.resolve({ onRetry() {} }) }],
  ['onRetry', { hooks: { onRetry: 'log' } }],
  ['logger', { logger: 'console' }],
  ['logger.debug', { logger: {} }],
  ['logLevel', { logLevel: 'verbose' }],
  ['allowInsecureHttp', { allowInsecureHttp: 'false' }],
  ['rateLimiter', { rateLimiter: null }],
  ['rateLimiter', { rateLimiter: () => {} }],
  ['rateLimiter.acquire', { rateLimiter: {} }],
  ['middleware', { middleware: {} }],
  ['middleware', { middleware: [true] }],
  ['fresh', { fresh: 1 }],
  ['rateLimitKey', { rateLimitKey: '' }],
  ['rateLimitKey', { rateLimitKey: 7 }],
])('an invalid option of a client is named: %s, in %o', (argument, options) => {
  expect(() => makeClient(options as never)).toThrow(
    expect.objectContaining({ name: 'InvalidArgumentError', argument, message: expect.stringContaining(argument) }),
  )
})

test.each([
  ['null', null],
  ['a text', 'x-a: b'],
  ['a Map', new Map([['x-a', 'b']])],
  ['an array of names', ['ab']],
  ['a pair with a list', [['x-list', ['b']]]],
  ['a number', { 'x-app': 1 }],
  ['null as a value', { 'x-app': null }],
  ['a value with a line break', { 'x-a': 'very\r\nsecret' }],
  ['a value with a non-Latin character', { 'x-a': 'very secret ✓' }],
  ['a name with a space', { 'x very secret': 'a' }],
  ['the length', { 'Content-Length': '3' }],
  ['the encoding', { 'transfer-encoding': 'chunked' }],
  ['the host', { HOST: 'evil.example' }],
  ['the token', { AUTHORIZATION: 'Bearer secret' }],
])('headers must be text that is not set by the client, and are not quoted: %s', async (_, headers) => {
  const message = expect.stringMatching(/^(?!.*secret)/s)
  const expected = expect.objectContaining({ name: 'InvalidArgumentError', argument: 'headers', message })
  expect(() => makeClient({ headers: headers as never })).toThrow(expected)
  expect(await rejection(makeClient().me({ headers: headers as never }))).toEqual(expected)
})

test.each([
  ['signal', { signal: 'signal' }],
  ['signal', { signal: { aborted: false, addEventListener() {} } }],
  ['signal', { signal: { aborted: false, removeEventListener() {} } }],
  ['signal', { signal: new EventTarget() }],
  ['timeout', { timeout: 0 }],
  ['totalTimeout', { totalTimeout: -1 }],
  ['maxRetries', { maxRetries: -1 }],
])('an invalid option of a call is named: %s, in %o', async (argument, options) => {
  expect(await invalidArgument((client) => client.me(options as never))).toMatchObject({
    argument,
    outcome: 'not-sent',
  })
})

test('a client needs options', () => {
  expect(() => new SupportWorkspace(undefined as never)).toThrow('Pass at least `baseUrl` and `accessToken`.')
})

test('a token source can be an instance of a class with its own properties', () => {
  class Vault {
    name = 'vault'
    getAccessToken = () => token
  }
  expect(() => makeClient({ accessToken: new Vault() })).not.toThrow()
})

test('the text that a token prints as is not a token', () => {
  expect(() => makeClient({ accessToken: '[redacted]' })).toThrow('the text that a token prints as')
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
