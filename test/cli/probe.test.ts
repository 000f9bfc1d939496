import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSandbox, type SandboxOptions } from 'support-workspace-sdk/sandbox'
import { beforeEach, expect, test, vi } from 'vitest'
import { questions } from '../../src/cli/probe-questions.ts'
import { useFolder } from './folder.ts'
import { type Given, start } from './run.ts'

const createFolder = useFolder()
const pauses: number[] = []

beforeEach(() => {
  pauses.length = 0
  // The pauses between requests take no time.
  const { setTimeout } = globalThis
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((callback: () => void, milliseconds: number) => {
    if (milliseconds === 250) pauses.push(milliseconds)
    return setTimeout(callback, milliseconds === 250 ? 0 : milliseconds)
  }) as typeof setTimeout)
  return () => vi.restoreAllMocks()
})

/** A request on its way to the sandbox. */
interface Asked {
  readonly url: URL
  /** Path below the API's prefix. */
  readonly path: string
  readonly init: RequestInit
}

/** How a service differs from the sandbox. */
interface Difference {
  readonly options?: SandboxOptions
  /** Changes the request, or answers it. */
  readonly request?: (asked: Asked) => Response | undefined
  readonly response?: (response: Response, asked: Asked) => Response | Promise<Response>
}

const v1 = '/api/oauth/v1'

/** Starts the command on a sandbox that differs. */
function startProbe(
  { options, request, response }: Difference = {},
  args: readonly string[] = ['--yes'],
  given: Given = {},
) {
  const sandbox = createSandbox(options)
  const sent: Asked[] = []
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (text, init = {}) => {
    const url = new URL(String(text))
    const asked = { url, path: url.pathname.slice(v1.length), init }
    sent.push(asked)
    const answered = request?.(asked)
    if (answered !== undefined) return answered
    const { headers } = init
    const received = await sandbox.fetch(url.href, { headers: headers as Record<string, string> })
    return response === undefined ? received : response(received, asked)
  })
  const env = {
    SUPPORT_WORKSPACE_URL: 'https://service.test',
    SUPPORT_WORKSPACE_TOKEN: sandbox.issueToken({ actor: 'self' }),
  }
  return { running: start(['probe', ...args], { env, ...given }), sandbox, sent }
}

/** Runs the command, and returns its findings by the name of the question. */
async function probe(difference: Difference = {}) {
  const { running, sandbox, sent } = startProbe(difference, ['--yes', '--json'])
  const { code, lines, failure } = await running.ended
  const [{ findings, requests, stopped }] = lines
  const found: Record<string, string | null> = {}
  const reasons: Record<string, string | null> = {}
  for (const { id, answer, reason } of findings) {
    found[id] = answer
    reasons[id] = reason
  }
  return { code, failure, found, reasons, requests, stopped, sandbox, sent }
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of the sandbox, which the changes know
type Body = any

/** Changes the JSON bodies of successful responses of some paths. */
const body =
  (paths: RegExp, change: (body: Body, asked: Asked) => Body): NonNullable<Difference['response']> =>
  async (response, asked) => {
    if (!paths.test(asked.path) || response.status !== 200) return response
    return Response.json(change(await response.json(), asked), { headers: response.headers })
  }

/** Changes each item of the list of conversations. */
const conversations = (change: (item: Body, index: number) => object): Difference => ({
  response: body(/^\/conversations$/, (page) => ({ ...page, data: page.data.map(change) })),
})

const unknownPath = () =>
  Response.json({ error: 'not_found', error_description: 'There is no such path.' }, { status: 404 })
const without = (paths: RegExp, answer: () => Response = unknownPath): Difference => ({
  request: ({ path }) => (paths.test(path) ? answer() : undefined),
})
const noAnswer = () => {
  throw new TypeError('getaddrinfo ENOTFOUND secret.example')
}
const forbidden = () => Response.json({ error: 'forbidden' }, { status: 403 })

/** What the sandbox as it is does, where a service does not differ. */
const usual: Readonly<Record<string, string | null>> = {
  'conversations.get': 'yes',
  'notes.list': 'yes',
  'contacts.get': 'yes',
  'organization.getSettings': 'yes',
  'tasks.list': 'yes',
  'tasks.get': 'yes',
  'segments.list': 'yes',
  'segments.get': 'yes',
  'list.closed': expect.stringMatching(/^yes \(.*(closed|resolved): \d/),
  'list.message': 'yes, last_message_inserted_at (5 of 5)',
  'order.conversations': null,
  'order.messages': 'inserted_at descending',
  'pages.contacts': 'paginated',
  'pages.messages': 'paginated',
  'limit.default': '20',
  'limit.largest': '100',
  'headers.rateLimit': 'none',
  'headers.requestId': 'x-request-id',
  'headers.date': 'date',
  'headers.cors': 'none',
}

const isOtherList = /\/(contacts|messages)$/

/** What a service does differently, and what the probe must say of it. Null is not known. */
const services: [title: string, difference: Difference, expected: Readonly<Record<string, unknown>>][] = [
  ['has pages of 10', { options: { maxLimit: 10 } }, { 'limit.default': '10', 'limit.largest': '10' }],
  ['has fewer conversations than its largest page', { options: { maxLimit: 500 } }, { 'limit.largest': null }],
  [
    'rejects a limit above 100',
    {
      request: ({ url }) =>
        Number(url.searchParams.get('limit')) > 100 ? Response.json({}, { status: 422 }) : undefined,
    },
    {
      'limit.largest': 'it rejects 200',
      'pages.contacts': null,
      'pages.messages': null,
      'list.message': null,
      'order.messages': null,
      'contacts.get': null,
    },
  ],
  [
    'ignores limit',
    { request: ({ url }) => void url.searchParams.delete('limit') },
    { 'limit.largest': 'it ignores limit', 'pages.contacts': null, 'pages.messages': null },
  ],
  [
    'paginates conversations only',
    {
      request: ({ url }) => void (isOtherList.test(url.pathname) && url.searchParams.delete('limit')),
      response: body(isOtherList, ({ data }) => ({ data })),
    },
    { 'pages.contacts': 'complete', 'pages.messages': 'complete' },
  ],
  [
    'has a limit without cursors',
    { response: body(/^\/contacts$/, ({ data }) => ({ data })) },
    { 'pages.contacts': 'limit without cursors' },
  ],
  [
    'lists resolved conversations',
    conversations((item, index) => ({ ...item, status: index === 3 ? 'RESOLVED' : 'open' })),
    { 'list.closed': expect.stringMatching(/^yes \(open: \d+, resolved: \d/) },
  ],
  [
    'does not change an entry with a message',
    conversations((item) => ({ ...item, last_message_inserted_at: item.inserted_at })),
    { 'list.message': 'no (5 of 5)' },
  ],
  [
    'has the oldest message first',
    { response: body(/\/messages$/, ({ data, ...rest }) => ({ data: data.reverse(), ...rest })) },
    { 'order.messages': 'inserted_at ascending' },
  ],
  [
    'orders conversations by their latest message',
    conversations((item, index) => ({ ...item, inserted_at: (index * 7) % 5, last_message_inserted_at: 9e9 - index })),
    { 'order.conversations': 'last_message_inserted_at descending' },
  ],
  ['has no tasks', without(/^\/tasks/), { 'tasks.list': 'no', 'tasks.get': null }],
  ['cannot get a contact', without(/^\/contacts\//), { 'contacts.get': 'no' }],
  ['forbids tasks', without(/^\/tasks/, forbidden), { 'tasks.list': null, 'tasks.get': null }],
  [
    'has one 404 for ids and paths, and cannot get a contact',
    { ...without(/^\/contacts\//), response: (response) => (response.status === 404 ? unknownPath() : response) },
    { 'contacts.get': null },
  ],
]

test.each([['is the sandbox', {}, {}] as (typeof services)[number], ...services])(
  'of a service that %s, the probe says this, and nothing wrong of the rest',
  async (_, difference, expected) => {
    const { found, reasons, requests, sent, code, sandbox } = await probe(difference)
    expect(code).toBe(0)
    expect(found).toEqual({ ...usual, ...expected })
    for (const [id, answer] of Object.entries(found)) if (answer === null) expect(reasons[id], id).toMatch(/\.$/)
    expect(new Set(sent.map(({ init }) => init.method ?? 'GET'))).toEqual(new Set(['GET']))
    expect(sandbox.state.writes).toEqual([])
    expect([requests, pauses.length]).toEqual([sent.length, sent.length - 1])
    expect(requests).toBeLessThanOrEqual(40)
  },
)

test.each<[string, () => Response]>([
  ['a 404', unknownPath],
  ['a 403', forbidden],
  ['a 429', () => new Response('', { status: 429 })],
  ['HTML', () => new Response('<h1>Sign in</h1>')],
  ['a redirect', () => new Response(null, { status: 302, headers: { location: '/' } })],
  ['JSON', () => Response.json({ organization: {}, data: [] })],
  ['no answer', noAnswer],
])('of a service that answers everything with %s, the probe finds nothing, and exits with 75', async (_, answer) => {
  const { found, code, stopped, sent } = await probe({ request: answer })
  expect(new Set(Object.values(found))).toEqual(new Set([null]))
  expect([code, typeof stopped]).toEqual([75, 'string'])
  expect(sent.length).toBeLessThanOrEqual(3)
})

test.each([429, 503])('stops at the first %i, and keeps what it has', async (status) => {
  let count = 0
  const { found, reasons, stopped, sent } = await probe({
    request: () => (++count > 12 ? new Response('', { status }) : undefined),
  })
  expect(sent).toHaveLength(13)
  expect(stopped).toBe(`It stopped at a ${status}.`)
  expect(found['limit.default']).toBe('20')
  expect(reasons['tasks.list']).toBe(stopped)
})

test('a request ends after 30 seconds, also while its body is read', async () => {
  const limits: number[] = []
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => {
    limits.push(milliseconds)
    return AbortSignal.abort(new DOMException('', 'TimeoutError'))
  })
  const { stopped } = await probe({
    request: ({ init }) => (init.signal?.aborted ? noAnswer() : undefined),
  })
  expect(limits).toEqual([30_000])
  expect(stopped).toBe('A request got no answer within 30 s, or one that is too long.')
})

test('prints one line for each question to a person, and writes all findings to a file for its owner only', async () => {
  const file = join(createFolder(), 'found.json')
  const terminals = ['stdin', 'stderr'] as const
  const { running } = startProbe({}, ['--out', file], { terminals, stdin: 'y\n' })
  const { code, stdout, stderr } = await running.ended
  expect(code).toBe(0)
  expect(stderr).toMatch(/up to 40 GET requests[\s\S]*Send these requests\? \[y\/N\][\s\S]*\d\d requests were answered/)
  const lines = stdout.trimEnd().split('\n')
  expect(lines).toHaveLength(Object.keys(questions).length)
  expect(lines).toContainEqual(expect.stringMatching(/^Does GET \/tasks exist\? +yes$/))
  expect(JSON.parse(readFileSync(file, 'utf8')).findings[0]).toEqual({
    id: 'conversations.get',
    question: questions['conversations.get'],
    answer: 'yes',
    reason: null,
  })
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test.each<[string, (path: string) => void]>([
  ['a file', (path) => writeFileSync(path, 'precious')],
  ['a link', (path) => symlinkSync('precious', path)],
  ['a folder', (path) => mkdirSync(path)],
])('refuses --out that is %s before a request', async (_, prepare) => {
  const file = join(createFolder(), 'found.json')
  prepare(file)
  writeFileSync(`${file}.new`, 'mine')
  const { running, sent } = startProbe({}, ['--yes', '--out', file])
  const { code, stderr } = await running.ended
  expect([code, stderr]).toEqual([2, expect.stringContaining('found.json exists already.')])
  expect([sent, readdirSync(join(file, '..'))]).toEqual([[], ['found.json', 'found.json.new']])
})

test.each<[string, Given, string]>([
  ['without a terminal', {}, 'Pass --yes.'],
  ['after a no', { terminals: ['stdin', 'stderr'], stdin: 'n\n' }, 'The answer was no.'],
])('sends nothing %s', async (_, given, text) => {
  const folder = createFolder()
  const { running, sent } = startProbe({}, ['--out', join(folder, 'found.json')], given)
  const { code, stderr } = await running.ended
  expect(code).toBe(2)
  expect(stderr).toContain(text)
  expect([sent, readdirSync(folder)]).toEqual([[], []])
})

test('Ctrl+C ends it between two requests', async () => {
  const folder = createFolder()
  const difference = { request: () => void running.interrupt() }
  const { running } = startProbe(difference, ['--yes', '--out', join(folder, 'found.json')])
  expect((await running.ended).code).toBe(130)
  expect(readdirSync(folder)).toEqual([])
})

test('prints nothing of the data of a service', async () => {
  const markers = new Map<string, string>()
  const marked = (value: unknown): unknown => {
    if (typeof value === 'string') {
      const marker = markers.get(value) ?? `q${randomBytes(12).toString('hex')}`
      markers.set(value, marker)
      return marker
    }
    if (Array.isArray(value)) return value.map(marked)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, marked(inner)]))
  }
  const original = (text: string) =>
    text.replaceAll(/q[0-9a-f]{24}/g, (marker) => [...markers].find(([, each]) => each === marker)?.[0] ?? marker)
  const sandbox = createSandbox()
  const accessToken = sandbox.issueToken({ actor: 'self' })
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (url, init) => {
    const { pathname, search } = new URL(String(url))
    const headers = init?.headers as Record<string, string>
    const response = await sandbox.fetch(`${sandbox.url}${original(pathname)}${original(search)}`, { headers })
    return Response.json(marked(await response.json()), {
      status: response.status,
      headers: { 'x-request-id': marked('a request') as string },
    })
  })
  const env = { SUPPORT_WORKSPACE_URL: 'https://zq7xkw.vjqpyf', SUPPORT_WORKSPACE_TOKEN: accessToken }
  const { code, stdout, stderr } = await start(['probe', '--yes', '--json'], { env }).ended
  expect(code).toBe(0)
  const secrets = [...markers.values(), accessToken, 'zq7xkw.vjqpyf']
  expect(secrets.length).toBeGreaterThan(300)
  expect(secrets.filter((text) => (stdout + stderr).includes(text.slice(0, 8)))).toEqual([])
})
