import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { safeReturnTo } from '../../src/oauth/login-handlers-options.ts'

describe('a return path', () => {
  test.each([
    ['/', '/'],
    ['/inbox', '/inbox'],
    ['/inbox?tab=open&page=2#top', '/inbox?tab=open&page=2#top'],
    ['/a/../b', '/b'],
    ['/search?q=https://evil.example', '/search?q=https://evil.example'],
    ['/mail/me@example.com', '/mail/me@example.com'],
    ['/%2f%2fevil.example', '/%2f%2fevil.example'],
    ['/é', '/%C3%A9'],
    [`/${'x'.repeat(1_023)}`, `/${'x'.repeat(1_023)}`],
    [`/${'漢'.repeat(113)}`, `/${'%E6%BC%A2'.repeat(113)}`],
  ])('%s is accepted as %s', (text, path) => {
    expect(safeReturnTo(text)).toBe(path)
  })

  test.each([
    '//evil.example',
    '//:',
    'evil.example',
    'https://evil.example',
    'javascript:alert(1)',
    '?next=//evil.example',
    '/.//evil.example',
    '/a/%2E%2e//evil.example',
    '/\u2028/evil.example',
    '/inbox\u007f',
    '',
    `/${'x'.repeat(1_024)}`,
    `/${'x/../'.repeat(205)}`,
    `/${'漢'.repeat(114)}`,
    undefined,
    null,
    7,
    ['/inbox'],
    {},
  ])('%j is rejected', (text) => {
    expect(safeReturnTo(text)).toBeUndefined()
  })

  test('never leaves the site, and has nothing that browsers rewrite', () => {
    const pieces = fc.constantFrom(
      ...'/\\.@:?#x \t\n\r\0\u001f',
      '..',
      '%2e',
      '%2E',
      '%2f',
      '%5c',
      'https:',
      'evil.example',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 10 }), (list) => {
        const text = list.join('')
        const path = safeReturnTo(text)
        if (path === undefined) return
        expect(text).toMatch(/^\/[^\\\s\p{Cc}]*$/u)
        for (const site of ['https://app.example/login/callback', 'http://localhost:3000/a/b']) {
          expect(new URL(path, site).origin).toBe(new URL(site).origin)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})
