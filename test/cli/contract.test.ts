import { exitCodeOf, InvalidArgumentError, jobOptions, type Remedy, SupportWorkspaceError } from 'support-workspace-sdk'
import { beforeEach, describe, expect, test } from 'vitest'
import { version } from '../../src/shared/version.ts'
import { makeClient } from '../helpers/client.ts'
import { run } from './run.ts'

describe('every command', () => {
  // Commander reads it, and tests of programs set it.
  beforeEach(() => {
    process.exitCode = undefined
  })

  test('alone prints help on stdout, which names the program as npx runs it', async () => {
    const { code, stdout, stderr } = await run([])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^Usage: npx --no -- support-workspace-sdk /)
    expect(stdout).toContain('Exit codes:')
  })

  test.each([
    [['--version'], `${version}\n`],
    [['sandbox', '--help'], 'probability=0.1'],
    [['help', 'sandbox'], 'probability=0.1'],
    [['login', '--help'], 'needs --actor self'],
  ])('%j prints on stdout, and exits with 0', async (args, text) => {
    const { code, stdout, stderr } = await run(args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(text)
  })

  test('has help of 80 columns, which marks what is required', async () => {
    const [{ commands }] = (await run(['commands', '--json'])).lines
    for (const { name, options } of commands) {
      const { stdout } = await run([...name.split(' '), '--help'])
      expect([name, stdout.split('\n').filter((line) => line.length > 80)]).toEqual([name, []])
      expect([name, stdout.match(/default: (\{\}|\[\])/)]).toEqual([name, null])
      const required = options.filter((option: { required: boolean }) => option.required)
      expect([name, stdout.match(/\(required\)/g)?.length ?? 0]).toEqual([name, required.length])
    }
    expect((await run(['journal', 'list', '--help'])).stdout).toContain('--state <folder>  (required)')
  })

  test.each([
    [['sandbx'], 'Unknown command "sandbx". Did you mean sandbox?'],
    [['commands', '--jsn'], 'Unknown option "--jsn". Did you mean --json?'],
    [['swot_secret_token_1'], 'Unknown command "[redacted]".'],
    [['\x1b[31mred\u202e'], 'Unknown command "'],
  ])('%j is a mistake: 2, and nothing on stdout', async (args, message) => {
    const { code, stdout, stderr } = await run(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).not.toMatch(/[^\P{Cc}\n]|\p{Cf}|secret/u)
  })

  test('with --json, the last line of stderr is the error with its exit code and the next command', async () => {
    const { failure, stderr } = await run(['commands', '--json', '--jsn'])
    expect(failure).toEqual({
      name: 'CommandError',
      message: 'Unknown option "--jsn".',
      hint: 'Did you mean --json?',
      remedy: 'fix',
      exitCode: 2,
      next: null,
    })
    expect(stderr.split('\n')).toHaveLength(2)
  })
})

test('`commands --json` lists every command with its options, and the exit codes', async () => {
  const [{ commands, exitCodes }] = (await run(['commands', '--json'])).lines
  expect(Object.keys(exitCodes).map(Number)).toEqual([0, 1, 2, 3, 65, 70, 75, 77, 124, 130])
  const sandbox = commands.find(({ name }: { name: string }) => name === 'sandbox')
  expect(sandbox.options).toContainEqual({
    flags: '--port <number>',
    description: 'port to listen on; 0 picks a free one',
    required: false,
    repeatable: false,
    default: 4010,
  })
  const login = commands.find(({ name }: { name: string }) => name === 'login')
  const flags: string[] = login.options.map((option: { flags: string }) => option.flags)
  expect(flags.filter((each) => each.includes('secret'))).toEqual([])
  for (const { name, description } of commands) expect(description, name).toMatch(/^[a-z]/)
})

describe('exitCodeOf', () => {
  const failed = (remedy: Remedy) => new SupportWorkspaceError('It failed.', { hint: 'Do something.', remedy })
  test.each<[unknown, number]>([
    [failed('verify'), 65],
    [failed('fix'), 70],
    [failed('retry'), 75],
    [failed('reconnect'), 77],
    [new InvalidArgumentError('limit', 'It is wrong.', 'Pass another.'), 70],
    [failed('of a later version' as Remedy), 1],
    [new TypeError('a bug'), 1],
    [undefined, 1],
  ])('%s is %i', (error, code) => expect(exitCodeOf(error)).toBe(code))
})

test('a client accepts `jobOptions`', () => {
  expect(() => makeClient(jobOptions)).not.toThrow()
})
