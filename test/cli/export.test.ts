import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import type { FaultRule, Sandbox } from 'support-workspace-sdk/sandbox'
import { beforeEach, describe, expect, test } from 'vitest'
import { replaceFile } from '../../src/cli/private-files.ts'
import { jitter } from '../helpers/clock.ts'
import { useSandboxes } from '../sandbox/helpers.ts'
import { useFolder } from './folder.ts'
import { run } from './run.ts'

const startSandbox = useSandboxes()
const createFolder = useFolder()

let sandbox: Sandbox
let env: Record<string, string>
let folder: string
const exportTo = (file: string, ...args: string[]) =>
  run(['export', 'conversations', '--limit', '5', '--json', ...args, '--out', join(folder, file)], { env })
const read = (file: string) => readFileSync(join(folder, file), 'utf8')
const rows = (file: string) =>
  read(file)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

beforeEach(async () => {
  sandbox = await startSandbox({ conversations: 18, tasks: 2 })
  env = { SUPPORT_WORKSPACE_URL: sandbox.url, SUPPORT_WORKSPACE_TOKEN: sandbox.issueToken() }
  folder = createFolder()
})

/** Stops an export at its third page, as an outage would. */
async function exportTwoPages(...args: string[]): Promise<void> {
  sandbox.faults.add({ path: /conversations$/, status: 403, after: 2 })
  expect((await exportTo(...(args as [string]))).code).toBe(70)
  sandbox.faults.clear()
}

describe('export', () => {
  test('leaves out a conversation that is removed meanwhile, and says so', async () => {
    const [, { id } = { id: '' }] = sandbox.state.conversations
    sandbox.faults.add({ path: new RegExp(`/conversations/${id}(/|$)`), status: 404, times: Infinity })
    const { code, stderr, failure } = await exportTo('out.ndjson', '--with', 'messages,notes')
    expect({ code, total: failure.total }).toEqual({ code: 0, total: 17 })
    expect(stderr).toContain(`The conversation ${id} was removed during the export.`)
    expect(stderr.match(/was removed/g)).toHaveLength(1)
    expect(rows('out.ndjson').map((row) => row.id)).toEqual(
      sandbox.state.conversations.map((each) => each.id).filter((each) => each !== id),
    )
  })

  test.each([404, 500])(
    'a conversation whose messages answer %i is named and does not block the others, and the next run tries it again',
    async (status) => {
      const withMessages = ['--with', 'messages'] as const
      jitter(0)
      const ids = sandbox.state.conversations.map(({ id }) => id)
      const [, , , broken = ''] = ids
      sandbox.faults.add({ path: `/${broken}/messages`, status, times: Infinity })
      for (const _ of [1, 2]) {
        const { code, stderr } = await exportTo('out.ndjson', ...withMessages)
        expect(code).toBe(status === 500 ? 75 : 70)
        expect(stderr).toContain(`The conversation ${broken} could not be read.`)
        expect(rows('out.ndjson').map(({ id }) => id)).toEqual(ids.filter((id) => id !== broken))
        expect(rows('out.ndjson.failed')).toMatchObject([
          { id: broken, reason: expect.any(String), item: { id: broken } },
        ])
      }
      sandbox.faults.clear()
      expect((await exportTo('out.ndjson', ...withMessages)).code).toBe(0)
      expect(
        rows('out.ndjson')
          .map(({ id }) => id)
          .sort(),
      ).toEqual([...ids].sort())
      expect(readdirSync(folder).sort()).toEqual(['out.ndjson', 'out.ndjson.checkpoint'])
      expect((await exportTo('out.ndjson', ...withMessages)).failure.note).toContain('is complete')
    },
  )

  test.each([
    ['a token that is revoked', { status: 401 }, 77],
    ['a missing scope', { status: 403, body: { error: 'insufficient_scope', required_scopes: ['messages:read'] } }, 77],
    ['a rate limit that stays', { status: 429, retryAfter: 100_000 }, 75],
    ['a network that is gone', { drop: 'before-effect' }, 75],
    ['five conversations in a row', { status: 403 }, 70],
  ])('ends at once for %s', async (_, fault, exit) => {
    jitter(0)
    sandbox.faults.add({ ...fault, path: /\/messages$/, times: Infinity } as FaultRule)
    const { code } = await exportTo('out.ndjson', '--with', 'messages')
    expect(code).toBe(exit)
    expect(rows('out.ndjson')).toEqual([])
    const read = sandbox.requests.filter(({ path }) => path.endsWith('/messages')).map(({ path }) => path)
    expect(new Set(read).size).toBeLessThan(12)
  })

  test('messages that are nested too deep do not block the other conversations, and are read again', async () => {
    const [conversation, ...others] = sandbox.state.conversations
    const body = `{"data":[{"id":"msg_1","x":${'['.repeat(30_000)}${']'.repeat(30_000)}}]}`
    const fault = { status: 200, headers: { 'content-type': 'application/json' }, body }
    sandbox.faults.add({ ...fault, path: `/conversations/${conversation?.id}/messages` })
    const { code, stderr } = await exportTo('out.ndjson', '--with', 'messages')
    expect(code).toBe(70)
    expect(stderr).toContain(`The conversation ${conversation?.id} could not be read. The service sent more than 100`)
    expect(rows('out.ndjson').map(({ id }) => id)).toEqual(others.map(({ id }) => id))
    expect((await exportTo('out.ndjson', '--with', 'messages')).code).toBe(0)
    expect(rows('out.ndjson').at(-1)).toMatchObject({ id: conversation?.id })
  })

  test('a conversation that is nested too deep ends it with the cause', async () => {
    const body = `{"data":[{"id":"cnv_1","x":${'['.repeat(30_000)}${']'.repeat(30_000)}}]}`
    const headers = { 'content-type': 'application/json' }
    sandbox.faults.add({ status: 200, headers, path: /conversations$/, body })
    const { code, stderr } = await exportTo('out.ndjson')
    expect([code, stderr]).toEqual([70, expect.stringContaining('The service sent more than 100 levels')])
  })

  test('says that another export to the file is running', async () => {
    writeFileSync(join(folder, 'out.ndjson.lock'), String(process.pid))
    const { code, failure } = await exportTo('out.ndjson')
    expect([code, failure.message]).toEqual([75, expect.stringContaining('Another export')])
    // No process has this number.
    writeFileSync(join(folder, 'out.ndjson.lock'), '4194305')
    expect((await exportTo('out.ndjson')).code).toBe(0)
    expect(readdirSync(folder).sort()).toEqual(['out.ndjson', 'out.ndjson.checkpoint'])
  })

  test('is not complete if its file has a new line', async () => {
    await exportTo('out.ndjson')
    appendFileSync(join(folder, 'out.ndjson'), '{"id":"mine"}\n')
    const before = read('out.ndjson')
    const { code, failure } = await exportTo('out.ndjson')
    expect([code, failure.message]).toEqual([70, expect.stringContaining('bytes, and had')])
    expect(read('out.ndjson')).toBe(before)
  })

  test('writes a conversation a line, with its messages and notes', async () => {
    const { code, failure } = await exportTo('out.ndjson', '--with', 'messages,notes')
    expect({ code, total: failure.total }).toEqual({ code: 0, total: 18 })
    expect(rows('out.ndjson')).toEqual(
      sandbox.state.conversations.map((conversation) => ({
        ...conversation,
        messages: sandbox.state.messages(conversation.id),
        notes: sandbox.state.notes(conversation.id),
      })),
    )
    expect(readdirSync(folder).sort()).toEqual(['out.ndjson', 'out.ndjson.checkpoint'])
    sandbox.clearRequests()
    expect((await exportTo('out.ndjson', '--with', 'messages,notes')).failure.note).toContain('is complete')
    expect(sandbox.requests.map(({ path }) => path)).toEqual(['/api/oauth/v1/me'])
  })

  test('writes one CSV file for each kind, whose rows name their conversation', async () => {
    const { code, failure } = await exportTo('out.csv', '--with', 'messages')
    expect(code).toBe(0)
    const [out, other] = [join(folder, 'out.csv'), join(folder, 'out.messages.csv')]
    expect(failure.note).toBe(`${out} has 18 conversations and ${other} their messages.`)
    expect((await exportTo('out.csv', '--with', 'messages')).failure.note).toBe(
      `${out} is complete. To export again, choose another file, or remove ${out}, ${other}, and ${out}.checkpoint.`,
    )
    const conversations: Record<string, string>[] = parse(read('out.csv'), { columns: true })
    const messages: Record<string, string>[] = parse(read('out.messages.csv'), { columns: true })
    expect(conversations.map(({ id, 'user.email': email }) => [id, email])).toEqual(
      sandbox.state.conversations.map(({ id, user }) => [id, user.email]),
    )
    expect(messages.map(({ id, conversation_id: conversation }) => [id, conversation])).toEqual(
      sandbox.state.conversations.flatMap((each) => sandbox.state.messages(each.id).map(({ id }) => [id, each.id])),
    )
  })

  test('outlasts an outage that ends another command', async () => {
    jitter(0)
    const outage = () => sandbox.faults.add({ path: /tasks$/, status: 503, times: 8 })
    outage()
    expect((await run(['list', 'tasks'], { env })).code).toBe(75)
    sandbox.faults.clear()
    outage()
    expect((await run(['export', 'tasks'], { env })).lines).toEqual(sandbox.state.tasks)
  })

  test.each([
    ['out.ndjson'],
    ['out.ndjson', '--with', 'messages', '--fields', 'id,status'],
    ['out.csv', '--with', 'notes,messages'],
    ['out.csv', '--raw'],
  ])('goes on after a page that failed and a line that was torn: %s %s %s', async (file, ...args) => {
    await exportTo(`whole-${file}`, ...args)
    await exportTwoPages(file, ...args)
    const names = readdirSync(folder).filter((name) => name.startsWith('out') && !name.endsWith('.checkpoint'))
    for (const name of names) appendFileSync(join(folder, name), '{"id":"torn, "')
    sandbox.clearRequests()
    expect((await exportTo(file, ...args)).code).toBe(0)
    for (const name of names) expect(read(name)).toBe(read(`whole-${name}`))
    expect(sandbox.requests.filter(({ path }) => path.endsWith('/conversations'))).toHaveLength(2)
  })

  test('starts from the beginning if it was killed before the first page', async () => {
    const file = join(folder, 'out.csv')
    writeFileSync(file, '', { mode: 0o600 })
    expect((await exportTo('out.csv')).code).toBe(0)
    expect(parse(read('out.csv'), { columns: true })).toHaveLength(18)
  })

  test('exports nothing twice if conversations arrive and move meanwhile', async () => {
    await exportTwoPages('out.ndjson')
    const [first] = sandbox.state.conversations
    sandbox.receiveMessage(first?.id ?? '', 'A new message.')
    await exportTo('out.ndjson')
    const ids = rows('out.ndjson').map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.sort()).toEqual(sandbox.state.conversations.map(({ id }) => id).sort())
  })

  test.each([[null], [1], [{ name: 'Ada' }]])('fails if the service sends %j, which has no id', async (item) => {
    sandbox.faults.add({ path: /conversations$/, status: 200, body: { data: [item], page_metadata: { after: null } } })
    const { code, failure } = await exportTo('out.ndjson')
    expect({ code, message: failure.message }).toEqual({ code: 70, message: 'The service sent an item without an id.' })
  })

  describe('whose cursor is refused', () => {
    const refuse = () => sandbox.faults.add({ path: /conversations$/, status: 400, body: { error: 'invalid_request' } })

    test.each(['out.ndjson', 'out.csv'])('reads the list again and skips what is in %s', async (file) => {
      const withMessages = ['--with', 'messages']
      // Line separators of Unicode, which JSON does not escape.
      sandbox.receiveMessage(sandbox.state.conversations[3]?.id ?? '', 'One\u2028line\u2029.')
      await exportTo(`whole-${file}`, ...withMessages)
      await exportTwoPages(file, ...withMessages)
      refuse()
      const { code, stderr } = await exportTo(file, ...withMessages)
      expect(code).toBe(0)
      expect(stderr).toContain('no longer accepts the cursor')
      expect(read(file)).toBe(read(`whole-${file}`))
    })

    test('leaves the file alone if the list has changed', async () => {
      await exportTwoPages('out.ndjson')
      const before = read('out.ndjson')
      refuse()
      sandbox.faults.add({ path: /conversations$/, status: 200, body: { data: [{ id: 'another' }] } })
      const { code, failure } = await exportTo('out.ndjson')
      expect({ code, message: failure.message }).toMatchObject({
        code: 70,
        message: expect.stringContaining('no longer begins'),
      })
      expect(read('out.ndjson')).toBe(before)
    })
  })

  const change = (name: string, from: string | RegExp, to: string) => {
    const changed = read(name).replace(from, to)
    expect(changed).not.toBe(read(name))
    writeFileSync(join(folder, name), changed)
  }
  const move = (name: string, to: string) => renameSync(join(folder, name), join(folder, to))

  const damages: [string, (path: string) => void, number][] = [
    ['has no checkpoint', (path) => rmSync(`${path}.checkpoint`), 2],
    ['is shorter than its checkpoint', (path) => truncateSync(path, 100), 70],
    ['was changed', () => change('out.ndjson', /(?<=.{2000})"id"(?=.{2000})/s, '"ID"'), 70],
    ['is gone', (path) => rmSync(path), 70],
    ['has a checkpoint with wrong values', () => change('out.ndjson.checkpoint', /"bytes":\d+/, '"bytes":-5'), 70],
    ['has a damaged checkpoint', (path) => writeFileSync(`${path}.checkpoint`, '{'), 70],
    ['has the checkpoint of another file', () => move('other.ndjson.checkpoint', 'out.ndjson.checkpoint'), 70],
    [
      'has a checkpoint that is a link',
      (path) => {
        move('out.ndjson.checkpoint', 'elsewhere')
        symlinkSync('elsewhere', `${path}.checkpoint`)
      },
      2,
    ],
    [
      'is a link to itself at another place',
      (path) => {
        move('out.ndjson', 'elsewhere')
        symlinkSync('elsewhere', path)
      },
      2,
    ],
    ['has a second name', (path) => linkSync(path, join(folder, 'precious')), 2],
  ]
  // Only root can give a file away.
  if (process.getuid?.() === 0) damages.push(['belongs to another user', (path) => chownSync(path, 1, 1), 2])

  test.each(damages)('refuses a file that %s, and changes nothing', async (_, damage, exit) => {
    await exportTwoPages('out.ndjson')
    await exportTwoPages('other.ndjson', '--fields', 'id')
    damage(join(folder, 'out.ndjson'))
    const before = existsSync(join(folder, 'out.ndjson')) ? read('out.ndjson') : undefined
    expect((await exportTo('out.ndjson')).code).toBe(exit)
    expect(existsSync(join(folder, 'out.ndjson')) ? read('out.ndjson') : undefined).toBe(before)
  })

  test.each<[string, string, (path: string) => void]>([
    ['a link', 'out.ndjson exists, and has no checkpoint.', (path) => symlinkSync(`${path}.mine`, path)],
    ['a folder', 'out.ndjson is a directory.', (path) => mkdirSync(path)],
    [
      'readable by others',
      'out.ndjson exists, and has no checkpoint.',
      (path) => writeFileSync(path, '', { mode: 0o644 }),
    ],
    ['beside a folder', 'out.ndjson.checkpoint is not a regular file.', (path) => mkdirSync(`${path}.checkpoint`)],
    ['beside a lock that is a link', '.lock is a symbolic link.', (path) => symlinkSync('/etc/passwd', `${path}.lock`)],
    [
      'beside a lock that is a named pipe',
      '.lock is not a regular file.',
      (path) => execFileSync('mkfifo', [`${path}.lock`]),
    ],
  ])('--out that is %s is a mistake', async (_, message, prepare) => {
    prepare(join(folder, 'out.ndjson'))
    const { code, failure } = await exportTo('out.ndjson')
    expect([code, failure.message]).toEqual([2, expect.stringContaining(message)])
  })

  test('refuses to go on with the data of another organization', async () => {
    await exportTwoPages('out.ndjson')
    env.SUPPORT_WORKSPACE_TOKEN = sandbox.issueToken({ organization: sandbox.state.organizations[1]?.id ?? '' })
    expect((await exportTo('out.ndjson')).failure.message).toContain('of another organization')
  })

  test.each(['..', '.', '', 'a\ud800'])('an item whose id is %j is one that cannot be read', async (id) => {
    const items = [{ id }, ...sandbox.state.conversations.slice(0, 2)]
    sandbox.faults.add({ path: /conversations$/, status: 200, body: { data: items, page_metadata: { after: null } } })
    const { code, lines, failure } = await exportTo('out.ndjson', '--with', 'notes')
    expect([code, lines, failure.message]).toEqual([70, [], '1 item could not be read.'])
    expect(rows('out.ndjson').map((row) => row.id)).toEqual(items.slice(1).map((item) => item.id))
    expect(rows('out.ndjson.failed')).toMatchObject([{ id, item: { id } }])
  })

  test.each([
    [['messages'], 'Export conversations --with messages.'],
    [['contacts', '--with', 'messages'], 'contacts have no messages to export.'],
    [['conversations', '--with', 'tasks'], 'conversations have no tasks to export.'],
    [['conversations', '--with', 'notes', '--format', 'csv'], 'Pass --out.'],
    [['conversations', '--with', ''], 'Name at least one.'],
    [['conversations', '--fields', 'status'], '--fields lacks id.'],
    [['tasks', '--format', 'csv'], 'Name them with --fields.'],
    [['everything'], '"everything" is no kind of item that this command has. Use one of: conversations,'],
  ])('%j is a mistake', async (args, message) => {
    const { code, stderr } = await run(['export', ...args], { env })
    expect(code).toBe(2)
    expect(stderr).toContain(message)
    expect(sandbox.requests).toEqual([])
  })
})

test.each([
  ['win32', 'EPERM', 2, undefined],
  ['win32', 'EBUSY', 1, undefined],
  ['win32', 'EACCES', 1, 'EACCES'],
  ['linux', 'EPERM', 1, 'EPERM'],
])(
  'a file that another program holds: on %s, %s that ends after %i attempts is %s',
  async (platform, code, times, end) => {
    let calls = 0
    const held = async () => {
      calls += 1
      if (calls <= times) throw Object.assign(new Error(code), { code })
    }
    const ended = replaceFile(join(folder, 'file'), 'text', platform, held)
    expect(
      await ended.then(
        () => undefined,
        ({ code }) => code,
      ),
    ).toBe(end)
  },
)
