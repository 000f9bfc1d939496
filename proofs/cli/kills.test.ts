// Processes that are killed at random moments.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { describe, expect, type TestContext, test, vi } from 'vitest'
import { Random } from '../../test/helpers/random.ts'
import { isFull } from '../is-full.ts'

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const kills = isFull ? 100 : 1
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
const patient = { timeout: kills * 10_000 + 120_000 }

interface Setting {
  readonly sandbox: Sandbox
  readonly place: (name: string) => string
  /** Starts a command. Its exit code is null if it was killed. */
  start(args: readonly string[]): { readonly exit: Promise<number | null>; kill(): void }
}

async function setUp({ onTestFinished }: TestContext): Promise<Setting> {
  const sandbox = await startSandbox({ conversations: 60, contacts: 0 })
  const folder = mkdtempSync(join(tmpdir(), 'kills-'))
  onTestFinished(async () => {
    await sandbox.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const token = sandbox.issueToken({ actor: 'self' })
  const env = { ...process.env, SUPPORT_WORKSPACE_URL: sandbox.url, SUPPORT_WORKSPACE_TOKEN: token }
  return {
    sandbox,
    place: (name) => join(folder, name),
    start(args) {
      const child = spawn(process.execPath, [cli, ...args, '--json'], { env, stdio: 'ignore' })
      const exit = new Promise<number | null>((resolve) => child.once('close', resolve))
      return { exit, kill: () => child.kill('SIGKILL') }
    },
  }
}

/**
 * Runs a command again and again until it ends, and kills it at random moments. They begin when it sends its first request,
 * because a kill before that shows nothing.
 *
 * @param longest the longest time until a kill, in milliseconds
 */
async function runWithKills({ sandbox, start }: Setting, args: readonly string[], longest: number, random: Random) {
  for (let killed = 0; ; ) {
    sandbox.clearRequests()
    const { exit, kill } = start(args)
    const hasBegun = () => {
      if (sandbox.requests.length === 0) throw new Error('It has sent nothing yet.')
    }
    await Promise.race([vi.waitFor(hasBegun, { timeout: 60_000, interval: 2 }), exit])
    const timer = killed < kills ? setTimeout(kill, random.next() * longest) : undefined
    const code = await exit
    clearTimeout(timer)
    if (code !== null) return { code, killed }
    killed += 1
  }
}

describe.concurrent(`killed at random moments (SEED=${seed})`, () => {
  const formats = [
    ['csv', ['out', 'out.messages']],
    ['ndjson', ['out']],
  ] as const
  test.for(isFull ? formats : formats.slice(0, 1))(
    'an export to %s is that of one run',
    patient,
    async ([format, names], context) => {
      const setting = await setUp(context)
      const { place, start, sandbox } = setting
      // Slow enough that a kill strikes between two requests as often as in one.
      sandbox.faults.add({ latency: 3, times: Infinity })
      const random = new Random(seed)
      const args = (name: string) => {
        return ['export', 'conversations', '--with', 'messages', '--limit', '5', '--out', place(`${name}.${format}`)]
      }
      const read = (name: string) => readFileSync(place(`${name}.${format}`), 'utf8')
      expect(await start(args('out')).exit).toBe(0)
      const counts = { runs: 0, killed: 0 }
      while (counts.killed < kills) {
        counts.runs += 1
        const { code, killed } = await runWithKills(setting, args(`${counts.runs}-out`), 400, random)
        expect(code).toBe(0)
        for (const name of names) expect(read(`${counts.runs}-${name}`)).toBe(read(name))
        counts.killed += killed
      }
      console.log(`export to ${format}: ${JSON.stringify(counts)}`)
    },
  )

  test('an import creates each contact once, or says of which it does not know', patient, async (context) => {
    const setting = await setUp(context)
    const { sandbox, place } = setting
    const random = new Random(seed)
    const counts = { runs: 0, killed: 0, unconfirmed: 0 }
    while (counts.killed < kills) {
      counts.runs += 1
      const wanted = Array.from({ length: 120 }, (_, index) => `c${counts.runs}-${index}@example.com`)
      writeFileSync(place('contacts.csv'), ['email', ...wanted].join('\n'))
      const state = place(`state-${counts.runs}`)
      const args = ['import', 'contacts', place('contacts.csv'), '--state', state, '--confirm-timeout', '0.5']
      const { code, killed } = await runWithKills(setting, args, 500, random)
      const there = sandbox.state.contacts.map(({ user }) => user.email).filter((email) => wanted.includes(email ?? ''))
      expect(new Set(there).size).toBe(there.length)
      expect(code).toBe(there.length === wanted.length ? 0 : 65)
      counts.killed += killed
      counts.unconfirmed += wanted.length - there.length
    }
    console.log(`import: ${JSON.stringify(counts)}`)
  })

  test('an export that is killed between the checkpoint and the next page goes on', patient, async (context) => {
    const { sandbox, place, start } = await setUp(context)
    const out = place('out.ndjson')
    const args = ['export', 'conversations', '--limit', '20', '--out', out]
    sandbox.faults.add({ path: /conversations$/, latency: 600_000, after: 2 })
    const { exit, kill } = start(args)
    const isAtSecondPage = () => {
      const { files } = JSON.parse(existsSync(`${out}.checkpoint`) ? readFileSync(`${out}.checkpoint`, 'utf8') : '{}')
      if (!files?.[0].bytes || readFileSync(out, 'utf8').split('\n').length !== 41)
        throw new Error('It is not there yet.')
      if (files[0].bytes !== readFileSync(out).length) throw new Error('The checkpoint is missing.')
    }
    await vi.waitFor(isAtSecondPage, patient)
    kill()
    expect(await exit).toBe(null)
    sandbox.faults.clear()
    expect(await start(args).exit).toBe(0)
    const lines = readFileSync(out, 'utf8').split('\n').slice(0, -1)
    expect(lines.map((line) => JSON.parse(line))).toEqual(sandbox.state.conversations)
  })
})
