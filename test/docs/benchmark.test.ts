import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { peerNames } from '../../bench/contestants.ts'
import { suiteLetters } from '../../bench/options.ts'
import type { Results } from '../../bench/report/results.ts'
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
  const [before, after] = [await renderReport(withRatio(results, 100)), await renderReport(withRatio(results, 200))]
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

test('the README shows no figures of a busy machine, on which a time is far below that of bare fetch', async () => {
  const shows = async (ratio: number) => {
    const readme = (await renderReport(withRatio(results, ratio))).at(-1)?.content ?? ''
    return readme.includes('Median of the others')
  }
  expect([await shows(0.9), await shows(0.89)]).toEqual([true, false])
})

/** Returns results in which every call takes this multiple of the time of bare fetch. */
function withRatio(given: Results, ratio: number): Results {
  const figure = { median: ratio, q1: ratio, q3: ratio }
  const change = (rows: readonly Row[]) =>
    rows.map((row) => ({ ...row, values: { ...row.values, ...('ratio' in row.values && { ratio: figure }) } }))
  const { a, b, d, h } = given.suites
  return { ...given, suites: { ...given.suites, a: change(a), b: change(b), d: change(d), h: change(h) } }
}
