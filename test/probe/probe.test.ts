import { traits } from 'support-workspace-sdk/catalogue'
import { describeEvidence } from 'support-workspace-sdk/probe'
import { describe, expect, test } from 'vitest'
import { body, type Difference, foundIn, headers, probeService, query, unknownPath, without } from './service.ts'

/** The first items of lists, newest first, so that one order differs from the others. */
const times =
  (first: (index: number) => object) =>
  ({ data, ...rest }: { data: object[] }) => ({
    data: data.map((item, index) => ({ ...item, ...first(index) })),
    ...rest,
  })

const uniform404: NonNullable<Difference['response']> = (response) =>
  response.status === 404 ? unknownPath() : response

const etags = (etag: () => string, isChecked: boolean): Difference => ({
  request: ({ headers }) => {
    const isSame = isChecked && headers.has('if-none-match')
    return isSame ? new Response(null, { status: 304 }) : undefined
  },
  response: headers(({ path }) => (path === '/organization' ? { etag: etag() } : {})),
})

/** Serves the two pages of a list of contacts that ends with an empty page. */
const emptyEnd: Difference = {
  options: { contacts: 5 },
  request: ({ path, url }) => {
    const isEnd = path === '/contacts' && url.searchParams.get('after') === 'the-end'
    return isEnd ? Response.json({ data: [], page_metadata: { after: null, before: null } }) : undefined
  },
  response: body(/^\/contacts$/, ({ data, page_metadata }, { url }) => {
    const isExact = url.searchParams.get('limit') === String(data.length) && page_metadata.after === null
    return { data, page_metadata: isExact ? { ...page_metadata, after: 'the-end' } : page_metadata }
  }),
}

let etag = 0

/** What a service does differently, and what the probe must report of each trait. `undefined` is undetermined. */
const services: [title: string, difference: Difference, expected: Readonly<Record<string, string | undefined>>][] = [
  ['has pages of 10', { options: { defaultLimit: 10 } }, { 'limit.default': '10' }],
  ['has pages of 50', { options: { defaultLimit: 50 } }, { 'limit.default': '50' }],
  ['has at most 50 in a page', { options: { maxLimit: 50 } }, { 'limit.largest': '50' }],
  [
    'has at most 500 in a page',
    { options: { maxLimit: 500, conversations: 300 } },
    { 'limit.largest': 'at least 200' },
  ],
  [
    'has fewer conversations than its largest page',
    { options: { maxLimit: 500 } },
    { 'limit.largest': undefined, 'limit.default': '20' },
  ],
  [
    'rejects a limit above 100',
    {
      request: ({ url }) =>
        Number(url.searchParams.get('limit')) > 100 ? Response.json({}, { status: 422 }) : undefined,
    },
    { 'limit.largest': 'rejects 200', 'pages.contacts': undefined },
  ],
  [
    'ignores `limit`',
    { request: query((query) => query.delete('limit')) },
    { 'limit.effect': 'ignored', 'limit.largest': undefined, 'limit.default': '20' },
  ],
  [
    'ignores `after`',
    { request: query((query) => query.delete('after')) },
    { 'cursor.after': 'ignored', 'cursor.before': undefined, 'cursor.invalid': undefined },
  ],
  ['ignores `before`', { request: query((query) => query.delete('before')) }, { 'cursor.before': 'ignored' }],
  [
    'has no cursor of the previous page',
    {
      response: body(/^\/conversations$/, (page) => ({
        ...page,
        page_metadata: { ...page.page_metadata, before: null },
      })),
    },
    { 'cursor.before': 'no cursor of the previous page', 'cursor.after': 'next page' },
  ],
  [
    'rejects `before`',
    { request: ({ url }) => (url.searchParams.has('before') ? Response.json({}, { status: 400 }) : undefined) },
    { 'cursor.before': 'rejected' },
  ],
  [
    'ignores a cursor that it did not issue',
    { request: query((query) => query.get('after')?.startsWith('probe') && query.delete('after')) },
    { 'cursor.invalid': 'ignored', 'cursor.after': 'next page' },
  ],
  [
    'rejects such a cursor with a 422',
    {
      request: ({ url }) =>
        url.searchParams.get('after')?.startsWith('probe') ? Response.json({}, { status: 422 }) : undefined,
    },
    { 'cursor.invalid': 'rejected with 422' },
  ],
  [
    'rejects unknown query parameters',
    {
      request: ({ url }) =>
        [...url.searchParams.keys()].some((name) => !/^(limit|after|before)$/.test(name))
          ? Response.json({ error: 'invalid_request' }, { status: 400 })
          : undefined,
    },
    { 'query.unknown': 'rejected' },
  ],
  [
    'paginates conversations only',
    { options: { pagination: 'conversations-only' } },
    {
      'pages.contacts': 'complete',
      'pages.members': 'complete',
      'pages.messages': 'complete',
      'pages.last': undefined,
    },
  ],
  [
    'has a limit of contacts, and no cursors',
    { response: body(/^\/contacts$/, ({ data }) => ({ data })) },
    { 'pages.contacts': 'limit without cursors', 'pages.members': 'paginated' },
  ],
  ['ends a list with an empty page', emptyEnd, { 'pages.last': 'empty page' }],
  ['has too many contacts to see the end', { options: { contacts: 120 } }, { 'pages.last': undefined }],
  ['has one contact', { options: { contacts: 1 } }, { 'pages.contacts': undefined, 'order.contacts': undefined }],
  [
    'has the oldest message first',
    { response: body(/\/messages$/, ({ data, ...rest }) => ({ data: data.reverse(), ...rest })) },
    { 'order.messages': 'inserted_at ascending' },
  ],
  ['has two messages', { options: { messagesPerConversation: 2 } }, { 'order.messages': undefined }],
  [
    'orders conversations by their latest message',
    {
      response: body(
        /^\/conversations$/,
        times((index) => ({ inserted_at: (index * 7) % 5, last_message_inserted_at: 1_000 - index })),
      ),
    },
    { 'order.conversations': 'last_message_inserted_at descending' },
  ],
  [
    'orders conversations by two times alike',
    {
      response: body(
        /^\/conversations$/,
        times((index) => ({ inserted_at: -index, last_message_inserted_at: -index })),
      ),
    },
    { 'order.conversations': undefined },
  ],
  [
    'orders contacts by creation',
    {
      response: body(
        /^\/contacts$/,
        times((index) => ({ inserted_at: index, updated_at: index % 2, active_at: null })),
      ),
    },
    { 'order.contacts': 'inserted_at ascending' },
  ],
  [
    'has no tasks',
    { request: without(/^\/tasks/) },
    { 'tasks.list.path': 'not found', 'tasks.get.path': undefined, 'segments.list.path': 'exists' },
  ],
  ['has no segments', { request: without(/^\/segments/) }, { 'segments.list.path': 'not found' }],
  ['cannot get a contact', { request: without(/^\/contacts\//) }, { 'contacts.get.path': 'not found' }],
  [
    'cannot get a conversation',
    { request: without(/^\/conversations\/[^/]+$/) },
    { 'conversations.get.path': 'not found' },
  ],
  ['cannot list notes', { request: without(/\/notes$/) }, { 'notes.list.path': 'not found' }],
  ['cannot get the settings', { request: without(/\/settings$/) }, { 'organization.getSettings.path': 'not found' }],
  ['has another method for tasks', { request: without(/^\/tasks/, 405) }, { 'tasks.list.path': 'another method' }],
  [
    'forbids tasks',
    { request: without(/^\/tasks/, 403) },
    { 'tasks.list.path': undefined, 'tasks.get.path': undefined },
  ],
  [
    'has one 404 for ids and paths, and cannot get a contact',
    { request: without(/^\/contacts\//), response: uniform404 },
    { 'contacts.get.path': undefined, 'error.unknownId': '404 with error, error_description' },
  ],
  [
    'gets a contact by another id',
    {
      request: ({ path }) =>
        /^\/contacts\/con_/.test(path)
          ? Response.json({ error: 'not_found', error_description: 'There is no such contact.' }, { status: 404 })
          : undefined,
    },
    { 'contacts.get.path': undefined, 'conversations.get.path': 'exists' },
  ],
  [
    'answers any id',
    { request: ({ path }) => (/^\/tasks\//.test(path) ? Response.json({ data: { id: path.slice(7) } }) : undefined) },
    { 'tasks.get.path': undefined, 'tasks.list.path': 'exists' },
  ],
  [
    'tells about its rate limit',
    { response: headers(() => ({ 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59' })) },
    { 'headers.rateLimit': 'x-ratelimit-limit, x-ratelimit-remaining' },
  ],
  [
    'names its requests otherwise',
    { response: headers(() => ({ 'x-request-id': undefined, 'request-id': 'r' })) },
    { 'headers.requestId': 'request-id' },
  ],
  [
    'names no requests and no date',
    { response: headers(() => ({ 'x-request-id': undefined, date: undefined })) },
    { 'headers.requestId': 'none', 'headers.date': 'none' },
  ],
  ['checks ETags', etags(() => '"1"', true), { 'headers.etag': 'answers 304' }],
  ['sends ETags and ignores them', etags(() => '"1"', false), { 'headers.etag': 'ignores If-None-Match' }],
  ['has another ETag each time', etags(() => `"${++etag}"`, false), { 'headers.etag': undefined }],
  ['allows any origin', { options: { cors: true } }, { 'cors.get': 'any origin' }],
  [
    'allows the origin that asks',
    { options: { cors: ['https://probe.invalid'] } },
    { 'cors.get': 'the origin that was sent' },
  ],
  [
    'allows another origin',
    { response: headers(() => ({ 'access-control-allow-origin': 'https://app.example' })) },
    { 'cors.get': 'another origin' },
  ],
  ['wraps /me', { response: body(/^\/me$/, (me) => ({ data: me })) }, { 'wrap.me': 'wrapped', 'limit.default': '20' }],
  [
    'has other errors for paths',
    { request: ({ path }) => (path.startsWith('/probe') ? Response.json({ errors: [] }, { status: 404 }) : undefined) },
    { 'error.unknownPath': '404 with other JSON', 'error.unknownId': '404 with error, error_description' },
  ],
  [
    'refuses a request without a token in HTML',
    {
      request: ({ headers }) =>
        headers.has('authorization') ? undefined : new Response('<h1>Sign in</h1>', { status: 401 }),
    },
    { 'error.withoutToken': '401 without a JSON object' },
  ],
  [
    'answers /me without a token',
    { request: ({ headers }) => (headers.has('authorization') ? undefined : Response.json({ organization: {} })) },
    { 'error.withoutToken': undefined },
  ],
]

/** What the sandbox as it is does, where a service does not differ. */
const usual: Readonly<Record<string, string | undefined>> = {
  'conversations.get.path': 'exists',
  'notes.list.path': 'exists',
  'contacts.get.path': 'exists',
  'organization.getSettings.path': 'exists',
  'tasks.list.path': 'exists',
  'tasks.get.path': 'exists',
  'segments.list.path': 'exists',
  'segments.get.path': 'exists',
  'wrap.me': 'bare',
  'limit.effect': 'honored',
  'limit.default': '20',
  'limit.largest': '100',
  'cursor.after': 'next page',
  'cursor.before': 'previous page',
  'cursor.invalid': 'rejected with 400',
  'query.unknown': 'ignored',
  'pages.contacts': 'paginated',
  'pages.members': 'paginated',
  'pages.messages': 'paginated',
  'pages.last': 'no cursor',
  'order.messages': 'inserted_at descending',
  'headers.rateLimit': 'none',
  'headers.requestId': 'x-request-id',
  'headers.date': 'date',
  'headers.etag': 'none',
  'cors.get': 'none',
  'error.withoutToken': '401 with error, error_description',
  'error.unknownPath': '404 with error, error_description',
  'error.unknownId': '404 with error, error_description',
}

test('the traits of the sandbox are found, and those that need an app are left', async () => {
  const { findings } = await probeService()
  const found = Object.keys(traits).map((trait) => [trait, foundIn(findings, trait)])
  expect(Object.fromEntries(found.filter(([, what]) => what !== undefined))).toEqual(usual)
  expect(findings.evidence.undetermined['entry.message']).toContain('use a recorder')
})

describe.each(services)('of a service that %s', (_, difference, expected) => {
  test('the probe reports this trait, and nothing wrong of the others', async () => {
    const { findings, sent } = await probeService(difference)
    for (const [trait, what] of Object.entries(expected))
      expect([trait, foundIn(findings, trait)]).toEqual([trait, what])
    // The others are as usual, or undetermined with a reason.
    for (const trait of Object.keys(usual)) {
      const found = foundIn(findings, trait)
      if (found === undefined) expect(findings.evidence.undetermined[trait], trait).toMatch(/\.$/)
      else if (!Object.hasOwn(expected, trait)) expect([trait, found]).toEqual([trait, usual[trait]])
    }
    expect(new Set(sent.map(({ method }) => method))).toEqual(new Set(['GET']))
    expect(sent.length).toBe(findings.requests)
    expect(findings.requests).toBeLessThanOrEqual(40)
  })
})

test('at least 32 of 40 services are told apart, and the others are undetermined', () => {
  const rows = services.map(([, , expected]) => Object.values(expected)[0])
  expect(rows.length).toBeGreaterThanOrEqual(40)
  expect(rows.filter((what) => what !== undefined).length).toBeGreaterThanOrEqual(32)
})

describe('of a service that answers everything with', () => {
  test.each<[string, () => Response, number]>([
    ['a 404', unknownPath, 1],
    ['a 403', () => Response.json({ error: 'forbidden' }, { status: 403 }), 1],
    ['a 401', () => Response.json({ error: 'invalid_token' }, { status: 401 }), 1],
    ['a 429', () => Response.json({ error: 'rate_limited' }, { status: 429 }), 1],
    ['a 500', () => new Response('', { status: 500 }), 1],
    ['HTML', () => new Response('<h1>Sign in</h1>', { headers: { 'content-type': 'text/html' } }), 1],
    ['a redirect', () => new Response(null, { status: 302, headers: { location: '/' } }), 1],
    ['JSON', () => Response.json({ organization: {}, data: [] }), 4],
    ['no answer', () => Response.error(), 1],
  ])('%s, the probe reports no trait', async (_, answer, requests) => {
    const { findings } = await probeService({ request: answer })
    expect(findings.evidence).toMatchObject({ operations: {}, fields: {}, traits: {} })
    expect(Object.keys(findings.evidence.undetermined)).toEqual(Object.keys(traits))
    expect([findings.requests, typeof findings.stopped]).toEqual([requests, 'string'])
  })
})

test.each([429, 503])('the probe stops at the first %i, and reports what it has', async (status) => {
  let count = 0
  const request = () => (++count > 12 ? new Response('', { status }) : undefined)
  const { findings, sent } = await probeService({ request })
  expect(sent).toHaveLength(13)
  expect(findings.stopped).toBe(`It stopped at a ${status}.`)
  expect(foundIn(findings, 'limit.default')).toBe('20')
  expect(findings.evidence.undetermined['tasks.list.path']).toBe(findings.stopped)
})

test('a request without an answer stops the probe, without its reason', async () => {
  let count = 0
  const request = () => {
    if (++count > 5) throw new TypeError('getaddrinfo ENOTFOUND secret.example')
    return undefined
  }
  expect((await probeService({ request })).findings.stopped).toBe('A request got no answer.')
})

test('requests are 250 ms apart, ask for at most 200 entries, and all but one have the token', async () => {
  const { pauses, sandbox, findings } = await probeService()
  expect(pauses).toEqual(Array(findings.requests - 1).fill(250))
  const limits = sandbox.requests.map(({ query }) => Number(query.limit ?? 0))
  expect(Math.max(...limits)).toBe(200)
  expect(sandbox.requests.filter(({ headers }) => headers.authorization === undefined)).toHaveLength(1)
  expect(sandbox.state.writes).toEqual([])
})

test('fields of another type, null, absent and undocumented fields are reported', async () => {
  const { findings } = await probeService({
    response: body(/^\/conversations$/, ({ data, ...rest }) => ({
      ...rest,
      data: data.map(({ summary, ...item }: { summary: string }, index: number) => ({
        ...item,
        unread_count: '3',
        priority: 1,
        Bad: 1,
        'odd name': 1,
        ...(index === 0 && { once: 1 }),
      })),
    })),
  })
  const { fields } = findings.evidence
  expect(Object.keys(fields['conversation.unread_count'] ?? {})).toContain('string')
  expect(Object.keys(fields['conversation.summary'] ?? {})).toContain('absent')
  expect(Object.keys(fields['conversation.group'] ?? {})).toContain('null')
  const undocumented = Object.keys(fields).filter((name) => /priority|Bad|odd|once/.test(name))
  expect(undocumented).toEqual(['conversation.priority'])
  const text = describeEvidence(findings.evidence)
  expect(text).toContain('conversation.priority is not documented, and was number.')
  expect(text).toContain('conversation.unread_count is documented as integer, and was string.')
})

test('an id that does not exist proves nothing if the token cannot read its kind', async () => {
  const forbidden = () => Response.json({ error: 'insufficient_scope' }, { status: 403 })
  const { findings } = await probeService({
    request: ({ path }) => (path.startsWith('/users') ? forbidden() : undefined),
  })
  expect(foundIn(findings, 'error.unknownId')).toBeUndefined()
})
