// Each command that a message advises is tried as it is printed.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FaultRule, Sandbox } from 'support-workspace-sdk/sandbox'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { jitter } from '../helpers/clock.ts'
import { freePort } from '../helpers/free-port.ts'
import { useSandboxes } from '../sandbox/helpers.ts'
import { useFolder } from './folder.ts'
import { split } from './page-commands.ts'
import { type Ran, run, start } from './run.ts'

const startSandbox = useSandboxes()
const createFolder = useFolder()

let sandbox: Sandbox
let folder: string
/** The environment of a user who logs in, and of one who has a token. */
let env: Record<string, string>
let withToken: Record<string, string>
beforeEach(async () => {
  sandbox = await startSandbox({ conversations: 3, contacts: 3, autoConsent: 'allow' })
  folder = createFolder()
  env = { SUPPORT_WORKSPACE_URL: sandbox.url, XDG_DATA_HOME: folder }
  withToken = { ...env, SUPPORT_WORKSPACE_TOKEN: sandbox.issueToken({ actor: 'self' }) }
})

/** Returns the command that a program is told to run next. */
const nextOf = ({ failure }: Ran): string[] => failure.next.slice(4)

/** Follows an advised login to its end. */
async function logIn(args: readonly string[]): Promise<void> {
  const uri = `http://127.0.0.1:${await freePort()}/callback`
  sandbox.registerRedirectUri(uri)
  const login = start([...args, '--redirect-uri', uri], { env })
  await login.printed('landed on.', 'stderr')
  await fetch(/^ {2}(http\S+)$/m.exec(login.output.stderr)?.[1] ?? '')
  expect((await login.ended).code).toBe(0)
}

test('without a login, the advised one works', async () => {
  await logIn(nextOf(await run(['list', 'conversations', '--json'], { env })))
  expect((await run(['list', 'conversations'], { env })).code).toBe(0)
})

test.each([
  ['list contacts', [], 'a missing scope'],
  ['call contacts.create -f email=a@example.com', ['contacts:read'], 'a missing scope of a write'],
  ['doctor --for contacts.update', [], 'what `doctor` misses'],
  ['call messages.create CONVERSATION -f body_html=x', ['messages:read', 'messages:write'], 'another actor'],
])('%s with %j: the login that is advised for %s works', async (line, scopes) => {
  const [conversation] = sandbox.state.conversations
  const args = line.replace('CONVERSATION', conversation?.id ?? '').split(' ')
  await run(['login', '--with-token'], { env, stdin: sandbox.issueToken({ scopes }) })
  await logIn(nextOf(await run([...args, '--json'], { env })))
  expect((await run(args, { env })).code).toBe(0)
})

test('a revoked login: the advised one replaces it', async () => {
  const token = sandbox.issueToken({ scopes: ['contacts:read'] })
  await run(['login', '--with-token', '--profile', 'mine'], { env, stdin: token })
  sandbox.revoke(token)
  await logIn(nextOf(await run(['list', 'contacts', '--json'], { env })))
  expect((await run(['list', 'contacts', '--profile', 'mine'], { env })).code).toBe(0)
})

test.each([
  ['whoami', 'conversations.list'],
  ['list contacts', 'contacts.list'],
  ['export contacts', 'contacts.list'],
  ['doctor', 'conversations.list'],
])('a token in the environment that is unknown: %s says where it is, and advises a login for %s', async (line, id) => {
  const ran = await run([...line.split(' '), '--json'], { env: { ...env, SUPPORT_WORKSPACE_TOKEN: 'swot_revoked' } })
  expect(ran.code).toBe(77)
  expect(ran.stdout + ran.failure.hint).toContain(
    'The token is in SUPPORT_WORKSPACE_TOKEN. Set another one, or unset the variable and log in.',
  )
  const next = nextOf(ran)
  expect(next).toEqual(['login', '--base-url', sandbox.url, '--for', id])
  await logIn(next)
})

test('a login that there is not: the list of logins', async () => {
  expect((await run(nextOf(await run(['use', 'other', '--json'], { env })), { env })).code).toBe(0)
})

test('an outage: the same command', async () => {
  jitter(0)
  sandbox.faults.add({ path: /contacts$/, status: 503, times: Infinity })
  const next = nextOf(await run(['list', 'contacts', '--json'], { env: withToken }))
  sandbox.faults.clear()
  expect((await run(next, { env: withToken })).lines).toEqual(sandbox.state.contacts)
})

test('an unconfirmed contact: the list of the journal, and a decision', async () => {
  const [file, state] = [join(folder, 'contacts.csv'), join(folder, 'state')]
  writeFileSync(file, 'email\nlost@example.com\n')
  sandbox.faults.add({ method: 'POST', drop: 'before-effect' })
  const args = ['import', 'contacts', file, '--state', state, '--confirm-timeout', '0.01', '--json']
  const listed = await run([...nextOf(await run(args, { env: withToken })), '--json'])
  expect(listed.lines).toMatchObject([{ state: 'unconfirmed' }])
  expect((await run(['journal', 'resolve', listed.lines[0].key, 'absent', '--state', state])).code).toBe(0)
  expect((await run(args, { env: withToken })).lines).toMatchObject([{ created: 1 }])
})

// The test's own run refuses words that only programs can follow.
describe('advice of the package is in words of the command', () => {
  test.each([
    ['whoami', 'swot a b', 'The token in SUPPORT_WORKSPACE_TOKEN or on stdin is not a token: it contains whitespace'],
    ['list contacts', '"swot_a"', 'returned it.'],
  ])('%s with the token %j', async (line, token, message) => {
    const { code, stderr } = await run(line.split(' '), { env: { ...env, SUPPORT_WORKSPACE_TOKEN: token } })
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
  })

  test('an answer that is no list', async () => {
    sandbox.faults.add({ path: /./, status: 200, body: {}, times: Infinity } as FaultRule)
    const { code, stderr } = await run(['list', 'contacts'], { env: withToken })
    expect([code, stderr]).toEqual([70, expect.stringContaining('Make sure that --base-url')])
  })

  test('an answer that is too long', async () => {
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024)) })
    const fetch = vi.spyOn(globalThis, 'fetch').mockResolvedValue(new Response(endless))
    onTestFinished(() => fetch.mockRestore())
    const { code, stderr } = await run(['api', 'GET', '/api/oauth/v1/me'], { env: withToken })
    expect([code, stderr]).toEqual([70, expect.stringContaining('Request fewer items with --limit.')])
  })

  test('a write that could not be confirmed, and one that the journal lacks', async () => {
    const [file, state] = [join(folder, 'contacts.csv'), join(folder, 'state')]
    writeFileSync(file, 'email\na@example.com\n')
    const token = sandbox.issueToken({ actor: 'self', scopes: ['contacts:write'] })
    const args = ['import', 'contacts', file, '--state', state, '--no-check', '--json']
    const refused = await run(args, { env: { ...env, SUPPORT_WORKSPACE_TOKEN: token } })
    expect(refused.failure.hint).toBe('Log in again and ask for it in addition.')
    const unknown = await run(['journal', 'resolve', 'contact:nobody', 'absent', '--state', state, '--json'])
    expect(unknown.failure.hint).toBe('journal list shows the writes.')
  })
})

// Each with the part of the message that is the advice, as a shell reads it.
test.each<[line: string, advice: RegExp, advised: (found: string) => string]>([
  ['list conversations --max 1 --limit 1', /--after \S+(?=, or)/, (found) => `list conversations ${found}`],
  ['list conversations --max 1 --limit 1', /--all/, (found) => `list conversations ${found}`],
  [
    'list conversations -q status=open',
    /(?<=npx --no -- support-workspace-sdk )list conversations --where '[^']*'/,
    (found) => found,
  ],
  ['list conversations -q status=open', /--undocumented/, (found) => `list conversations -q status=open ${found}`],
  ['list conversations --where statsu=open', /\bstatus\b/, (found) => `list conversations --where ${found}=open`],
  ['list contacts -q limit=5', /--limit/, (found) => `list contacts ${found} 5`],
  ['list contcts', /\bcontacts\b/, (found) => `list ${found}`],
  ['api GET /api/oauth/v1/contacts?limit=1', /api\/oauth\S+ -q \S+/, (found) => `api GET ${found}`],
  ['api GET C:/Git/api/oauth/v1/me', /(?<=: )api\/oauth\S+/, (found) => `api GET ${found}`],
  ['call contact.list', /contacts\.list/, (found) => `call ${found}`],
  ['call contacts.create -F email=a@example.com', /-f/, (found) => `call contacts.create ${found} email=a@example.com`],
  ['export messages', /conversations --with messages/, (found) => `export ${found.toLowerCase()}`],
  ['export conversations --with notes --format csv', /--out/, (found) => `export conversations ${found} FOLDER/x.csv`],
  ['sandbx --help', /\bsandbox\b/, (found) => `${found} --help`],
])('%s: what is advised by %s works', async (line, advice, advised) => {
  const { stderr } = await run(line.split(' '), { env: withToken })
  const [found = 'nothing'] = advice.exec(stderr.replace(/"[^"]*"/g, '')) ?? []
  const args = split(advised(found)).map((part) => part.replace('FOLDER', folder))
  expect([args.join(' '), (await run(args, { env: withToken })).code]).toEqual([args.join(' '), 0])
})
