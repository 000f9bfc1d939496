import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { Sandbox } from 'support-workspace-sdk/sandbox'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { useSandboxes } from '../sandbox/helpers.ts'
import { useFolder } from './folder.ts'
import { type Given, run, start } from './run.ts'

const startSandbox = useSandboxes()
const folder = useFolder()

let sandbox: Sandbox
let env: NonNullable<Given['env']>
const command = (args: string, given: Given = {}) => run(args.split(' '), { env, ...given })
const conversationId = () => sandbox.state.conversations[0]?.id ?? ''

beforeEach(async () => {
  sandbox = await startSandbox({ conversations: 130, contacts: 5 })
  env = { SUPPORT_WORKSPACE_URL: sandbox.url, SUPPORT_WORKSPACE_TOKEN: sandbox.issueToken({ actor: 'self' }) }
})

test.each([
  ['call contacts.create -f email=ada@example.com', 65, 'Interrupted. The write may have been applied. Check before'],
  ['list contacts', 130, 'Interrupted. Run it again.'],
])('%s that is interrupted ends with %i', async (args, code, message) => {
  sandbox.faults.add({ path: /contacts$/, latency: 60_000 })
  const running = start([...args.split(' ')], { env })
  await vi.waitUntil(() => sandbox.requests.some(({ path }) => path.endsWith('/contacts')))
  running.interrupt()
  const { code: ended, stderr } = await running.ended
  expect({ ended, stderr }).toEqual({ ended: code, stderr: expect.stringContaining(message) })
})

describe('list', () => {
  test('prints 100 items to a pipe as JSON lines, and how to go on', async () => {
    const first = await command('list conversations --json')
    expect(first.code).toBe(0)
    expect(first.lines.map(({ id }) => id)).toEqual(sandbox.state.conversations.slice(0, 100).map(({ id }) => id))
    const { after, note } = first.failure
    expect(note).toContain(`--after ${after}`)
    const rest = await command(`list conversations --after ${after}`)
    expect(rest.lines).toEqual(sandbox.state.conversations.slice(100))
    expect(rest.stderr).toBe('')
  })

  test.each([
    ['--all', 130, 2],
    ['--max 7', 7, 1],
    ['--all --limit 50', 130, 3],
    ['--max 30 --limit 20', 30, 2],
  ])('%s prints %i items of %i pages', async (flags, items, pages) => {
    const { lines } = await command(`list conversations ${flags}`)
    expect(lines).toHaveLength(items)
    expect(sandbox.requests).toHaveLength(pages)
  })

  test('notes a field that no item has', async () => {
    const { stderr, lines } = await command('list contacts --fields id,emial,user.email --max 2 --json')
    expect(lines).toHaveLength(2)
    expect(stderr).toContain('No item of the first page has the field emial.')
    expect(stderr).not.toContain('field user.email')
  })

  test('takes the ids of the path, query parameters and fields', async () => {
    const { lines } = await command(`list messages ${conversationId()} --fields id,user.email -q channel=email`)
    const messages = sandbox.state.messages(conversationId())
    expect(lines).toEqual(messages.map(({ id, user }) => ({ id, 'user.email': user.email })))
    expect(sandbox.requests.at(-1)?.query).toMatchObject({ channel: 'email', limit: '100' })
  })

  test('prints a table to a terminal, which no name can disturb', async () => {
    sandbox.faults.add({
      status: 200,
      body: {
        data: [
          { id: 'a', user: { name: '名前\x1b[2J\u202e', email: 'x' } },
          { id: 'bc', user: { name: 'Ada' } },
        ],
      },
    })
    const given = { terminals: ['stdout'] } as const
    const { stdout } = await command('list contacts --fields id,user.name,user.email', given)
    expect(stdout).toBe('id  user.name            user.email\n' + 'a   名前\\u001b[2J\\u202e  x\n' + 'bc  Ada\n')
    // In a pipe it is exact.
    sandbox.faults.add({ status: 200, body: { data: [{ id: '\u202e' }] } })
    expect((await command('list contacts')).stdout).toBe('{"id":"\u202e"}\n')
  })

  test.each([
    ['json', '[\n{"id":"=1","n":-5},\n{"id":"\\u0000-x","n":1}\n]\n'],
    ['csv', `id,n\n'=1,-5\n"'\0-x",1\n`],
    ['csv --raw', 'id,n\n=1,-5\n"\0-x",1\n'],
    ['csv --fields n,@id', "n,'@id\n-5,\n1,\n"],
    ['ndjson --fields n', '{"n":-5}\n{"n":1}\n'],
  ])('prints %s', async (format, expected) => {
    sandbox.faults.add({
      status: 200,
      body: {
        data: [
          { id: '=1', n: -5 },
          { id: '\0-x', n: 1 },
        ],
      },
    })
    expect((await command(`list tasks --format ${format}`)).stdout).toBe(expected)
  })
})

describe('get and call', () => {
  test('get prints one item', async () => {
    const id = sandbox.state.contacts[0]?.id
    expect((await command(`get contacts ${id} --json`)).lines).toEqual([sandbox.state.contacts[0]])
    expect(JSON.parse((await command('get organization', { terminals: ['stdout'] })).stdout)).toEqual(
      sandbox.state.organization,
    )
    expect(await command('get contacts nobody --json')).toMatchObject({
      code: 3,
      failure: { name: 'NotFoundError', exitCode: 3, next: null },
    })
  })

  test('call sends the body from fields, and tells on stderr whose data is written', async () => {
    const args = [
      'call',
      'messages.create',
      conversationId(),
      '-f',
      'body_html=<p>a=b</p>',
      '-F',
      'reply_to=null',
      '--undocumented',
      '--json',
    ]
    const { code, lines, failure } = await run(args, { env })
    expect({ code, lines }).toMatchObject({ code: 0, lines: [{ body_html: '<p>a=b</p>' }] })
    expect(failure).toMatchObject({ organization: { id: sandbox.state.organization.id }, actor: 'self' })
    expect(sandbox.requests.at(-1)?.body).toEqual({ body_html: '<p>a=b</p>', reply_to: null })
  })

  test.each(['', ' --json'])('call%s tells it without characters that act on a terminal', async (json) => {
    const organization = { id: 'org\n  service  elsewhere', name: 'A\u202e\u009b31m' }
    sandbox.faults.add({ path: /me$/, status: 200, body: { organization, actor: 'app', scopes: [] } })
    const { stderr } = await command(`call contacts.create -f email=a@example.com${json}`, { terminals: ['stderr'] })
    expect(stderr).toContain('A\\u202e\\u009b31m')
    expect(stderr.trim().split('\n')).toHaveLength(1)
    if (json !== '') expect(JSON.parse(stderr)).toMatchObject({ organization })
  })

  describe.each(['a file', 'stdin'])('a body from %s', (source) => {
    const send = (text: Buffer) => {
      const file = join(folder(), 'body.json')
      writeFileSync(file, text)
      const stdin = Object.assign(new PassThrough())
      stdin.end(text)
      return command(`call contacts.create --input ${source === 'stdin' ? '-' : file} --json`, { stdin })
    }

    test('can begin with a byte order mark', async () => {
      expect((await send(Buffer.from('\uFEFF{"email":"bom@example.com"}'))).code).toBe(0)
      expect(sandbox.requests.at(-1)?.body).toEqual({ email: 'bom@example.com' })
    })

    test.each([
      ['UTF-16', Buffer.from('\uFEFF{"email":"a"}', 'utf16le'), 'is UTF-16'],
      ['UTF-16 without a mark', Buffer.from('{"email":"a"}', 'utf16le'), 'is UTF-16'],
      ['Latin-1', Buffer.from('{\n"email":"ä"}', 'latin1'), 'Line 2 of'],
    ])('is named if it is %s', async (_, text, message) => {
      const { code, failure } = await send(text)
      expect([code, failure.message]).toEqual([70, expect.stringContaining(message)])
      expect(sandbox.requests).toEqual([])
    })
  })

  test('--dry-run prints the request, and sends nothing', async () => {
    const { lines } = await command('call messages.create a/b -f body_html=x --dry-run')
    expect(lines).toEqual([
      { method: 'POST', path: '/api/oauth/v1/conversations/a%2Fb/messages', query: {}, body: { body_html: 'x' } },
    ])
    const other = await command('api POST api/oauth/v1/contacts -f email=x --dry-run')
    expect(other.lines).toEqual([{ method: 'POST', path: '/api/oauth/v1/contacts', query: {}, body: { email: 'x' } }])
    expect(sandbox.requests).toEqual([])
  })

  test('a deletion asks a person, or needs --yes', async () => {
    const sent = await run(['call', 'messages.create', conversationId(), '-f', 'body_html=x'], { env })
    const path = `${conversationId()} ${sent.lines[0].id}`
    expect(await command(`call messages.delete ${path}`)).toMatchObject({ code: 2 })
    const terminals = ['stdin', 'stderr'] as const
    expect(await command(`call messages.delete ${path}`, { terminals, stdin: 'n\n' })).toMatchObject({ code: 2 })
    expect(sandbox.state.messages(conversationId())).toHaveLength(4)
    expect(await command(`call messages.delete ${path}`, { terminals, stdin: 'y\n' })).toMatchObject({ code: 0 })
    expect(sandbox.state.messages(conversationId())).toHaveLength(3)
    expect(
      await command(`api DELETE api/oauth/v1/conversations/${path.replace(' ', '/messages/')} --yes`),
    ).toMatchObject({
      code: 3,
    })
  })
})

describe('api', () => {
  test.each(['/api/oauth/v1/me', 'api/oauth/v1/me'])('sends a request to %s', async (path) => {
    expect((await command(`api get ${path}`)).lines).toMatchObject([{ actor: 'self' }])
  })

  test.each(['https://example.com/api', '//example.com/api', '/api/../secret'])('refuses %s', async (path) => {
    expect(await command(`api GET ${path}`)).toMatchObject({ code: 2, stdout: '' })
    expect(sandbox.requests).toEqual([])
  })
})

test.each([
  ['list contact', '"contact" is no kind of item that this command has. Did you mean contacts?'],
  ['list messages', 'messages.list takes CONVERSATION_ID, and got 0 ids.'],
  ['list contacts --max 0', 'Pass an integer of at least 1.'],
  ['list contacts --format xml', 'Allowed choices are table, ndjson, json, csv.'],
  ['get messages x', 'Use one of: conversations, contacts, members, organization, tasks, segments.'],
  ['call contact.create', 'Did you mean contacts.create?'],
  ['list contacts -q a=1 -q a=2', '-q has a twice.'],
  ['list contacts -q limit=5', '-q has limit. Pass it as --limit.'],
  ['list contacts -q after=x --after y', '-q has after. Pass it as --after.'],
  ['api GTE /api/oauth/v1/me', 'GTE is not a method. Use GET, POST, PUT, PATCH, DELETE.'],
  ['call contacts.create -f email=a -f email=b', '-f has email twice.'],
  ['call contacts.create -F email=1 -F email=2', '-F has email twice.'],
  ['call contacts.create -f email=a -F email="b"', '-f and -F both have email.'],
  ['call contacts.create -F email=b', '-F is not JSON.'],
  ['call contacts.create -f email', '-f takes name=value.'],
  ['call contacts.create -f email=a --input -', '--input is the whole body.'],
])('%s is a mistake', async (args, message) => {
  const { code, stdout, stderr } = await command(args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(message)
  expect(sandbox.requests).toEqual([])
})

test.each([
  'export contacts --out',
  'probe --yes --out',
  'call contacts.create --input',
  'import contacts',
  'import contacts a.csv --state',
  'journal list --state',
])('%s with an empty name is a mistake', async (line) => {
  const { code, stdout, stderr } = await run([...line.split(' '), ''], { env })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/("--\w+ <|"file").* Name a file/)
  expect(sandbox.requests).toEqual([])
})

test.each([
  ['list contacts --all', 70, 'The output could not be written'],
  ['call contacts.create -f email=a@example.com', 65, 'The write was applied, but its output could not be written'],
])('`%s` is an error if its output is lost', async (args, exitCode, message) => {
  const { code, failure } = await command(`${args} --json`, { lost: 'ENOSPC' })
  expect(code).toBe(exitCode)
  expect(failure).toMatchObject({ exitCode, message: `${message} (ENOSPC: no space left on device).` })
})

test.each([
  ['list contacts --all', 0, ''],
  ['get organization', 0, ''],
  ['export contacts', 0, ''],
  ['call contacts.create -f email=a@example.com', 65, 'The write was applied, but its output could not be written'],
])('`%s` whose reader has gone ends with %i', async (args, exitCode, message) => {
  const { code, stderr } = await command(args, { lost: 'EPIPE' })
  expect({ code, stderr }).toEqual({ code: exitCode, stderr: expect.stringContaining(message) })
  if (exitCode === 0) expect(stderr).toBe('')
})

test('a long wait for the rate limit is one line on stderr', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  sandbox.faults.add({ path: /contacts$/, status: 429, retryAfter: 30 })
  const running = start(['list', 'contacts'], { env })
  await running.printed('rate limit', 'stderr')
  for (let waited = 0; waited < 40; waited += 1) {
    await vi.advanceTimersByTimeAsync(1_000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { code, lines, stderr } = await running.ended
  expect({ code, items: lines.length }).toEqual({ code: 0, items: 5 })
  expect(stderr).toMatch(/^Waiting 3\d s for the rate limit of the service\.\n$/)
})

test.each([
  'list contacts --max 1',
  'call contacts.create -f email=a@example.com',
  'login --with-token',
  'import contacts FOLDER/contacts.csv --state FOLDER/state',
])('with SUPPORT_WORKSPACE_LOG, `%s` logs to stderr, without the token', async (line) => {
  vi.stubEnv('SUPPORT_WORKSPACE_LOG', 'debug')
  const levels = (['debug', 'info', 'warn', 'error'] as const).map((level) => vi.spyOn(console, level))
  onTestFinished(() => {
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
  })
  const path = folder()
  writeFileSync(join(path, 'contacts.csv'), 'email\na@example.com\n')
  const token = String(env.SUPPORT_WORKSPACE_TOKEN)
  const fault = { method: 'GET', path: /contacts$/, status: 200, body: { data: [] } } as const
  sandbox.faults.add({ ...fault, headers: { 'x-request-id': token }, times: Infinity })
  const given = { ...env, SUPPORT_WORKSPACE_LOG: 'debug', XDG_DATA_HOME: path }
  const { code, stdout, stderr } = await command(`${line.replaceAll('FOLDER', path)} --json`, {
    env: given,
    stdin: token,
  })
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/{"note":"support-workspace-sdk: \w+ \//) })
  expect(stdout + stderr).not.toContain(token)
  for (const level of levels) expect(level).not.toHaveBeenCalled()
})
