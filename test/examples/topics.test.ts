import { expect, test, vi } from 'vitest'

const folder = new URL('../../examples/', import.meta.url)

/** The lines that each example prints. */
const printed: Readonly<Record<string, readonly unknown[]>> = {
  'errors.ts': [
    'Missing scope: conversations:read',
    'contacts.create failed, outcome: unknown',
    'The token was revoked: log in again',
    'Rate limited: retry after 30 seconds',
  ],
  'login.ts': ['Granted: conversations:read,messages:write', 'Actor: self', 'Failed: access_denied'],
  'own-operation.ts': [
    expect.stringMatching(/^People: 40, the first is .+/),
    expect.stringMatching(/^Organization: .+/),
  ],
  'paging.ts': ['Every conversation: 120', 'A page of 50', 'A page of 50', 'A page of 20', 'The newest 70'],
  'testing.ts': ['Pages requested: 3', 'The app was told about the revocation'],
}

test.each(Object.entries(printed))('%s prints what it says', async (name, lines) => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  await import(/* @vite-ignore */ new URL(name, folder).href)
  expect(log.mock.calls.map((values) => values.join(' '))).toEqual(lines)
  log.mockRestore()
})
