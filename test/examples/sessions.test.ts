import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSessions } from '../../examples/login-server/session.ts'

const login = { key: 'connection-1', connectedAt: 5 }
const days = 24 * 60 * 60 * 1000
const sessions = createSessions('a secret of 32 characters or more', 'https://inbox.example.com')

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

function requestWith(setCookie?: string): Request {
  const headers = setCookie === undefined ? {} : { cookie: setCookie.split(';', 1)[0] ?? '' }
  return new Request('https://inbox.example.com/', { headers })
}

test('a session returns its login for 30 days, even if the browser keeps the cookie longer', async () => {
  const request = requestWith(await sessions.begin(requestWith(), login))
  vi.advanceTimersByTime(30 * days - 1)
  expect(await sessions.find(request)).toMatchObject(login)
  vi.advanceTimersByTime(1)
  expect(await sessions.find(request)).toBeUndefined()
})

test('an ended session is invalid, even with a copy of its cookie', async () => {
  const request = requestWith(await sessions.begin(requestWith(), login))
  expect(await sessions.end(request)).toMatch(/^__Host-inbox_session=; Max-Age=0; .*Secure/)
  expect(await sessions.find(request)).toBeUndefined()
})

test('a new session of a browser ends the previous one', async () => {
  const before = requestWith(await sessions.begin(requestWith(), login))
  const after = requestWith(await sessions.begin(before, { key: 'connection-2', connectedAt: 6 }))
  expect(await sessions.find(before)).toBeUndefined()
  expect(await sessions.find(after)).toMatchObject({ key: 'connection-2', connectedAt: 6 })
})

test('a cookie that was modified or signed with another secret is rejected', async () => {
  const cookie = await sessions.begin(requestWith(), login)
  const expiry = String(Date.now() + 30 * days)
  expect(cookie).toContain(expiry)
  expect(await sessions.find(requestWith(cookie.replace(expiry, `9${expiry}`)))).toBeUndefined()
  const other = createSessions('another secret of 32 characters!!', 'https://inbox.example.com')
  expect(await other.find(requestWith(cookie))).toBeUndefined()
  expect(await sessions.find(requestWith(cookie))).toMatchObject(login)
})

test('the cookie contains neither the connection nor its time', async () => {
  const cookie = await sessions.begin(requestWith(), login)
  expect(cookie).not.toContain('connection-1')
  expect(cookie).toMatch(/; HttpOnly; Secure; SameSite=Lax$/)
})
