// Answers that no service should send: each command ends with a code that says what to do, and without words of a bug.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FaultRule, Sandbox } from 'support-workspace-sdk/sandbox'
import { beforeEach, describe, expect, test } from 'vitest'
import { jitter } from '../helpers/clock.ts'
import { useSandboxes } from '../sandbox/helpers.ts'
import { useFolder } from './folder.ts'
import { run } from './run.ts'

const startSandbox = useSandboxes()
const createFolder = useFolder()

let sandbox: Sandbox
let env: Record<string, string>
let folder: string
beforeEach(async () => {
  jitter(0)
  sandbox = await startSandbox({ conversations: 2, contacts: 2 })
  folder = createFolder()
  const token = sandbox.issueToken({ actor: 'self' })
  env = { SUPPORT_WORKSPACE_URL: sandbox.url, SUPPORT_WORKSPACE_TOKEN: token, XDG_DATA_HOME: folder }
})

/** Words of an error that nobody has thought of. */
const wordsOfBugs =
  /is not a function|is not iterable|Cannot (read|convert|destructure|set)|undefined \(|TypeError|URIError/

/** A value that cannot be converted to a text. */
const hostile = { toString: 1, valueOf: 1 }

const odd = [null, 5, [], hostile]
const items = odd.map((id) => ({
  id,
  name: id,
  user: id,
  scopes: id,
  conversation_assignee: id,
  last_message_inserted_at: id,
}))
const answers: Record<string, object> = {
  'a list of null': { data: [null] },
  'a list of odd items': { data: items, page_metadata: { after: null } },
  'a list of odd parts': { data: [{ id: 'a', user: { id: hostile, name: hostile, email: 5 }, status: hostile }] },
  null: { data: null },
  'a list of texts': { data: ['a b'], page_metadata: 'a b' },
  'scopes that are a text': { scopes: 'a b', organization: 'a', actor: 'self', user: 'b' },
  'odd scopes': {
    scopes: [hostile, null],
    organization: { id: hostile, name: hostile },
    actor: hostile,
    user: { id: 5 },
  },
  'no object': ['a'],
}

const commands = [
  'whoami',
  'doctor --for contacts.create',
  'list conversations --where status=open --where last_message_inserted_at<2026-01-07',
  'list contacts --format csv --fields id,user.name',
  'list conversations --format table',
  'get contacts a',
  'call contacts.create -f email=a@example.com',
  'api GET /api/oauth/v1/me',
  'export conversations --with messages,notes --out FOLDER/out.csv',
  'export contacts',
  'import contacts FOLDER/contacts.csv --state FOLDER/state',
  'import contacts FOLDER/contacts.csv --dry-run',
  'login --with-token',
]

describe.each(Object.entries(answers))('an answer with %s', (_, body) => {
  test.each(commands)('%s', async (line) => {
    writeFileSync(join(folder, 'contacts.csv'), 'email\na@example.com\n')
    const isLogin = line.startsWith('login')
    const given = isLogin ? { env: { ...env, SUPPORT_WORKSPACE_TOKEN: '' }, stdin: sandbox.issueToken() } : { env }
    sandbox.faults.add({ path: /./, status: 200, body, times: Infinity } as FaultRule)
    const { code, stderr, stdout } = await run(line.replaceAll('FOLDER', folder).split(' '), given)
    expect([code, [0, 3, 65, 70, 75, 77]]).toEqual([code, expect.arrayContaining([code])])
    expect(stderr + stdout).not.toMatch(wordsOfBugs)
  })
})

test.each([
  ['whoami', 'does not say whose token it is'],
  ['list contacts', 'an item that is no object'],
])('`%s` fails on an answer that it cannot be about', async (line, problem) => {
  sandbox.faults.add({ path: /./, status: 200, body: { data: [null, 1, 'x', {}] }, times: Infinity })
  const { code, failure } = await run([...line.split(' '), '--json'], { env })
  expect([code, failure.message]).toEqual([70, expect.stringContaining(problem)])
})

test('`whoami` escapes the names of the service, and its JSON is exact', async () => {
  const organization = { id: 'org_1', name: 'A\u001b]0;B\u0007\u202eC' }
  sandbox.faults.add({ path: /\/me$/, status: 200, body: { organization, actor: 'app', scopes: [] }, times: 2 })
  const { code, stdout } = await run(['whoami'], { env })
  expect([code, stdout]).toEqual([0, expect.stringContaining('A\\u001b]0;B\\u0007\\u202eC (org_1)')])
  expect((await run(['whoami', '--json'], { env })).lines).toMatchObject([{ organization }])
})

test.each([
  ['list tasks', 70, 'The service sent more than 100 levels'],
  ['list tasks --where x=1 --format table', 70, 'The service sent more than 100 levels'],
  ['get tasks a', 70, 'The service sent more than 100 levels'],
  ['call tasks.create -f a=1', 65, 'The write was applied, but its output could not be written (more than 100 levels'],
])('`%s` ends with %i if the answer is nested too deep', async (line, exitCode, message) => {
  const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`
  const headers = { 'content-type': 'application/json' }
  const body = line.startsWith('list') ? `{"data":[{"x":${deep}}]}` : `{"data":{"x":${deep}}}`
  sandbox.faults.add({ path: /tasks/, status: 200, headers, body })
  const { code, stdout, failure } = await run([...line.split(' '), '--json'], { env })
  expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' })
  expect(failure).toMatchObject({ message: expect.stringContaining(message), hint: expect.any(String) })
})
