// What a coding agent does with the command: each task is JSON, and its result is an exit code and JSON. No task is told in prose.
import type { Sandbox } from 'support-workspace-sdk/sandbox'
import { beforeEach, describe, expect, test } from 'vitest'
import { useSandboxes } from '../sandbox/helpers.ts'
import { useFolder } from './folder.ts'
import { type Ran, run } from './run.ts'

const startSandbox = useSandboxes()
const createFolder = useFolder()

let sandbox: Sandbox
let env: Record<string, string>
beforeEach(async () => {
  sandbox = await startSandbox({ conversations: 120, contacts: 5 })
  env = { SUPPORT_WORKSPACE_URL: sandbox.url, SUPPORT_WORKSPACE_TOKEN: sandbox.issueToken({ actor: 'self' }) }
})

/** A task as an agent sends it. `$id` is the id of a conversation. */
interface Task {
  readonly args: readonly string[]
  readonly input?: unknown
  readonly env?: Readonly<Record<string, string>>
}

const tasks: readonly (readonly [title: string, task: Task, exitCode: number, check: (ran: Ran) => void])[] = [
  [
    'learn the commands',
    { args: ['commands'] },
    0,
    ({ lines }) => expect(lines[0].commands.map(({ name }: { name: string }) => name)).toContain('import contacts'),
  ],
  ['check the token', { args: ['whoami'] }, 0, ({ lines }) => expect(lines[0]).toMatchObject({ actor: 'self' })],
  [
    'learn from a rejected token what to do',
    { args: ['list', 'contacts'], env: { SUPPORT_WORKSPACE_TOKEN: 'swot_revoked' } },
    77,
    ({ failure }) => expect(failure).toMatchObject({ remedy: 'reconnect', exitCode: 77 }),
  ],
  [
    'learn that there is no login, and the command that logs in',
    { args: ['list', 'contacts'], env: { SUPPORT_WORKSPACE_TOKEN: '' } },
    77,
    ({ failure }) => expect(failure.next.slice(0, 5)).toEqual(['npx', '--no', '--', 'support-workspace-sdk', 'login']),
  ],
  [
    'list the ids and states of conversations, and learn how to go on',
    { args: ['list', 'conversations', '--fields', 'id,status', '--max', '5'] },
    0,
    ({ lines, failure }) => {
      expect(lines.map((line) => Object.keys(line))).toEqual(Array.from({ length: 5 }, () => ['id', 'status']))
      expect(failure.after).toEqual(expect.any(String))
    },
  ],
  [
    'read the messages of a conversation',
    { args: ['list', 'messages', '$id', '--all'] },
    0,
    ({ lines }) => expect(lines).toHaveLength(3),
  ],
  [
    'reply, with the body on stdin',
    { args: ['call', 'messages.create', '$id', '--input', '-'], input: { body_html: '<p>"On it."</p>' } },
    0,
    ({ lines }) => expect(lines[0]).toMatchObject({ body_html: '<p>"On it."</p>' }),
  ],
  [
    'see what would be sent',
    { args: ['call', 'contacts.create', '--input', '-', '--dry-run'], input: { email: 'ada@example.com' } },
    0,
    ({ lines }) => expect(lines[0]).toMatchObject({ method: 'POST', body: { email: 'ada@example.com' } }),
  ],
  [
    'correct a misspelled operation',
    { args: ['call', 'message.create', '$id'] },
    2,
    ({ failure }) => expect(failure.hint).toBe('Did you mean messages.create?'),
  ],
  [
    'learn that something is not there',
    { args: ['get', 'contacts', 'con_none'] },
    3,
    ({ failure }) => expect(failure).toMatchObject({ status: 404, next: null }),
  ],
  [
    'delete only when told so',
    { args: ['call', 'messages.delete', '$id', 'msg_1'] },
    2,
    ({ failure }) => expect(failure.hint).toBe('Pass --yes.'),
  ],
  [
    'export everything to a pipe',
    { args: ['export', 'contacts'] },
    0,
    ({ lines }) => expect(lines).toEqual(sandbox.state.contacts),
  ],
]

describe('an agent can', () => {
  test.each(tasks)('%s', async (_, task, exitCode, check) => {
    // As it arrives.
    const { args, input, env: changes }: Task = JSON.parse(JSON.stringify(task))
    const id = sandbox.state.conversations[0]?.id ?? ''
    const given = args.map((part) => (part === '$id' ? id : part))
    const ran = await run([...given, '--json'], {
      env: { ...env, XDG_DATA_HOME: createFolder(), ...changes },
      ...(input !== undefined && { stdin: JSON.stringify(input) }),
    })
    expect(ran.code).toBe(exitCode)
    check(ran)
    // Each line of both streams is JSON.
    for (const line of `${ran.stdout}${ran.stderr}`.trim().split('\n'))
      expect(() => JSON.parse(line || '0')).not.toThrow()
  })
})
