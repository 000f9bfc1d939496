import { expect, test } from 'vitest'
import { loginCookies } from '../../src/oauth/login-cookies.ts'

const cookies = loginCookies('https://app.example/callback', 'login')

/** Returns name and value of a login's cookie that has the given size in bytes. */
function makeLogin(index: number, size: number): [name: string, value: string] {
  const name = `__Host-login.${String(index).padStart(16, '0')}`
  return [name, 'x'.repeat(size - name.length - 1)]
}
const headerOf = (...logins: [string, string][]) => logins.map((login) => login.join('=')).join('; ')
const cleared = (...indexes: number[]) => indexes.map((index) => cookies.clear(makeLogin(index, 100)[0]))

test('a cookie of at most 3,500 bytes fits', () => {
  expect(cookies.fits(...makeLogin(1, 3_500))).toBe(true)
  expect(cookies.fits(...makeLogin(1, 3_501))).toBe(false)
})

test('the oldest logins are removed if all of them exceed 6,000 bytes', () => {
  const header = headerOf(makeLogin(1, 1_000), makeLogin(2, 2_000))
  expect(cookies.makeRoom(header, ...makeLogin(3, 3_000))).toEqual([])
  expect(cookies.makeRoom(header, ...makeLogin(3, 3_001))).toEqual(cleared(1))
  const longer = headerOf(makeLogin(1, 1_000), makeLogin(2, 2_000), makeLogin(3, 2_500))
  expect(cookies.makeRoom(longer, ...makeLogin(4, 3_000))).toEqual(cleared(1, 2))
})

test('a login that is in the header twice is removed once', () => {
  const header = headerOf(makeLogin(1, 3_000), makeLogin(1, 2_000), makeLogin(2, 2_000))
  expect(cookies.makeRoom(header, ...makeLogin(3, 3_000))).toEqual(cleared(1))
})
