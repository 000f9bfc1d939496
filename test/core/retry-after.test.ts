import { isMainThread } from 'node:worker_threads'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { longestRetryAfter, retryAfterOf } from '../../src/core/retry.ts'

const now = 1_760_000_000_000

beforeEach(() => void vi.useFakeTimers({ now, toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

function delay(headers: Record<string, string>, status = 429): number | undefined {
  return retryAfterOf({ status, get: (name) => new Headers(headers).get(name) })
}

describe('Retry-After', () => {
  test.each<[string, string, number | undefined]>([
    ['seconds', '2', 2_000],
    ['a fraction of a second', '1.5', 1_500],
    ['a fraction of a millisecond', '0.0001', 1],
    ['zero seconds', '0', 0],
    ['seconds that look like a year', '2030', 2_030_000],
    ['more than a year', '40000000', longestRetryAfter],
    ['a date in RFC 1123 format', 'Thu, 09 Oct 2025 08:53:27 GMT', 7_000],
    ['a date in RFC 850 format', 'Thursday, 09-Oct-25 08:53:27 GMT', 7_000],
    ['a date in asctime format', 'Thu Oct  9 08:53:27 2025', 7_000],
    ['a date in the past', 'Wed, 21 Oct 2015 07:28:00 GMT', 0],
    ['two values, the first one shorter', '3, 10', 10_000],
    ['two values, the first one longer', '10,3', 10_000],
    ['two dates', 'Thu, 09 Oct 2025 08:53:27 GMT, Thu, 09 Oct 2025 08:53:24 GMT', 7_000],
    ['two dates in RFC 850 format', 'Thursday, 09-Oct-25 08:53:24 GMT, Thursday, 09-Oct-25 08:53:27 GMT', 7_000],
    ['seconds and a date', '3, Thu, 09 Oct 2025 08:53:27 GMT', 7_000],
    ['one value that cannot be parsed', '5, soon', 5_000],
    ['nothing', '', undefined],
    ['words', 'soon', undefined],
    ['a negative number', '-5', undefined],
    ['an exponent', '1e3', undefined],
    ['hexadecimal digits', '0x10', undefined],
    ['no number', 'NaN', undefined],
    ['no finite number', 'Infinity', undefined],
    ['a unit', '5s', undefined],
    ['a date in ISO format', '2099-01-01', undefined],
    ['text before a date', 'x Fri, 01 Jan 2099 00:00:00 GMT', undefined],
    ['an impossible date', 'Fri, 99 Jan 2099 00:00:00 GMT', undefined],
  ])('with %s: %j', (_, value, expected) => {
    expect(delay({ 'retry-after': value })).toBe(expected)
  })

  test.each([401, 404, 429, 500, 503])('counts with status %i', (status) => {
    expect(delay({ 'retry-after': '2' }, status)).toBe(2_000)
  })

  // A worker thread cannot change its time zone.
  const inProcess = isMainThread ? test : test.skip
  const dates = ['Thu, 09 Oct 2025 08:53:27 GMT', 'Thursday, 09-Oct-25 08:53:27 GMT', 'Thu Oct  9 08:53:27 2025']
  inProcess.each(dates)('is GMT in any time zone: %s', (date) => {
    vi.stubEnv('TZ', 'America/New_York')
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(new Date(0).getHours()).toBe(19)
    expect(delay({ 'retry-after': date })).toBe(7_000)
  })

  test('is from 0 to a year for any text', () => {
    const texts = fc.oneof(fc.string(), fc.double().map(String), fc.date().map(String))
    fc.assert(
      fc.property(texts, (value) => {
        const wait = retryAfterOf({ status: 429, get: () => value }) ?? 0
        expect(wait).toBeGreaterThanOrEqual(0)
        expect(wait).toBeLessThanOrEqual(longestRetryAfter)
      }),
    )
  })
})

test.each<[string, number, Record<string, string>, number | undefined]>([
  ['counts', 429, { 'ratelimit-reset': '3' }, 3_000],
  ['counts although some remain', 429, { 'ratelimit-reset': '3', 'ratelimit-remaining': '99' }, 3_000],
  ['counts if nothing remains', 503, { 'ratelimit-reset': '3', 'ratelimit-remaining': '0' }, 3_000],
  ['is ignored if some remain', 503, { 'ratelimit-reset': '4', 'ratelimit-remaining': '99' }, undefined],
  ['is ignored if it is not known what remains', 503, { 'ratelimit-reset': '4' }, undefined],
  ['is ignored', 500, { 'ratelimit-reset': '4', 'ratelimit-remaining': '0' }, undefined],
  ['is ignored', 404, { 'ratelimit-reset': '1800', 'ratelimit-remaining': '0' }, undefined],
  ['is ignored beside Retry-After', 429, { 'retry-after': '2', 'ratelimit-reset': '50' }, 2_000],
  ['of another name is ignored', 429, { 'x-ratelimit-reset': '50' }, undefined],
  ['counts beside a Retry-After that cannot be parsed', 429, { 'retry-after': 'soon', 'ratelimit-reset': '3' }, 3_000],
])('a reset header %s with status %i: %j', (_, status, headers, expected) => {
  expect(delay(headers, status)).toBe(expected)
})

test('no header requests no delay', () => {
  expect(delay({})).toBeUndefined()
})

describe('a date, where', () => {
  const at = (seconds: number) => new Date(now + seconds * 1000).toUTCString()

  // How fast this machine is, the headers of the response, and the delays for dates in 3, 30 and 660 seconds.
  test.each<[string, number, Record<string, string>, number[]]>([
    ['both clocks are right', 0, { date: at(0) }, [3, 30, 660]],
    ['this machine is ten minutes fast', 600, { date: at(0) }, [3, 30, 60]],
    ['this machine is ten minutes slow', -600, { date: at(0) }, [3, 30, 660]],
    ['this machine is two years slow, as in a test', -63_072_000, { date: at(0) }, [3, 30, 660]],
    ['the service is ten minutes fast', 0, { date: at(600) }, [3, 30, 60]],
    ['the service is ten minutes slow', 0, { date: at(-600) }, [3, 30, 660]],
    ['the clock of the service stands still', 0, { date: at(-86_400) }, [3, 30, 660]],
    ['the response has no date', 0, {}, [3, 30, 660]],
    ['the response is from a cache', 0, { date: at(-20), age: '20' }, [3, 30, 660]],
    ['both clocks are past it', 600, { date: at(600) }, [0, 0, 60]],
  ])('%s', (_, fast, headers, expected) => {
    vi.setSystemTime(now + fast * 1000)
    const delays = [3, 30, 660].map((seconds) => {
      const response = new Headers({ ...headers, 'retry-after': at(seconds) })
      return retryAfterOf({ status: 429, get: (name) => response.get(name) })
    })
    expect(delays).toEqual(expected.map((seconds) => seconds * 1000))
  })
})
