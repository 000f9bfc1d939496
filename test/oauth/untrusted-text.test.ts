import { describe, expect, test } from 'vitest'
import { encodedForms, quote, untrustedText } from '../../src/oauth/untrusted-text.ts'

describe('untrusted text', () => {
  test('loses secrets in every encoding, even if one is a prefix of another', () => {
    const secrets = encodedForms(['abcdefgh', 'abcdefgh + "ijk"'])
    const plain = ['abcdefgh + "ijk"', 'abcdefgh + \\"ijk\\"', 'abcdefgh']
    const spellings = [...plain, 'abcdefgh+%2B+%22ijk%22', 'abcdefgh%20%2B%20%22ijk%22']
    for (const spelling of spellings) expect(untrustedText(`<${spelling}>`, secrets)).toBe('<[redacted]>')
  })

  test.each([undefined, null, '', ' \n '])('is undefined if it is empty (%j)', (text) => {
    expect(untrustedText(text, [])).toBeUndefined()
  })

  test('is a single line', () => {
    expect(untrustedText('one\r\n\ttwo\u2029three', [])).toBe('one two three')
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
