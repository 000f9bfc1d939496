import { describe, expect, test } from 'vitest'
import { redact, safeCause, withoutSecrets } from '../../src/errors/redact.ts'

test.each([
  'The Bearer token expired',
  'Bearer realm="api"',
  'Bearer realm="api", error="invalid_token", error_description="The access token expired"',
  'Bearer authorization_uri="https://login1.example/authorize"',
  'bearer authentication required',
  'Basic authentication is disabled',
  'basic Authentication',
  'Basic realm="Members2024", charset="UTF-8"',
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

test.each(['aladdin:opensesame', 'app_abc123:säcret?>~'])('redact() removes HTTP Basic credentials of %s', (text) => {
  const base64 = Buffer.from(text).toString('base64')
  expect(redact(`Sent Basic ${base64}.`)).toBe('Sent Basic [redacted].')
  expect(redact(`{"authorization":"basic ${base64}"}`)).toBe('{"authorization":"basic [redacted]"}')
})

test('redact() shows no part of a secret that the longest text cuts in two', () => {
  const token = 'tok-A1b2C3d4E5f6G7h8-opaque-Z9'
  for (let position = 3_960; position <= 4_010; position += 1) {
    const safe = redact(`${'\x7f'.repeat(position)}${token}`, [token])
    expect(safe.trim()).toBe('[redacted]')
  }
})

const schemes = ['BASIC ', 'Basic: ', 'basic=', 'Basic%20', 'Basic+', 'Basic "']
test.each(schemes)('redact() removes the credentials after %j', (scheme) => {
  expect(redact(`${scheme}YXBwOnNlY3JldDE=`)).toBe(`${scheme}[redacted]`)
})

describe.each([
  'swot_0123456789abcdefghijklmnopqrstuv',
  'f81d4fae-7dec+a765/00a0c91e6bf6=',
  'säcret?>~ +/%:&',
  'pass word  phrase\u00a0+ +',
  'a/b+c"d\\e%25é😀<0123456789>',
])('the encoded secret %s', (secret) => {
  test.each([
    '100% of https://api.example/a%20path%2Fwith-words_and/more%zz',
    'application/x-www-form-urlencoded;charset=UTF-8',
    'a &amp; b \\u0041 100%25 {\\"error\\":\\"x\\/y\\"}',
    `${'A'.repeat(400)}==`,
  ])('does not affect other text: %s', (text) => {
    expect(redact(text, [secret])).toBe(text)
  })
})

test('redact() removes a secret of which an encoder left some characters alone', () => {
  expect(redact('?t=a%2fb+c=%22', ['?t=a/b+c="'])).toBe('[redacted]')
  expect(redact('a/b%41%3Cc%3E', ['a/b%41<c>'])).toBe('[redacted]')
})

test('redact() removes the longer of two secrets that start alike', () => {
  expect(redact('It was abcdefgh-ijk.', ['abcdefgh', 'abcdefgh-ijk'])).toBe('It was [redacted].')
})

test('redact() removes all of a very long secret, whatever it has inside', () => {
  const secret = `${'x'.repeat(150)} and more`
  expect(redact(`It is ${secret}.`, [secret])).toBe('It is [redacted].')
})

test('redact() shows no part of a percent-encoded secret that the longest text cuts in two', () => {
  const secret = 'sécrèt+/=?sécrèt+/=?sécrèt+/=?'
  for (let position = 3_850; position <= 4_000; position += 1) {
    expect(redact(`${'\x7f'.repeat(position)}${encodeURIComponent(secret)}`, [secret]).trim()).toBe('[redacted]')
  }
})

test('redact() makes one line of a text', () => {
  expect(redact('No such\r\nuser.\u2028Bye', ['f81d4fae-7dec-11d0'])).toBe('No such user. Bye')
})

test('redact() removes a part of a very long secret from a text that is shorter', () => {
  const secret = `cursor-${'x1'.repeat(5_000)}`
  expect(redact(`It was ${secret.slice(0, 2_000)} or so.`, [secret])).toBe('It was [redacted] or so.')
  expect(redact(`It was ${secret.slice(0, 90)}.`, [secret])).toBe(`It was ${secret.slice(0, 90)}.`)
})

test.each([
  ['plain', 'é1'.repeat(4_000)],
  ['percent-encoded', '%c3%a91'.repeat(4_000)],
])('redact() removes a very long secret that is %s', (_, text) => {
  expect(redact(`${text} and more`, ['é1'.repeat(4_000)])).toBe('[redacted]')
})

const pieces = ['A', ' \n', '%', '%2b', '%25', '\\', '\\/', 'x%41', 'Bearer ', 'Basic\t']
// In quadratic time, this would take minutes, like the next test.
test.each(pieces)('redact() cuts a very long text of %j', (piece) => {
  const secrets = ['swot_0123456789', ...['é1', '%', '%25', '\\', ' ', '/'].map((part) => `${part.repeat(4_000)}!`)]
  expect(redact(piece.repeat(1_000_000), secrets).length).toBeLessThanOrEqual(501)
})

test.each(['basic+', 'basic="', 'Bearer ', '='])('withoutSecrets() reads 300 kB of %j', (piece) => {
  const text = piece.repeat(300_000 / piece.length)
  expect(withoutSecrets(text)).toBe(text)
})

const brokenSecrets = ['Xy7Kq\\nWv93Zt', 'Tk\\rAbc<br>Def%0aGhi123', 'a<wbr>bcdefgh', 'Kq7%0aZw83Qx<br> 91']
test.each(brokenSecrets)('redact() removes the secret %s beside another one', (secret) => {
  const safe = redact(`code=f81d4fae-7dec secret=${secret}, sent by you.`, [secret, 'f81d4fae-7dec'])
  expect(safe).toBe('code=[redacted] secret=[redacted], sent by you.')
})

test('safeCause() returns an error for what cannot be read', () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  expect(safeCause(proxy)).toBeInstanceOf(Error)
})
