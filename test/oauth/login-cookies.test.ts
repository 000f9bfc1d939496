import { describe, expect, test } from 'vitest'
import { knownScopes } from '../../src/oauth/index.ts'
import { loginCookies } from '../../src/oauth/login-cookies.ts'
import { siteUrl, startService, untilCallback } from './helpers/site.ts'

const loopback = 'http://localhost:3000'

const { sandbox, makeSite } = await startService()

describe('the cookie of a login', () => {
  test.each([
    ['over https', siteUrl, '__Host-support_login', 600_000, 'Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Lax'],
    ['over http on loopback', loopback, 'mine', 90_500, 'Max-Age=91; Path=/; HttpOnly; SameSite=Lax'],
  ])('has its name and attributes %s, wherever the callback is', async (_title, origin, name, lifetime, attributes) => {
    for (const path of [
      '/login/callback',
      '/login;domain=evil.example/callback',
      "/it's,a/callback",
      '/a%20b%0d%0a%22/callback',
      '/%E6%BC%A2/callback',
    ]) {
      sandbox.registerRedirectUri(origin + path)
      const handlers = name === 'mine' ? { cookieName: name } : {}
      const app = { redirectUri: origin + path, transactionLifetime: lifetime }
      const { browser, tokens } = makeSite({ app, handlers })
      const visitor = browser()
      const { headers } = await visitor.request(`${origin}/login`)
      const [cookie = ''] = headers.getSetCookie()
      expect(cookie.split('=')[0]).toMatch(new RegExp(`^${name}\\.[0-9a-f]{16}$`))
      expect(cookie.replace(/^[^;]*; /, '')).toBe(attributes)
      await visitor.go(headers.get('location') ?? '')
      expect(tokens).toHaveLength(1)
    }
  })

  /** Logs in with one return_to after another, and returns the size of the cookies before each callback. */
  async function sizes(start: string, returnTo: string, rounds: number) {
    const visitor = makeSite({
      app: { redirectUri: `${start}/callback` },
      handlers: { scope: knownScopes },
    }).browser()
    const measured: Record<'cookies' | 'largest' | 'together', number>[] = []
    for (let round = 0; round < rounds; round++) {
      await untilCallback(visitor, `${start}?return_to=${encodeURIComponent(returnTo)}`)
      const header = visitor.cookieHeader(new URL(`${start}/callback`))
      const largest = Math.max(...header.split('; ').map((cookie) => cookie.length))
      measured.push({ cookies: visitor.cookies.size, largest, together: header.length })
    }
    return measured
  }

  test('makes room in a time that grows with the number of cookies, not with its square', () => {
    const cookies = loginCookies(`${siteUrl}/login/callback`, 'login')
    const nameOf = (index: number) => `__Host-login.${index.toString(16).padStart(16, '0')}`
    // With the square of so many, this would take minutes.
    const header = Array.from({ length: 300_000 }, (_, index) => `${nameOf(index)}=sealed`).join('; ')
    const removed = cookies.makeRoom(header, nameOf(999_999), 'sealed')
    expect(removed).toEqual([0, 1, 2, 3].map((index) => cookies.clear(nameOf(index))))
  })

  test.each([
    ['a short path', `${loopback}/login`, '/inbox', [1, 2, 3, 4, 5, 5]],
    ['a long path', `${siteUrl}/login`, `/${'x'.repeat(1_000)}`, [1, 2, 3, 3, 3, 3]],
    ['a path of 511 CJK characters', `${loopback}/login`, `/${'漢'.repeat(511)}`, [1, 2, 3, 4, 5, 5]],
    ['a path that is much too long', `${siteUrl}/login`, `/${'x'.repeat(8_000)}`, [1, 2, 3, 4, 5, 5]],
  ])('stays below the limits of browsers and servers with %s', async (_title, start, returnTo, counts) => {
    const measured = await sizes(start, returnTo, counts.length)
    expect(measured.map(({ cookies }) => cookies)).toEqual(counts)
    expect(Math.max(...measured.map(({ largest }) => largest))).toBeLessThanOrEqual(3_500)
    expect(Math.max(...measured.map(({ together }) => together))).toBeLessThanOrEqual(6_100)
  })

  const data = 'd'.repeat(1_000)
  const longStart = `from=${'x'.repeat(900)}`
  test.each([
    ['drops a return_to that is too long', `return_to=/${'%E6%BC%A2'.repeat(511)}`, undefined, '/home'],
    ['drops both paths if data leaves no room', `${longStart}&return_to=/${'y'.repeat(1_000)}`, data, '/home'],
    ['keeps a short return_to if only the start path is too long', `${longStart}&return_to=/inbox`, data, '/inbox'],
  ])('%s', async (_title, query, data, returnedTo) => {
    const { browser, tokens } = makeSite({ handlers: { scope: knownScopes, returnTo: '/home' }, start: { data } })
    expect((await browser().go(`${siteUrl}/login?${query}`)).at).toBe(siteUrl + returnedTo)
    expect(tokens).toHaveLength(1)
  })

  test.each([
    ['scope', undefined],
    ['data', 'u_1'],
  ])('does not start a login that does not fit, because of its %s', async (argument, data) => {
    const scope = Array.from({ length: 200 }, (_, index) => `resource_number_${index}:read`)
    const starting = makeSite({ handlers: { scope } }).login.start(new Request(`${siteUrl}/login`), { data })
    await expect(starting).rejects.toMatchObject({ name: 'InvalidArgumentError', argument })
  })

  test('gives up the paths of a new login before another login', async () => {
    const { browser, tokens } = makeSite()
    const visitor = browser()
    const long = `${siteUrl}/login?return_to=/${'a'.repeat(1_000)}&x=${'b'.repeat(900)}`
    const callbacks = [await untilCallback(visitor, long), await untilCallback(visitor, long)]
    for (const callback of callbacks) await visitor.go(callback)
    expect(tokens).toHaveLength(2)
  })

  test('keeps the paths of a new login if another login is dropped in any case', async () => {
    const visitor = makeSite({ handlers: { onError: undefined, parameters: { auto: 'deny' } } }).browser()
    for (let count = 0; count < 5; count++) await untilCallback(visitor)
    const { response } = await visitor.go(`${siteUrl}/login?from=menu&return_to=/inbox`)
    expect(await response.text()).toContain('<a href="/login?from=menu&#38;return_to=%2Finbox">')
  })

  test('is separate for each login, so two tabs can finish in any order', async () => {
    const visitor = makeSite().browser()
    const first = await untilCallback(visitor, `${siteUrl}/login?return_to=/one`)
    const second = await untilCallback(visitor, `${siteUrl}/login?return_to=/two`)
    expect((await visitor.go(second)).at).toBe(`${siteUrl}/two`)
    expect((await visitor.go(first)).at).toBe(`${siteUrl}/one`)
    expect(visitor.cookies.size).toBe(0)
  })

  test('is limited to five per browser: the oldest is dropped, and cookies of the app are kept', async () => {
    const { browser, errors } = makeSite()
    const visitor = browser()
    const others = ['other', '0123456789abcdef', '__Host-support_login.theme', '__Host-support_login.0123456789abcdef0']
    for (const name of others) visitor.cookies.set(name, { value: '1', host: 'app.example', path: '/', secure: true })
    const oldest = await untilCallback(visitor)
    for (let count = 0; count < 5; count++) await untilCallback(visitor)
    expect(visitor.cookies.size).toBe(others.length + 5)
    expect([...visitor.cookies.keys()]).toEqual(expect.arrayContaining(others))
    await visitor.go(oldest)
    expect(errors[0]).toMatchObject({ reason: 'transaction_missing' })
  })
})

const cookies = loginCookies('https://app.example/callback', 'login')

/** Returns name and value of a login's cookie that has the given size in bytes. */
function makeLogin(index: number, size: number): [name: string, value: string] {
  const name = `__Host-login.${String(index).padStart(16, '0')}`
  return [name, 'x'.repeat(size - name.length - 1)]
}

test.each<[string, number[], number, number[]]>([
  ['none, if they have 6,000 bytes', [1_000, 2_000], 3_000, []],
  ['the oldest, if they have more', [1_000, 2_000], 3_001, [0]],
  ['as many as needed', [1_000, 2_000, 2_500], 3_000, [0, 1]],
  ['at most four large ones', Array(8).fill(2_048), 3_000, [0, 1, 2, 3]],
  ['at most four small ones', Array(25).fill(100), 100, [0, 1, 2, 3]],
])('makes room by removing %s', (_title, sizes, size, removed) => {
  const header = sizes.map((each, index) => makeLogin(index, each).join('=')).join('; ')
  const cleared = removed.map((index) => cookies.clear(makeLogin(index, 100)[0]))
  expect(cookies.makeRoom(header, ...makeLogin(9, size))).toEqual(cleared)
})

test('keeps a login of at most 3,500 bytes in a cookie', () => {
  expect(cookies.fits(...makeLogin(1, 3_500))).toBe(true)
  expect(cookies.fits(...makeLogin(1, 3_501))).toBe(false)
})

test('removes a login once that is in the header twice', () => {
  const header = [makeLogin(1, 3_000), makeLogin(1, 2_000), makeLogin(2, 2_000)].map((login) => login.join('='))
  const cleared = [cookies.clear(makeLogin(1, 100)[0])]
  expect(cookies.makeRoom(header.join('; '), ...makeLogin(3, 3_000))).toEqual(cleared)
})
