import { expect, test } from 'vitest'
import { peerNames } from '../../bench/contestants.ts'
import { readOptions, suiteLetters } from '../../bench/options.ts'

test('runs every suite with every SDK by default', () => {
  const flags = { quick: false, save: false, report: false, help: false }
  expect(readOptions([])).toEqual({ letters: suiteLetters, only: peerNames, ...flags })
})

test('runs the given suites with the given SDKs', () => {
  const { letters, only, quick } = readOptions(['c', 'a', '--quick', '--only', 'stripe,openai'])
  expect([letters, only, quick]).toEqual([['a', 'c'], ['openai', 'stripe'], true])
})

test.each([
  [['x'], 'Unknown suite "x". Use one of: a, b, c, d, e, f, g, h.'],
  [['--only', 'axios'], `Unknown SDK "axios". Use one of: ${peerNames.join(', ')}.`],
  [['--only', ''], `Unknown SDK "". Use one of: ${peerNames.join(', ')}.`],
  [['--fast'], "Unknown option '--fast'"],
])('rejects %j', (args, message) => {
  expect(() => readOptions(args)).toThrow(message)
})
