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

  test.each<unknown>([
    ...[undefined, null, 7, ['/inbox'], {}],
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '\\/evil.example',
    '/\t/evil.example',
    '\t//evil.example',
    '/\n/evil.example',
    '/\r\n/evil.example',
    ' //evil.example',
    '/ /evil.example\u0000',
    'https://evil.example',
    'https:evil.example',
    'https:/evil.example',
    'HTTPS:\\\\evil.example',
    'javascript:alert(1)',
    'java\tscript:alert(1)',
    'data:text/html,x',
    '/inbox\\evil.example',
    '@evil.example',
    'evil.example',
    '.evil.example',
    '?next=//evil.example',
    '/.//evil.example',
    '/..//evil.example',
    '/a/..//evil.example',
    '/%2e//evil.example',
    '/%2e%2e//evil.example',
    '/a/%2E%2e//evil.example',
    '/./\\evil.example',
    '/\u2028/evil.example',
    '/inbox\u0000',
    '/inbox\u001f/more',
    '/inbox\u007f',
    '',
    `/${'x'.repeat(1_024)}`,
    `/${'x/../'.repeat(205)}`,
    `/${'漢'.repeat(114)}`,
  ])('%j is rejected', (text) => {
    expect(safeReturnTo(text)).toBeUndefined()
  })

  test('never leaves the site', () => {
    const pieces = fc.constantFrom(...'/ \\ . .. %2e %2f %5c @ : ? # evil.example x'.split(' '), ' ', '\t')
    fc.assert(
      fc.property(
        fc.array(pieces, { maxLength: 10 }).map((list) => list.join('')),
        (text) => {
          const path = safeReturnTo(text)
          if (path === undefined) return
          for (const site of ['https://app.example/login/callback', 'http://localhost:3000/a/b']) {
            expect(new URL(path, site).origin).toBe(new URL(site).origin)
          }
        },
      ),
      { numRuns: 2_000 },
    )
  })
})
