import { expect, test } from 'vitest'
import { redact } from '../../src/errors/redact.ts'

test.each([
  'The Bearer token expired',
  'Bearer realm="api"',
  'Bearer realm="api", error="invalid_token", error_description="The access token expired"',
  'Bearer authorization_uri="https://login1.example/authorize"',
  'bearer authentication required',
])('keeps ordinary words: %s', (text) => {
  expect(redact(text)).toBe(text)
})

test.each([
  'swot_abc123def456',
  'my_swot_abc123def456',
  'SWOT_abc123def456',
  'Bearer abcdef0123456789abcdef',
  '"Bearer abcdef0123456789abcdef=="',
  'bearer\tabc.def0.ghi-jkl_mno.pqr123',
])('removes what looks like a token: %s', (text) => {
  expect(redact(`x ${text} y`)).toMatch(/\[redacted\]/)
  expect(redact(`x ${text} y`)).not.toMatch(/abc\.?def/)
})

test('removes a known token wherever it stands, raw and percent-encoded', () => {
  const token = 'a+b/c=d&e f!'
  expect(redact(`${token}, x${token}x, ${encodeURIComponent(token)}`, [token])).toBe(
    '[redacted], x[redacted]x, [redacted]',
  )
})
