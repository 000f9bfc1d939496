import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { peerNames } from '../../bench/contestants.ts'
import { suiteLetters } from '../../bench/options.ts'
import { type Results, selectResults } from '../../bench/report/results.ts'
import { readResults, renderReport } from '../../bench/report/write.ts'
import type { Row } from '../../bench/suites/suite.ts'

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
  const after = await renderReport(withRatio(results, 200))
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

test('a time far below that of bare fetch is reported as a distorted run', async () => {
  const note = 'The machine was busy during this run, so the times are not reliable.'
  const textWith = async (ratio: number) => {
    const [, chart, readme] = await renderReport(withRatio(results, ratio))
    return [chart?.content.includes(note), readme?.content.includes(note)]
  }
  expect(await textWith(0.9)).toEqual([false, false])
  expect(await textWith(0.89)).toEqual([true, true])
})

/** Returns results in which every call takes this multiple of the time of bare fetch. */
function withRatio(given: Results, ratio: number): Results {
  const figure = { median: ratio, q1: ratio, q3: ratio }
  const change = (rows: readonly Row[]) =>
    rows.map((row) => ({ ...row, values: { ...row.values, ...('ratio' in row.values && { ratio: figure }) } }))
  const { a, b, d, h } = given.suites
  return { ...given, suites: { ...given.suites, a: change(a), b: change(b), d: change(d), h: change(h) } }
}
