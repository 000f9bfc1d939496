import type { Hooks } from 'support-workspace-sdk'
import { afterEach, expect, test, vi } from 'vitest'
import { makeClient, refusal, rejection, scripted } from '../helpers/client.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

test('durations and waits are whole milliseconds', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  // A clock that only moves when it is read, by a fraction.
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 0.3
    return now
  })
  const numbers: number[] = []
  const record = (event: object) =>
    void numbers.push(...Object.values(event).filter((value) => typeof value === 'number'))
  const hooks: Hooks = { onAttemptEnd: record, onRetry: record, onWait: record, onOperationEnd: record }
  const fetch = scripted(refusal(429, 'slow_down', { 'retry-after': '0.0012' }), refusal(400, 'invalid_request'))
  const error = await rejection(makeClient({ fetch, hooks }).me())
  const { attempts } = error as { attempts: readonly { duration: number; wait?: number }[] }
  numbers.push(...attempts.flatMap(({ duration, wait = 0 }) => [duration, wait]))
  expect(numbers.length).toBeGreaterThan(8)
  expect(numbers.filter((value) => !Number.isInteger(value))).toEqual([])
})
