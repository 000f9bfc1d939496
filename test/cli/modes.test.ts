// What a command leaves behind is for its user alone, also if new files are open to everybody.
import { lstatSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { useSandboxes } from '../sandbox/helpers.ts'
import { useFolder } from './folder.ts'
import { run } from './run.ts'

const startSandbox = useSandboxes()
const createFolder = useFolder()

/** Each with its exit code, in an order in which each finds what it needs. `$` is the folder. */
const commands: readonly (readonly [line: string, exitCode: number])[] = [
  ['login --with-token', 0],
  ['logins', 0],
  ['use default', 0],
  ['whoami', 0],
  ['token', 0],
  ['doctor', 0],
  ['list contacts', 0],
  ['get organization', 0],
  ['call contacts.create -f email=a@example.com', 0],
  ['api GET /api/oauth/v1/me', 0],
  ['export conversations --with messages --out $/out.ndjson', 0],
  ['export conversations --with messages,notes --out $/out.csv', 0],
  ['import contacts $/given/contacts.csv --state $/state --failed $/failed.csv', 70],
  ['journal list --state $/state', 0],
  ['logout', 0],
]

test('every command leaves files that only their user can read', async () => {
  const before = process.umask(0)
  onTestFinished(() => void process.umask(before))
  const sandbox = await startSandbox({ conversations: 2 })
  const folder = createFolder()
  const given = createFolder()
  writeFileSync(join(given, 'contacts.csv'), 'email\nno address\n')
  const env = { SUPPORT_WORKSPACE_URL: sandbox.url, XDG_DATA_HOME: folder }
  const stdin = sandbox.issueToken({ actor: 'self' })
  for (const [line, exitCode] of commands) {
    const args = line.split(' ').map((part) => part.replace('$/given', given).replace('$', folder))
    expect([line, (await run(args, { env, stdin })).code]).toEqual([line, exitCode])
    const open = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (name) => (lstatSync(join(folder, name)).mode & 0o077) !== 0,
    )
    expect([line, open]).toEqual([line, []])
  }
  expect(readdirSync(folder).length).toBeGreaterThan(5)
})
