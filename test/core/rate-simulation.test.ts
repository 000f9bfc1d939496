import { describe, expect, test } from 'vitest'
import { backlogs, loads, runBacklog, runBesidePosts, runFall, runLoad } from './limiter-rows.ts'

// `npm run limiter-rows` simulates all rows for longer and with more seeds.

function find<Row>(rows: Row[], isWanted: (row: Row) => boolean): Row {
  const row = rows.find(isWanted)
  if (row === undefined) throw new Error('There is no such row.')
  return row
}

describe('the adaptive limiter', () => {
  test.each([
    { limit: '5/s', duration: 300, goodput: 0.97, refused: 0.01 },
    { limit: '100/s, burst 20', duration: 60, goodput: 0.9, refused: 0.01 },
    { limit: '10/min', duration: 3_600, goodput: 0.97, refused: 0.015 },
    { limit: 'window of 100/min', duration: 1_200, goodput: 0.97, refused: 0.015 },
    { limit: '10/min', duration: 3_600, clients: 4, goodput: 0.97, refused: 0.03 },
  ])('uses a limit of $limit, and is seldom refused', async ({ limit, duration, goodput, refused, clients = 1 }) => {
    const row = find(backlogs, (other) => other.limit === limit)
    const result = await runBacklog({ ...row, duration }, 'adaptive', 1, clients)
    expect(result.goodput).toBeGreaterThanOrEqual(goodput)
    expect(result.refused).toBeLessThanOrEqual(refused)
  })

  test('finds a limit again that falls to a fifth', async () => {
    const { goodput, refused } = await runFall('adaptive', 1)
    expect(goodput).toBeGreaterThanOrEqual(0.97)
    expect(refused).toBeLessThanOrEqual(0.06)
  })
})

test.each([
  { name: 'default', start: '20/s', calls: 4_000, p95: 3_050 },
  { name: 'adaptive', start: '50/s, 0.3 %', calls: 10_000, p95: 5_000 },
  { name: 'adaptive', start: '50/s, 1 %', calls: 10_000, p95: 20_000 },
] as const)('at $start, the $name limiter fails no more calls than chance', async ({ name, start, calls, p95 }) => {
  const row = find(loads, ({ load }) => load.startsWith(start))
  const result = await runLoad({ ...row, calls }, name, 1)
  // A call that is refused three times by chance fails with any limiter: 0.03 ** 3 of them.
  expect(result.failed / calls).toBeLessThanOrEqual(0.0005)
  expect(result.p95).toBeLessThanOrEqual(p95)
})

test.each(['default', 'adaptive'] as const)('the %s limiter delays no operation for another one', async (name) => {
  expect(await runBesidePosts(name, 1, 3)).toEqual({ failed: 0, p95: 50, longest: 50 })
})
