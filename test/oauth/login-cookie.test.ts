import { describe, expect, test } from 'vitest'
import { knownScopes } from '../../src/oauth/index.ts'
import { redirectUri, siteUrl, startService, untilCallback } from './helpers/site.ts'

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

  test.each([
    ['a path of 511 CJK characters', `${loopback}/login`, `/${'漢'.repeat(511)}`],
    ['a path that is much too long', `${siteUrl}/login`, `/${'x'.repeat(8_000)}`],
  ])('is one for all logins of a browser, below the limit of browsers, with %s', async (_title, start, returnTo) => {
    const visitor = makeSite({
      app: { redirectUri: `${start}/callback` },
      handlers: { scope: knownScopes },
    }).browser()
    for (let round = 0; round < 3; round++) {
      await untilCallback(visitor, `${start}?return_to=${encodeURIComponent(returnTo)}`)
      expect(visitor.cookies.size).toBe(1)
      expect(visitor.cookieHeader(new URL(`${start}/callback`)).length).toBeLessThanOrEqual(3_500)
    }
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

  test('stays with the newest login when an older tab comes back first', async () => {
    const { browser, errors, tokens } = makeSite({ start: { data: 'u_1' } })
    const visitor = browser()
    const older = await untilCallback(visitor, `${siteUrl}/login?return_to=/one`)
    const newer = await untilCallback(visitor, `${siteUrl}/login?return_to=/two`)
    const refused = await visitor.request(older)
    expect([refused.status, refused.headers.getSetCookie()]).toEqual([400, []])
    expect((await visitor.go(newer)).at).toBe(`${siteUrl}/two`)
    expect([tokens.length, visitor.cookies.size]).toEqual([1, 0])
    expect(errors).toMatchObject([{ reason: 'state_mismatch' }])
  })

  test.each(['?code=forged&state=forged', '?code=forged', '?error=access_denied&state=forged', ''])(
    'survives a forged callback during a login: %s',
    async (query) => {
      const contexts: unknown[] = []
      const onError = (_error: Error, { data, returnTo }: { data: unknown; returnTo: string }) =>
        void contexts.push({ data, returnTo })
      const { browser, tokens } = makeSite({ handlers: { onError, returnTo: '/home' }, start: { data: 'u_1' } })
      const visitor = browser()
      const callback = await untilCallback(visitor, `${siteUrl}/login?return_to=/inbox`)
      await visitor.request(redirectUri + query)
      // What the app passed belongs to the login of the visitor, and not to the forged callback.
      expect(contexts).toEqual([{ data: undefined, returnTo: '/home' }])
      expect((await visitor.go(callback)).at).toBe(`${siteUrl}/inbox`)
      expect([tokens.length, visitor.cookies.size]).toEqual([1, 0])
    },
  )

  test('leaves a newer login alone when the page of a completed one is loaded again', async () => {
    const { browser, errors, tokens } = makeSite({ handlers: { returnTo: '/home' } })
    const visitor = browser()
    const completed = await untilCallback(visitor, `${siteUrl}/login?return_to=/one`)
    await visitor.go(completed)
    const newer = await untilCallback(visitor, `${siteUrl}/login?return_to=/two`)
    expect((await visitor.go(completed)).at).toBe(`${siteUrl}/home`)
    expect((await visitor.go(newer)).at).toBe(`${siteUrl}/two`)
    expect([tokens.length, errors]).toEqual([2, []])
  })

  test('is another one for another redirect URI or client id, so two apps on one host do not collide', async () => {
    const names = new Set<string | undefined>()
    for (const app of [{}, { clientId: 'another' }, { redirectUri: `${siteUrl}/second/login/callback` }]) {
      const { headers } = await makeSite({ app }).login.start(new Request(`${siteUrl}/login`))
      names.add(headers.getSetCookie()[0]?.split('=')[0])
    }
    expect(names.size).toBe(3)
  })
})
