import { expect, test } from 'vitest'
import { isDistorted, type Results } from '../../bench/report/page.ts'

const row = (median: number) => [
  { name: 'support-workspace', setting: 'any', values: { ratio: { median, q1: median, q3: median } } },
]

test.each([
  ['a call that is faster than bare `fetch`', { list: row(0.8) }, true],
  ['calls that are slower', { list: row(1.2), growth: row(1.1) }, false],
  ['pages that are fetched while the caller works', { list: row(1.2), 'slow-pages': row(0.5) }, false],
] as const)('the times of %s', (_title, results, expected) => {
  expect(isDistorted(results as unknown as Results)).toBe(expected)
})
