import { expect, test } from 'vitest'
import { faultTestProgram } from '../../src/fault-test/index.ts'
import {
  addContact,
  attemptsOf,
  failuresOf,
  faultTestPlanted,
  plantedPrograms,
  programOf,
  quickFailures,
} from './programs.ts'

const timeout = 300_000

test.each(plantedPrograms.filter(({ isProof }) => !isProof))(
  '$file in a quick fault test',
  { timeout },
  async (program) => {
    expect(await quickFailures(program)).toEqual(program.quick)
  },
)

test('a program of another kind waits in real time, which the report says', { timeout }, async () => {
  const report = await faultTestPlanted('curl.sh', {
    only: ['unavailable@1', 'reset-after-effect@2', 'killed-after-effect@2'],
  })
  expect(failuresOf(report)).toEqual(['reset-after-effect@2 doubled', 'killed-after-effect@2 doubled'])
  expect(String(report)).toMatch(/The program waited in real time, \d+ s in all: only Node can simulate it\./)
})

test.each([
  ['polls', 'setInterval(() => {}, 600_000)', '24 simulated hours'],
  ['listens', "(await import('node:http')).createServer().listen(0)", '24 simulated hours'],
  ['sends', "for (;;) await call('me')", '1000 requests'],
])('never-ends: a program that %s for ever', async (_, loop, why) => {
  const code = `${addContact}; if (status !== 201) ${loop}`
  expect(await attemptsOf(code, { only: ['unavailable@1'] })).toEqual({ 'unavailable@1': `was stopped after ${why}` })
})

test('a late effect comes before the first request after it', async () => {
  const look = `import { setTimeout as wait } from 'node:timers/promises'
    const count = async () => (await (await fetch(url + '/api/oauth/v1/contacts', { headers })).json()).data.length
    const before = await count()
    ${addContact}
    const soon = await count()
    await wait(6_000)
    console.log(await count() - soon, soon - before)
    process.exit(status === 201 ? 0 : 65)`
  const report = await faultTestProgram(programOf(look), { only: ['late-effect@2', 'reset-after-effect@2'] })
  expect(report.runs.map(({ output }) => output)).toEqual([['1 0'], ['0 1']])
})

test('waits take no time, also for a response that stalls', async () => {
  const wait = `const date = Date.now()
    ${addContact.replace('{ email', "{ name: 'Ada', email")}
    const get = await fetch(url + '/api/oauth/v1/me', { headers, signal: AbortSignal.timeout(3_600_000) })
    const end = await get.text().catch(({ name }) => name)
    console.log(end.slice(0, 12), Math.round((Date.now() - date) / 3_600_000))`
  const { runs } = await faultTestProgram(programOf(wait), { only: ['stalled@2', 'rate-limited@2'] })
  expect(runs.map(({ output }) => output)).toEqual([['TypeError 0'], ['{"error":"ra 0']])
})

test('a token in the output is leaked', async () => {
  const print = `${addContact}; if (status !== 201) console.log('x'.repeat(20_000), 'failed with', token)`
  const report = await faultTestProgram(programOf(print), { only: ['unavailable@1'] })
  expect(failuresOf(report)).toEqual(['unavailable@1 lost', 'unavailable@1 leaked'])
})
