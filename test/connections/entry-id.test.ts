import { expect, onTestFinished, test, vi } from 'vitest'
import { byAge, isEntryId, loginTime, newEntryId, timeOf } from '../../src/connections/entry-id.ts'

const random = '0123456789abcdef0123'
const ofVersion01 = '0123456789abcdef0123456789abcdef'

test.each([0, 1, 1_700_000_000_000, 2 ** 48 - 1])('an id contains its time: %i', (time) => {
  const id = newEntryId(time)
  expect(id).toMatch(/^[0-9a-f]{12}-[0-9a-f]{20}$/)
  expect(timeOf(id)).toBe(time)
  expect(isEntryId(id)).toBe(true)
  expect(newEntryId(time)).not.toBe(id)
})

test.each([
  [-5, 0],
  [1.9, 1],
])('an id has whole milliseconds since 1970: %d becomes %i', (given, time) => {
  expect(timeOf(newEntryId(given))).toBe(time)
})

test('an id of version 0.1 is valid, and has no time', () => {
  expect(isEntryId(ofVersion01)).toBe(true)
  expect(timeOf(ofVersion01)).toBe(-1)
})

test.each([
  undefined,
  7,
  [`000000000001-${random}`],
  '',
  'current',
  `x000000000001-${random}`,
  `000000000001-${random}x`,
  `00000000001-${random}`,
  `000000000001-${random.slice(1)}`,
  `000000000001-${random.toUpperCase()}`,
  `x${ofVersion01}`,
  `${ofVersion01}x`,
  ofVersion01.slice(1),
])('%j is not an id', (value) => {
  expect(isEntryId(value)).toBe(false)
})

test('ids are sorted by age: those without a time first, and equal times by text', () => {
  const sorted = [ofVersion01, `00000000000a-${random}`, `0000000000ff-${random}`, `0000000000ff-1${random.slice(1)}`]
  expect(sorted.toReversed().sort(byAge)).toEqual(sorted)
  expect(byAge(ofVersion01, ofVersion01)).toBe(0)
  expect(byAge('b'.repeat(32), 'a'.repeat(32))).toBe(1)
})

test('the times of logins increase, even if the clock stands still or goes back', () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const start = Date.now() + 1_000
  vi.setSystemTime(start)
  const times = [loginTime(), loginTime()]
  vi.setSystemTime(start - 500)
  times.push(loginTime())
  vi.setSystemTime(start + 500)
  times.push(loginTime())
  expect(times).toEqual([start, start + 1, start + 2, start + 500])
})
