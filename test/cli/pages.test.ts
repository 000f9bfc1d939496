// Runs what the pages show: the recorded session of docs/command-line.md, and each command of the README and the guides.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox } from 'support-workspace-sdk/sandbox'
import { describe, expect, test } from 'vitest'
import { freePort } from '../helpers/free-port.ts'
import { useSandboxes } from '../sandbox/helpers.ts'
import { useFolder } from './folder.ts'
import { pages, program, root, shellCommands, split } from './page-commands.ts'
import { run, start } from './run.ts'

const startSandbox = useSandboxes()
const createFolder = useFolder()
/** Starts a sandbox that a login can come back to, and returns the environment of a user. */
async function setUp(conversations = 10) {
  const sandbox = await startSandbox({ conversations, contacts: 40, autoConsent: 'allow' })
  const folder = createFolder()
  writeFileSync(join(folder, 'contacts.csv'), 'email,name\nada@example.com,Ada\n')
  const nothing = { version: 1, operations: {}, fields: {}, traits: {}, undetermined: {} }
  for (const name of ['evidence', 'another']) writeFileSync(join(folder, `${name}.json`), JSON.stringify(nothing))
  const env = {
    XDG_DATA_HOME: folder,
    SUPPORT_WORKSPACE_URL: sandbox.url,
    SUPPORT_WORKSPACE_CLIENT_SECRET: 'secret_sandbox',
  }
  const place = (part: string) => (/^[\w.-]+\.(csv|json|ndjson)$|^import-state$/.test(part) ? join(folder, part) : part)
  return { sandbox, folder, env, argumentsOf: (line: string) => split(line).map(place) }
}

/** Logs in, and follows the printed address as a browser does. */
async function logIn(sandbox: Sandbox, given: readonly string[], env: Record<string, string>) {
  // The port of the page may be in use.
  const uri = `http://127.0.0.1:${await freePort()}/callback`
  const args = given.with(given.indexOf('--redirect-uri') + 1, uri)
  sandbox.registerRedirectUri(uri)
  const running = start(args, { env })
  await running.printed('landed on.', 'stderr')
  const address = /^ {2}(http\S+)$/m.exec(running.output.stderr)?.[1] ?? ''
  await fetch(address)
  return {
    ...(await running.ended),
    screen: running.output.screen.replace(address, 'http://127.0.0.1:4010/api/oauth/authorize?…'),
  }
}

describe('the commands of the pages', () => {
  test('are written as npx runs them without a network', () => {
    expect(shellCommands.length).toBeGreaterThan(12)
    const named = pages.flatMap((page) =>
      [...readFileSync(join(root, page), 'utf8').matchAll(/npx (?!--no -- )(?=\S*support-workspace-sdk).*/g)].map(
        ([line]) => line,
      ),
    )
    expect(named).toEqual([])
  })

  test.each(shellCommands.filter(([, line]) => !line.startsWith('fault-test ')))('%s: %s', async (_, line) => {
    const { sandbox, env, argumentsOf } = await setUp()
    const args = argumentsOf(line)
    const token = sandbox.issueToken({ actor: 'self' })
    const withToken = { ...env, SUPPORT_WORKSPACE_TOKEN: token }
    if (args[0] === 'login' && !args.includes('--help')) {
      expect((await logIn(sandbox, args, env)).code).toBe(0)
    } else if (args[0] === 'sandbox' && (args[1] === 'receive' || args[1] === 'answer')) {
      const address = new URL(sandbox.url)
      const id = sandbox.state.conversations[0]?.id ?? ''
      const words = [...args.with(2, id), '--port', address.port]
      expect(await run(words)).toMatchObject({ code: 0, stderr: '' })
      expect(sandbox.state.messages(id)[0]?.source).toBe(args[1] === 'answer' ? 'dashboard' : 'email')
    } else if (args[0] === 'sandbox') {
      const running = start([...args, '--port', '0'])
      await running.printed('Ctrl+C')
      running.interrupt()
      expect((await running.ended).code).toBe(0)
    } else if (args[0] === 'journal') {
      const imported = argumentsOf('import contacts contacts.csv --state import-state --confirm-timeout 0.01')
      sandbox.faults.add({ method: 'POST', drop: 'before-effect' })
      expect((await run(imported, { env: withToken })).code).toBe(65)
      expect((await run(args, { env: withToken })).code).toBe(0)
    } else if (args[0] === 'probe') {
      // It asks first, and takes ten seconds.
      expect((await run(args, { env: withToken })).stderr).toContain('Pass --yes.')
    } else {
      expect(await run(args, { env: withToken })).toMatchObject({ code: 0 })
    }
  })
})

test('the session of docs/command-line.md is what the commands print', async () => {
  const { sandbox, env, folder, argumentsOf } = await setUp(120)
  const callback = 'http://127.0.0.1:3000/callback'
  const lines = [
    `login --for conversations.list,messages.list --client-id app_sandbox --redirect-uri ${callback}`,
    'list conversations --max 3 --format table --utc',
    'export conversations --with messages --out conversations.ndjson',
  ]
  const parts: string[] = []
  for (const line of lines) {
    const args = argumentsOf(line)
    const running = args[0] === 'login' ? await logIn(sandbox, args, env) : undefined
    const other = running === undefined ? start(args, { env }) : undefined
    const code = running?.code ?? (await other?.ended)?.code
    const screen = running?.screen ?? other?.output.screen ?? ''
    parts.push(`$ ${program}${line}\n${screen.trim()}\n${code === 0 ? '' : `$ echo $?\n${code}\n`}`)
  }
  const session = parts
    .join('\n')
    .replaceAll(sandbox.url, 'http://127.0.0.1:4010')
    .replaceAll(`${folder}/support-workspace-sdk`, '~/.local/share/support-workspace-sdk')
    .replaceAll(`${folder}/`, '')
    .replaceAll(/ +$/gm, '')
  const file = join(root, 'docs/command-line.md')
  const page = readFileSync(file, 'utf8')
  const recorded = page.replace(
    /(<!-- session:start -->\n)[\s\S]*?(<!-- session:end -->)/,
    (_, before: string, after: string) => `${before}\n\`\`\`text\n${session}\`\`\`\n\n${after}`,
  )
  if (process.env.RECORD !== undefined) writeFileSync(file, recorded)
  expect(page === recorded, 'The session is stale: run this test with RECORD=1.').toBe(true)
})

test('the page names every command, and it or the table of errors every exit code', async () => {
  const page = readFileSync(join(root, 'docs/command-line.md'), 'utf8')
  const tables = page + readFileSync(join(root, 'docs/errors.md'), 'utf8')
  const [{ commands, exitCodes }] = (await run(['commands', '--json'])).lines
  const missing = commands.filter(({ name }: { name: string }) => !new RegExp(`(\`|sdk )${name}\\b`).test(page))
  expect(missing).toEqual([])
  expect(Object.keys(exitCodes).filter((code) => !tables.includes(`| ${code} |`))).toEqual([])
})
