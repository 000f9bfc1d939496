import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { announceProbe } from 'support-workspace-sdk/probe'
import type { Sandbox } from 'support-workspace-sdk/sandbox'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { useSandboxes } from '../sandbox/helpers.ts'
import { useFolder } from './folder.ts'
import { type Given, run } from './run.ts'

const startSandbox = useSandboxes()
const createFolder = useFolder()

let sandbox: Sandbox
let folder: string
beforeEach(async () => {
  sandbox = await startSandbox()
  folder = createFolder()
  // The pauses between requests take no time.
  const { setTimeout } = globalThis
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((callback: () => void, milliseconds: number) =>
    setTimeout(callback, milliseconds === 250 ? 0 : milliseconds)) as typeof setTimeout)
  return () => vi.restoreAllMocks()
})

/** Runs the command, which writes into the folder. */
function runProbe(args: readonly string[], given: Given = {}) {
  const env = { SUPPORT_WORKSPACE_URL: sandbox.url, SUPPORT_WORKSPACE_TOKEN: sandbox.issueToken({ actor: 'self' }) }
  return run(['probe', '--out', join(folder, 'found.json'), ...args], { env, ...given })
}

const contentsOf = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8'))

test('says what it will do, asks, and writes evidence and Overlay for their owner only', async () => {
  const terminals = ['stdin', 'stderr'] as const
  const { code, stdout, stderr } = await runProbe([], { terminals, stdin: 'y\n' })
  expect(code).toBe(0)
  expect(stderr).toContain(`${announceProbe()}\n`)
  expect(stderr).toContain('Send these requests? [y/N]')
  expect(stderr).toMatch(/^\d\d requests were sent/m)
  expect(stderr).toContain('What does `after` do? next page')
  expect(JSON.parse(stdout)).toEqual(contentsOf('found.json'))
  expect(Object.keys(contentsOf('found.json').traits).length).toBeGreaterThan(25)
  expect(contentsOf('found.overlay.json').overlay).toBe('1.0.0')
  const modes = readdirSync(folder).map((file) => statSync(join(folder, file)).mode & 0o777)
  expect(modes).toEqual([0o600, 0o600])
})

describe('sends nothing', () => {
  test.each<[string, Given, string]>([
    ['without a terminal', {}, 'Pass --yes.'],
    ['after a no', { terminals: ['stdin', 'stderr'], stdin: 'n\n' }, 'The answer was no.'],
  ])('%s', async (_, given, text) => {
    const { code, stderr } = await runProbe([], given)
    expect(code).toBe(2)
    expect(stderr).toContain(text)
    expect(sandbox.requests).toEqual([])
    expect(readdirSync(folder)).toEqual([])
  })
})

test('keeps what it has found until a 503, and exits with 75', async () => {
  sandbox.faults.add({ path: /\/contacts/, status: 503 })
  const { code, failure } = await runProbe(['--yes', '--json'])
  expect({ code, failure }).toMatchObject({ code: 75, failure: { message: 'It stopped at a 503.', remedy: 'retry' } })
  expect(contentsOf('found.json').operations).toHaveProperty('me')
})

describe('--compare', () => {
  test('adds files up, and sends nothing', async () => {
    await runProbe(['--yes'])
    const file = join(folder, 'found.json')
    const { length } = sandbox.requests
    const { code, lines } = await runProbe(['--json', '--compare', file, file])
    expect(code).toBe(0)
    const [[status, seen] = ['', { calls: 0 }]] = Object.entries<{ calls: number }>(
      contentsOf('found.json').operations.me,
    )
    expect(lines[0].operations.me[status].calls).toBe(2 * seen.calls)
    expect(sandbox.requests).toHaveLength(length)
  })

  test.each([
    ['there is not', 'missing.json', 'ENOENT'],
    ['is something else', 'package.json', 'not an evidence file'],
  ])('names a file that %s', async (_, file, text) => {
    const { code, stderr } = await runProbe(['--compare', file])
    expect(code).toBe(2)
    expect(stderr).toContain(text)
  })
})
