import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { peerNames } from '../../bench/contestants.ts'
import { suiteLetters } from '../../bench/options.ts'
import { type Results, selectResults } from '../../bench/report/results.ts'
import { readResults, renderReport } from '../../bench/report/write.ts'

const root = new URL('../../', import.meta.url)
const results = await readResults()

test('the README, the chart and the results of the benchmark agree', async () => {
  const files = await renderReport(results)
  expect(files.map(({ name }) => name)).toEqual(['bench/results.json', 'bench/chart.svg', 'README.md'])
  for (const { name, content } of files) {
    const present = await readFile(new URL(name, root), 'utf8')
    expect(present === content, `${name} is stale: run \`npm run bench -- --report\``).toBe(true)
  }
})

test('a change of a result changes the chart and the README', async () => {
  const before = await renderReport(results)
  const after = await renderReport(withSlowListCalls(results))
  expect(after.map(({ content }, index) => content !== before[index]?.content)).toEqual([true, true, true])
})

test('the results are those of a complete run', () => {
  expect(Object.keys(results.suites)).toEqual([...suiteLetters])
  for (const letter of suiteLetters) {
    const names = new Set(results.suites[letter].map(({ name }) => name))
    expect(peerNames.filter((name) => !names.has(name))).toEqual([])
  }
  expect(Object.keys(results.packages)).toHaveLength(peerNames.length)
})

test('a missing result is an error', () => {
  const selection = { suite: 'a', setting: '7 items', value: 'ratio' } as const
  expect(() => selectResults(results, selection)).toThrow(
    'results.json has no ratio of support-workspace in suite a, 7 items.',
  )
})

function withSlowListCalls(given: Results): Results {
  const slow = { median: 200, q1: 200, q3: 200 }
  const rows = given.suites.a.map((row) => ({ ...row, values: { ...row.values, ratio: slow } }))
  return { ...given, suites: { ...given.suites, a: rows } }
}
