import { describe, expect, test } from 'vitest'
import { redact } from '../../src/errors/redact.ts'
import { encodedForms } from '../helpers/encoded-forms.ts'

test.each([
  'The Bearer token expired',
  'Bearer realm="api"',
  'Bearer realm="api", error="invalid_token", error_description="The access token expired"',
  'Bearer authorization_uri="https://login1.example/authorize"',
  'bearer authentication required',
])('redact() keeps ordinary words: %s', (text) => {
  expect(redact(text)).toBe(text)
})

test.each([
  'swot_abc123def456',
  'my_swot_abc123def456',
  'SWOT_abc123def456',
  'Bearer abcdef0123456789abcdef',
  '"Bearer abcdef0123456789abcdef=="',
  'bearer\tabc.def0.ghi-jkl_mno.pqr123',
])('redact() removes what looks like a token: %s', (text) => {
  expect(redact(`x ${text} y`)).toMatch(/\[redacted\]/)
  expect(redact(`x ${text} y`)).not.toMatch(/abc\.?def/)
})

test('redact() removes a known token anywhere in a text, raw and percent-encoded', () => {
  const token = 'a+b/c=d&e f!'
  expect(redact(`${token}, x${token}x, ${encodeURIComponent(token)}`, [token])).toBe(
    '[redacted], x[redacted]x, [redacted]',
  )
})

describe.each(['swot_0123456789abcdefghijklmnopqrstuv', 'f81d4fae-7dec+a765/00a0c91e6bf6=', 'säcret?>~ +/%:&'])(
  'the encoded secret %s',
  (secret) => {
    const other = Buffer.from('app_abc123:another secret, of another app').toString('base64')

    test.each(encodedForms(secret))('is removed as %s', (form) => {
      for (const text of [`${form}, and more`, `Basic ${form}`, `https://api.example/?t=${form}`]) {
        const redacted = redact(text, [secret])
        expect(redacted).toContain('[redacted]')
        expect(redacted).not.toContain(form)
      }
    })

    test('is removed from longer base64', () => {
      for (const before of ['', '1', '12', '123']) {
        const text = Buffer.from(`${before}${secret}${'more'.repeat(5)}`).toString('base64')
        expect(redact(`<${text}>`, [secret])).toBe('<[redacted]>')
      }
    })

    test.each([
      `Basic ${other}`,
      '100% of https://api.example/a%20path%2Fwith-words_and/more%zz',
      'application/x-www-form-urlencoded;charset=UTF-8',
      `${'A'.repeat(400)}==`,
    ])('does not affect other text: %s', (text) => {
      expect(redact(text, [secret])).toBe(text)
    })
  },
)

test.each(['swot_0123456789', 'f81d4fae-7dec-11d0', Buffer.from('id:f81d4fae-7dec-11d0').toString('base64')])(
  'redact() removes %s in pieces',
  (text) => {
    const pieces = text.replace(/.{6}/g, '$&\r\n')
    expect(redact(`It is ${pieces}\n. Bye`, ['f81d4fae-7dec-11d0'])).toMatch(/^It is \[redacted\]\.? Bye$/)
    expect(redact(`Bearer\nabcdef0123456789abcdef, ${pieces}`, ['f81d4fae-7dec-11d0'])).toBe(
      'Bearer [redacted], [redacted]',
    )
    expect(redact('No such\r\nuser.', ['f81d4fae-7dec-11d0'])).toBe('No such user.')
  },
)

test('redact() removes a part of a very long secret from a text that is shorter', () => {
  const secret = `cursor-${'x1'.repeat(5_000)}`
  expect(redact(`It was ${secret.slice(0, 2_000)} or so.`, [secret])).toBe('It was [redacted] or so.')
  expect(redact(`It was ${secret.slice(0, 100)}.`, [secret])).toBe(`It was ${secret.slice(0, 100)}.`)
})

test('redact() removes a very long secret, and cuts a very long text', () => {
  const secret = 'é1'.repeat(4_000)
  const encoded = [encodeURIComponent(secret).toLowerCase(), Buffer.from(secret).toString('base64')]
  expect(redact(encoded.join(' % '), [secret])).toBe('[redacted] % [redacted]')
  for (const piece of ['A', ' \n', '%', '%2b', 'x%41', 'c3dvdF8']) {
    expect(redact(piece.repeat(50_000), [secret, 'swot_0123456789'])).toHaveLength(501)
  }
})
