import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { chromium } from 'playwright-core'
import { expect, onTestFinished, vi } from 'vitest'
import { isFull } from '../../../proofs/is-full.ts'
import { addHostileMessage } from '../../browser/helpers/hostile-message.ts'
import { startRedis } from '../../fleet/helpers/redis-server.ts'
import { compilers } from '../../package/consumers.ts'
import { root } from '../page.ts'
import type { Programs, Reader } from '../reader.ts'

const linesOf = (stdout: string) => stdout.split('\n').slice(0, -1)

/** Makes a client that shares its limiter with other processes, as docs/rate-limits.md says. */
const sharesLimiter = `import { Redis } from 'ioredis'
import { SupportWorkspace } from 'support-workspace-sdk'
import { sharedRateLimiter } from './shared-rate-limiter.mts'
const redis = new Redis(process.env.REDIS_URL)
const rateLimiter = sharedRateLimiter(redis, 120)
const workspace = SupportWorkspace.fromEnvironment({ rateLimiter, rateLimitKey: 'acme' })
`

/** Lets retries wait as short as they can. */
const withoutPauses = { NODE_OPTIONS: '--import=data:text/javascript,Math.random=()=>0' }

/** Saves a changed file of the page under another name. */
async function edit({ folder }: Reader, file: string, from: string | RegExp, to: string): Promise<{ file: string }> {
  const code = await readFile(`${folder}/${file}`, 'utf8')
  const changed = code.replace(from, to)
  expect(changed).not.toBe(code)
  await writeFile(`${folder}/changed-${file}`, changed)
  return { file: `changed-${file}` }
}

/** Starts a server of the sender of a message. Connections tell the sender that the message was read, even without a request. */
async function countConnections(): Promise<{ url: string; connections: () => number }> {
  let connections = 0
  const server = createServer((_request, response) => void response.end())
  server.on('connection', () => void connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, connections: () => connections }
}

/** Opens the page in a browser, if there is one, and uses the hostile message. */
async function showHostileMessage(url: string): Promise<void> {
  const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium-headless-shell'
  if (!existsSync(executablePath)) return
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  const dialogs: string[] = []
  page.on('dialog', (dialog) => void dialogs.push(dialog.message()))
  await page.goto(url)
  const frame = page.frameLocator('iframe').first()
  await frame.getByText('I wrote <script> myself & more').click()
  await frame.getByRole('button', { name: 'Win' }).click()
  expect(await frame.locator('b').textContent()).toBe('bold')
  await page.waitForTimeout(500)
  expect(dialogs).toEqual([])
  expect(page.url()).toBe(`${url}/`)
}

export const api: Programs = {
  'docs/pagination.md': {
    'list.mts': async ({ run, sandbox }) => {
      const { code, stdout } = await run()
      expect(code).toBe(0)
      const lines = linesOf(stdout)
      expect(lines.slice(0, 120)).toEqual(sandbox.state.conversations.map(({ id }) => id))
      expect(lines.slice(120)).toEqual([expect.stringMatching(/^10 ./), '70'])
    },
    'sync.mts': async (reader) => {
      const { run, sandbox, folder } = reader
      const ids = sandbox.state.conversations.map(({ id }) => id)
      const checkpoint = async () => JSON.parse(await readFile(`${folder}/checkpoint.json`, 'utf8'))

      // The process ends after it has saved the second page, and before its checkpoint.
      const save = 'await save(page.data)\n'
      const dies = await edit(
        reader,
        'sync.mts',
        save,
        `${save}  if (page.data[0]?.id === '${ids[50]}') process.exit(9)\n`,
      )
      expect(await run(dies)).toMatchObject({ code: 9, stdout: `${ids.slice(0, 100).join('\n')}\n` })
      expect(await checkpoint()).toEqual({ cursor: expect.any(String), done: false })
      expect(linesOf((await run()).stdout)).toEqual(ids.slice(50))
      expect(await checkpoint()).toEqual({ cursor: null, done: true })
      sandbox.clearRequests()
      expect(await run()).toMatchObject({ code: 0, stdout: '' })
      expect(sandbox.requests).toEqual([])

      // A later cursor is rejected, so the next run starts again.
      await writeFile(`${folder}/checkpoint.json`, 'null')
      sandbox.faults.add({ after: 1, status: 410 })
      const stopped = await run()
      expect(linesOf(stopped.stdout)).toEqual(ids.slice(0, 50))
      expect(stopped.stderr).toContain('CursorRejectedError: conversations.list failed with 410')
      sandbox.clearRequests()
      expect(linesOf((await run()).stdout)).toEqual(ids)
      expect(sandbox.requests.map(({ status }) => status)).toEqual([200, 200, 200])
    },
  },

  'docs/errors.md': {
    'add-contact.mts': async ({ run, sandbox }) => {
      const printed = async (email: string) => (await run({ args: [email] })).stdout
      expect(await printed('grace@example.com')).toMatch(/^Created \S+\n$/)
      expect(await printed('grace@example.com')).toBe('The contact was there before.\n')
      sandbox.failNext({ status: 403, body: { error: 'insufficient_scope' } })
      expect(await printed('a@example.com')).toBe('Log in again with contacts:write\n')
      sandbox.failNext({ drop: 'after-effect' })
      expect(await printed('b@example.com')).toBe('Check whether the contact exists.\n')
      expect(sandbox.state.contacts.map(({ user }) => user.email)).toContain('b@example.com')
      sandbox.failNext({ status: 400 })
      expect(await printed('c@example.com')).toMatch(/^contacts\.create: contacts\.create failed with 400/)
    },
  },

  'docs/retries.md': {
    'night-job.mts': async ({ run, sandbox }) => {
      sandbox.faults.add({ status: 503, times: 10 })
      expect(await run({ env: withoutPauses })).toMatchObject({ code: 0, stdout: `${sandbox.state.contacts.length}\n` })
      sandbox.failNext({ status: 429, retryAfter: 901 })
      expect((await run()).stderr).toContain('RateLimitError')
    },
  },

  'docs/rate-limits.md': {
    'set-rate.mts': async (reader) => {
      const { run } = reader
      expect((await run()).stdout).toBe('self 5\n')
      // Two intervals, of which the limiter makes up at most 20 ms. A busy machine only makes it longer.
      const timed = `const start = performance.now()
for (const _ of [1, 2, 3]) await workspace.me()
console.log(performance.now() - start > 370)`
      expect((await run(await edit(reader, 'set-rate.mts', /console\.log.*/, timed))).stdout).toBe('true\n')
    },
    'shared-rate-limiter.mts': async (reader) => {
      const { folder, sandbox } = reader
      if (spawnSync('redis-server', ['--version']).status !== 0) {
        if (process.env.REQUIRE_REDIS === '1') expect.fail('needs redis-server in the PATH')
        return
      }
      const redis = await startRedis()
      onTestFinished(() => redis.close())
      const run = async (calls: string) => {
        await writeFile(
          `${folder}/worker.mts`,
          `${sharesLimiter}${calls}
await redis.quit()
`,
        )
        return reader.run({ file: 'worker.mts', env: { REDIS_URL: redis.url } })
      }
      const worker = () => run('for (let call = 0; call < 3; call += 1) console.log((await workspace.me()).actor)')
      for (const { stdout, stderr } of await Promise.all([worker(), worker()])) {
        expect(stdout, stderr).toBe('self\nself\nself\n')
      }
      // 120 a minute is one each half second, for both workers together.
      const times = sandbox.requests.map(({ at }) => at)
      expect(times).toHaveLength(6)
      // Each worker alone would need 1,000 ms.
      expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(1_500)

      // Calls that cannot wait for their turn are rejected at once, and take no turn from others.
      const crowd = `
const impatient = workspace.withOptions({ totalTimeout: 2_000 })
const results = await Promise.allSettled(Array.from({ length: 50 }, () => impatient.me()))
const names = results.map((result) => (result.status === 'rejected' ? result.reason.name : ''))
console.log(names.includes('RateLimitError'), (await impatient.me()).actor)`
      const { stdout, stderr } = await run(crowd)
      expect(stdout, stderr).toBe('true self\n')
    },
  },

  'docs/custom-operations.md': {
    'people.mts': async ({ run, sandbox }) => {
      const { stdout } = await run()
      const ids = sandbox.state.contacts.map(({ id }) => id)
      expect(linesOf(stdout).slice(0, ids.length)).toEqual(ids)
      expect(stdout).toContain(sandbox.state.organization.display_name)
      expect(sandbox.requests.at(-1)?.path).toBe('/api/oauth/v1/organization')
    },
    'unknown-fields.mts': async ({ run, sandbox }) => {
      const contact = { id: 'cnt_1', blocked: 'no', favorite_color: 'green' }
      sandbox.faults.add({ path: '/api/oauth/v1/contacts', status: 200, body: { data: [contact] } })
      const { stdout, stderr } = await run()
      expect(stdout).toBe('contacts.list blocked: expected boolean, received string\ntrue\n')
      expect(stderr).toBe('')
      expect(sandbox.requests.at(-2)?.query).toEqual({ limit: '1', source: 'widget' })
      expect(sandbox.requests.at(-1)?.body).toEqual({
        email: expect.stringMatching(/^ada\+\d+@example\.com$/),
        vip: true,
      })
      expect(sandbox.requests.at(-1)?.ignored).toEqual(['vip'])
    },
  },

  'docs/client-options.md': {
    'middleware.mts': async ({ run, sandbox }) => {
      expect((await run()).stdout).toMatch(/^me \d+\n$/)
      expect(sandbox.requests.at(-1)?.headers['x-job']).toBe('replies')
    },
  },

  'docs/message-html.md': {
    'messages.mts': async ({ serve, sandbox, useSandbox }) => {
      const sender = await countConnections()
      await addHostileMessage(sandbox, sender.url)
      const { url, stop } = await serve()
      sandbox.failNext({ status: 400 })
      expect((await fetch(url)).status).toBe(500)
      // Each message is in an attribute, and nothing else is in the page.
      const html = await (await fetch(url)).text()
      expect(html.replaceAll(/<iframe sandbox="allow-popups" srcdoc="[^"]*"><\/iframe>\n?/g, '')).toBe('')
      // A browser opens connections for these, regardless of the policy, unless a test drives it.
      expect(html).not.toMatch(/<(link|iframe src|meta http-equiv=&quot;refresh)/i)
      await showHostileMessage(url)
      expect(sender.connections()).toBe(0)
      await fetch(sender.url)
      expect(sender.connections()).toBe(1)

      await stop()
      await useSandbox({ conversations: 0 })
      const { url: empty } = await serve()
      expect(await (await fetch(empty)).text()).toBe('')
    },
    'text.mts': async ({ run }) => {
      expect(await run()).toMatchObject({ code: 0, stdout: 'Yes, please.\nShall I refund it?\n' })
    },
  },

  'docs/polling.md': {
    'watch.mts': async (reader) => {
      const { run, folder } = reader
      const sandbox = await reader.useSandbox({ conversations: 10 })
      const lists = () =>
        sandbox.requests.filter(({ operation, query }) => operation === 'listConversations' && !query.after)
      const watchUntilRevoked = async (arrange: () => void, file = 'watch.mts') => {
        sandbox.clearRequests()
        const ended = run({ file, env: { WATCH_SECONDS: '0.05' } })
        const nextPasses = () => {
          const before = lists().length
          return vi.waitFor(() => expect(lists().length).toBeGreaterThan(before + 2), 30_000)
        }
        await nextPasses()
        arrange()
        await nextPasses()
        sandbox.revokeAll()
        const { code, stdout, stderr } = await ended
        expect(code).toBe(77)
        return { lines: linesOf(stdout), stderr }
      }
      const conversations = sandbox.state.conversations.map(({ id }) => id)
      const [oldest = '', other = '', gone = ''] = [conversations.at(-1), conversations[3], conversations[7]]
      const ids: string[] = []
      const { lines: seen } = await watchUntilRevoked(() => {
        // The second has the time and text of the first, and a conversation is removed meanwhile.
        for (const id of [oldest, oldest, other]) ids.push(sandbox.receiveMessage(id, '<p>Yes</p>'))
        sandbox.removeItem(gone)
      })
      expect(seen.sort()).toEqual([`${oldest} ${ids[0]}`, `${oldest} ${ids[1]}`, `${other} ${ids[2]}`].sort())

      // A message arrives while the program is not running.
      const late = sandbox.receiveMessage(oldest, '<p>Late</p>')
      expect((await watchUntilRevoked(() => {})).lines).toEqual([`${oldest} ${late}`])
      expect(existsSync(`${folder}/feed.db`)).toBe(true)

      // A change that fails for ever is tried three times, and those behind it come.
      const poison = sandbox.receiveMessage(oldest, '<p>Poison</p>')
      const next = sandbox.receiveMessage(oldest, '<p>Next</p>')
      const call = 'console.log(conversationId, id)'
      const throws = `${call}\n  if (id === '${poison}') throw new Error('It fails for ever.')`
      const failing = await edit(reader, 'watch.mts', call, throws)
      const { file } = await edit(reader, failing.file, '[10, 60]', '[0.01, 0.06]')
      const { lines, stderr } = await watchUntilRevoked(() => {}, file)
      expect(lines).toEqual([...Array(3).fill(`${oldest} ${poison}`), `${oldest} ${next}`])
      expect(stderr.match(/It fails for ever/g)).toHaveLength(3)
      expect((await watchUntilRevoked(() => {})).lines).toEqual([])

      // Under cron, a run ends after one pass, and the first one prints nothing.
      await rm(`${folder}/feed.db`)
      const once = await edit(reader, 'watch.mts', '  interval,\n', '  passes: 1,\n')
      expect(await run(once)).toMatchObject({ code: 0, stdout: '' })
      const hello = sandbox.receiveMessage(oldest, '<p>Hello?</p>')
      expect(await run(once)).toMatchObject({ code: 0, stdout: `${oldest} ${hello}\n` })
    },
  },

  'docs/typescript.md': {
    'main.mts': async ({ run, folder }) => {
      expect(await run()).toMatchObject({ code: 0, stdout: 'self\n' })
      const page = await readFile(`${root}docs/typescript.md`, 'utf8')
      const [, settings = ''] = /```json\n([\s\S]+?)```/.exec(page) ?? []
      await writeFile(`${folder}/tsconfig.json`, settings)
      await writeFile(`${folder}/newer.mts`, 'export const newestFirst = [1, 2].toReversed()\n')
      const compile = (version: string) => {
        const tsc = join(dirname(compilers[version] ?? ''), 'bin/tsc')
        return spawnSync(process.execPath, [tsc, '--pretty', 'false'], { cwd: folder, encoding: 'utf8' }).stdout
      }
      expect(compile('7.0')).toBe('')
      if (!isFull) return
      // Without a setting, TypeScript says what the page on troubleshooting quotes.
      const { compilerOptions } = JSON.parse(settings)
      const { allowImportingTsExtensions, ...others } = compilerOptions
      await writeFile(`${folder}/other.mts`, "import './main.mts'\n")
      await writeFile(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions: others }))
      const [, quoted = ''] =
        /^\| `(An import path [^`]+)`/m.exec(await readFile(`${root}docs/troubleshooting.md`, 'utf8')) ?? []
      expect(quoted).not.toBe('')
      expect(compile('6.0')).toContain(quoted)
    },
  },
}
