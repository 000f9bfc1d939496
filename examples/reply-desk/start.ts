/**
 * A desk where people approve the replies that a program has drafted.
 *
 *   npm run example:reply-desk starts it with a local sandbox, whose customers write, and prints the URL to open
 *
 * With the real service, run `worker.ts` and `server.ts` under a supervisor that starts them again. Register
 * `<PUBLIC_URL>/login/callback` as a redirect URI of your app, and set these variables:
 *
 *   SUPPORT_WORKSPACE_TOKEN token of the person who sends the replies (actor `self`)
 *   SUPPORT_WORKSPACE_URL base URL of the service, https://api.supportwire.app by default
 *   DESK_SECRET at least 32 characters, for example from `openssl rand -base64 32`
 *   DATABASE_URL URL of a Postgres database. By default, the file DESK_FILE is used, which is `reply-desk.db`
 *   DESK_SECONDS seconds between two readings of the conversations, 30 by default
 *   CLIENT_ID, CLIENT_SECRET credentials of your app, for the login on the page
 *   PUBLIC_URL URL of the page for browsers, for example https://desk.example.com
 *   PORT port of the page, 3000 by default
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startSandbox } from 'support-workspace-sdk/sandbox'

const port = process.env.PORT ?? '3000'
const app = { name: 'Reply desk', description: 'An example of the SDK: people approve replies.' }
const sandbox = await startSandbox({ conversations: 8, app })
sandbox.registerRedirectUri(`http://127.0.0.1:${port}/login/callback`)
const folder = mkdtempSync(join(tmpdir(), 'reply-desk-'))
const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())

const env = {
  ...process.env,
  SUPPORT_WORKSPACE_URL: sandbox.url,
  SUPPORT_WORKSPACE_TOKEN: sandbox.issueToken({ actor: 'self' }),
  DESK_SECRET: randomBytes(32).toString('base64'),
  DESK_FILE: join(folder, 'desk.db'),
  DESK_SECONDS: '2',
  CLIENT_ID: sandbox.app.clientId,
  CLIENT_SECRET: sandbox.app.clientSecret,
  PORT: port,
}

/** Runs a program, again and again, as a supervisor does. */
async function supervise(name: string): Promise<void> {
  while (!stop.signal.aborted) {
    const path = fileURLToPath(new URL(name, import.meta.url))
    const child = spawn(process.execPath, [...process.execArgv, path], { env, stdio: 'inherit' })
    const end = () => void child.kill()
    stop.signal.addEventListener('abort', end)
    await new Promise((resolve) => child.once('exit', resolve))
    stop.signal.removeEventListener('abort', end)
    await pause(1_000)
  }
}

const texts = [
  'Where is my parcel?',
  'The invoice has the wrong address.',
  'Can I change my order?',
  'It does not start.',
]

/** Lets a customer write from time to time. */
async function write(): Promise<void> {
  for (let count = 0; !stop.signal.aborted; count += 1) {
    await pause(count < 5 ? 5_000 : 30_000)
    const { id } = sandbox.state.conversations[count % sandbox.state.conversations.length] ?? { id: '' }
    sandbox.receiveMessage(id, `<p>${texts[count % texts.length]}</p>`)
  }
}

async function pause(milliseconds: number): Promise<void> {
  await setTimeout(milliseconds, undefined, { signal: stop.signal }).catch(() => {})
}

console.log(`Customers write to the local service at ${sandbox.url}. Drafts come after a few seconds.`)
await Promise.all([supervise('worker.ts'), supervise('server.ts'), write()])
await sandbox.close()
rmSync(folder, { recursive: true })
