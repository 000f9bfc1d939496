import { describe, expect, test } from 'vitest'
import { encodedForms, quote, untrustedText } from '../../src/oauth/untrusted-text.ts'

describe('text from outside', () => {
  test('loses a secret in each spelling, also when one secret is the beginning of another', () => {
    const secrets = encodedForms(['abcdefgh', 'abcdefgh + "ijk"'])
    const plain = ['abcdefgh + "ijk"', 'abcdefgh + \\"ijk\\"', 'abcdefgh']
    const spellings = [...plain, 'abcdefgh+%2B+%22ijk%22', 'abcdefgh%20%2B%20%22ijk%22']
    for (const spelling of spellings) expect(untrustedText(`<${spelling}>`, secrets)).toBe('<[redacted]>')
  })

  test.each([undefined, null, '', ' \n '])('that says nothing (%j) is none', (text) => {
    expect(untrustedText(text, [])).toBeUndefined()
  })

  test('is one line', () => {
    expect(untrustedText('one\r\n\ttwo\u2029three', [])).toBe('one two three')
  })
})

test('a quote has what is known, and one full stop less', () => {
  expect(quote('code', 'Words.')).toBe(': code: Words')
  expect(quote(undefined, 'Words.')).toBe(': Words')
  expect(quote('code', undefined)).toBe(': code')
  expect(quote(undefined, undefined)).toBe('')
})
