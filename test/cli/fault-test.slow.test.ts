import { describe, expect, test } from 'vitest'
import { addContact, byStatus, programOf } from '../fault-test/programs.ts'
import { shellCommands, split } from './page-commands.ts'
import { run } from './run.ts'

test('prints the report of a program that survives, and exits with 0', async () => {
  const { code, stdout, stderr } = await run([
    'fault-test',
    '--only',
    'reset-after-effect@1',
    '--',
    ...programOf(byStatus),
  ])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('1 run, 0 failed.')
})

test('exits with 1 if a run failed, and has the report as JSON', async () => {
  const { code, lines, failure } = await run([
    'fault-test',
    '--only',
    'unavailable@1',
    '--json',
    '--',
    ...programOf(addContact),
  ])
  expect({ code, failure }).toMatchObject({ code: 1, failure: { exitCode: 1, message: expect.any(String) } })
  expect(lines[0]).toMatchObject({
    failures: [{ id: 'unavailable@1', judgements: [{ name: 'lost' }] }],
    writes: ['contacts.create'],
  })
})

test('shows the message of a program that fails without a fault', async () => {
  const { code, stderr } = await run(['fault-test', '--', ...programOf("throw new Error('DB_URL is not set')")])
  expect(code).toBe(70)
  expect(stderr).toContain('\nError: DB_URL is not set\n')
})

describe('the commands of the pages', () => {
  // The pages run their programs with `faultTestProgram`.
  test.each(shellCommands.filter(([, line]) => line.startsWith('fault-test ')))('%s: %s', async (_, line) => {
    const args = split(line)
    expect((await run([...args.slice(0, args.indexOf('--') + 1), ...programOf(byStatus)])).code).toBe(0)
  })
})
