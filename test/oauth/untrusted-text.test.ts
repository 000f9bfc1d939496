import { describe, expect, test } from 'vitest'
import { quote, untrustedText } from '../../src/oauth/untrusted-text.ts'

describe('untrusted text', () => {
  test.each([undefined, null, '', ' \n '])('is undefined if it is empty (%j)', (text) => {
    expect(untrustedText(text, [])).toBeUndefined()
  })

  test('is a single line without secrets', () => {
    expect(untrustedText('one\r\n\ttwo\u2029three\n', [])).toBe('one two three')
    expect(untrustedText('It was abcdefgh.', ['abcdefgh'])).toBe('It was [redacted].')
  })
})

test('quotes the known parts without a trailing full stop', () => {
  expect(quote('code', 'Words.')).toBe(': code: Words')
  expect(quote(undefined, 'Words.')).toBe(': Words')
  expect(quote('code', undefined)).toBe(': code')
  expect(quote(undefined, undefined)).toBe('')
  expect(quote('code', 'Words. ...')).toBe(': code: Words')
  expect(quote('code', ' . ')).toBe(': code')
})
