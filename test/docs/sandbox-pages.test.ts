import { readFileSync } from 'node:fs'
import { createSandbox } from 'support-workspace-sdk/sandbox'
import { expect, test } from 'vitest'
import { optionChecks, readSandboxOptions } from '../../src/sandbox/sandbox-options.ts'
import { run, start } from '../cli/run.ts'
import { root } from './page.ts'

const page = readFileSync(`${root}docs/sandbox.md`, 'utf8')

test('sandbox.md has a command that starts a service with the tokens that it names', async () => {
  const [, args = ''] = /^npx --no -- support-workspace-sdk (.+)$/m.exec(page) ?? []
  const running = start([...args.split(' '), '--port', '0'])
  await running.printed('Ctrl+C')
  expect(running.output.stdout).toMatch(/actor=app +swot_app\n.*actor=self +swot_self\n/)
  running.interrupt()
  expect((await running.ended).code).toBe(0)
})

test('sandbox.md lists every option of the command line', async () => {
  const { lines } = await run(['commands', '--json'])
  const sandbox = lines[0].commands.find(({ name }: { name: string }) => name === 'sandbox')
  const options: string[] = sandbox.options.map(({ flags }: { flags: string }) => flags.split(' ')[0])
  expect(options.length).toBeGreaterThan(15)
  expect(options.filter((flag) => !page.includes(flag))).toEqual([])
})

test('sandbox.md lists every option in code, with the defaults of those that are only in code', () => {
  const names = [...Object.keys(optionChecks), ...Object.keys(readSandboxOptions({}).app)]
  expect(names.length).toBeGreaterThan(20)
  expect(names.filter((name) => !new RegExp(`^\\|.*[\`. ]${name}\\b.*\\|$`, 'm').test(page))).toEqual([])
  const defaults = new Map<string, unknown>(Object.entries(readSandboxOptions({})))
  const rows = [...page.matchAll(/^\| (`.+`) \| .+ \| ([\d, ]+) \|$/gm)]
  const written = rows.flatMap(([, names = '', values = '']) => {
    const numbers = values.split(', ')
    return names.split(', ').map((name, index) => [name.replaceAll('`', ''), numbers[index]] as const)
  })
  expect(written).toHaveLength(5)
  for (const [name, value] of written) expect(value, name).toBe(Number(defaults.get(name)).toLocaleString('en'))
})

test('testing.md names the ids of the organizations, which no seed changes', () => {
  const text = readFileSync(`${root}docs/testing.md`, 'utf8')
  const [, sentence = ''] = /the ids are ([^.]+)\./.exec(text) ?? []
  const ids = [...sentence.matchAll(/`(org_[a-z-]+)`/g)].map(([, id = '']) => id)
  const { organizations } = createSandbox({ organizations: 8, conversations: 1, seed: 7 }).state
  expect(organizations.map(({ id }) => id)).toEqual([...ids, ...ids.map((id) => `${id}-2`)])
})
