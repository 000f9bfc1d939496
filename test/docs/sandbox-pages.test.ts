import { readFileSync } from 'node:fs'
import { createSandbox } from 'support-workspace-sdk/sandbox'
import { expect, test } from 'vitest'
import { readSandboxOptions } from '../../src/sandbox/sandbox-options.ts'
import { start } from '../cli/run.ts'
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

test('the docs comments of the options name each default that is a number', () => {
  const source = readFileSync(`${root}src/sandbox/sandbox-options.ts`, 'utf8')
  const told = [...source.matchAll(/@default (\d+)\n +\*\/\n +(\w+)\?:/g)].map(([, value, name]) => [
    name,
    Number(value),
  ])
  const defaults = Object.entries(readSandboxOptions({})).filter(([, value]) => typeof value === 'number')
  expect(told.length).toBeGreaterThan(8)
  expect(told.sort()).toEqual(defaults.sort())
})

test('testing.md names the ids of the organizations, which no seed changes', () => {
  const text = readFileSync(`${root}docs/testing.md`, 'utf8')
  const [, sentence = ''] = /the ids are ([^.]+)\./.exec(text) ?? []
  const ids = [...sentence.matchAll(/`(org_[a-z-]+)`/g)].map(([, id = '']) => id)
  const { organizations } = createSandbox({ organizations: 8, conversations: 1, seed: 7 }).state
  expect(organizations.map(({ id }) => id)).toEqual([...ids, ...ids.map((id) => `${id}-2`)])
})
