import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Browser } from './helpers/browser.ts'
import { type SiteOptions, siteUrl, startService, untilCallback } from './helpers/site.ts'

const { makeSite } = await startService()

const denying: SiteOptions = { handlers: { onError: undefined, parameters: { auto: 'deny' } } }

/** Requests a callback with changed parameters, in a browser that kept its cookies of before. */
async function failedLogin(options: SiteOptions = denying, change: (url: URL) => void = () => {}, replays = 0) {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => printed.mockRestore())
  const visitor = makeSite({ ...options, handlers: { onError: undefined, ...options.handlers } }).browser()
  const url = new URL(await untilCallback(visitor, `${siteUrl}/login?return_to=/inbox`))
  change(url)
  const kept = new Map(visitor.cookies)
  let { response } = await visitor.go(url.href, () => true)
  for (let count = 0; count < replays; count++) {
    for (const [name, cookie] of kept) visitor.cookies.set(name, cookie)
    response = (await visitor.go(url.href)).response
  }
  return { visitor, url, response, html: await response.text() }
}

const withError = (code: string) => (url: URL) => url.searchParams.set('error', code)
const withState = (url: URL) => url.searchParams.set('state', 'forged')
const wrongSecret = { app: { clientSecret: 'a-wrong-secret' } }
const offline = { app: { fetch: () => Promise.reject(new TypeError('fetch failed')) } }
const silent = { app: { fetch: () => new Promise<never>(() => {}), timeout: 1 } }
const notSetUp = 'This app is not set up correctly.'
const failedService = 'The service could not complete the login.'
const rejected = 'The service rejected the login.'

test.each<[string, SiteOptions, ((url: URL) => void) | undefined, number, string, string]>([
  ['that access was denied', denying, undefined, 403, 'Access was not granted', 'access_denied'],
  ['that the service failed', {}, withError('server_error'), 502, failedService, 'authorization_failed'],
  ['that the service is busy', {}, withError('temporarily_unavailable'), 502, failedService, 'authorization_failed'],
  ['that the service rejected it', {}, withError('login_required'), 400, rejected, 'authorization_failed'],
  ['that the request was wrong', { handlers: { scope: ['x:y'] } }, undefined, 400, notSetUp, 'authorization_failed'],
  ['that the app was rejected', wrongSecret, undefined, 502, notSetUp, 'invalid_client'],
  ['that the service is down', offline, undefined, 502, failedService, 'exchange_failed'],
  ['that the service is slow', silent, undefined, 502, failedService, 'exchange_failed'],
  ['that the login is unknown', {}, withState, 400, 'This login is no longer valid.', 'state_mismatch'],
])('the page says in words for visitors %s', async (_title, options, change, status, words, reason) => {
  const { response, html, url, visitor } = await failedLogin(options, change)
  expect(response.status).toBe(status)
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(html).toContain('<h1>Not connected</h1>')
  expect(html).toContain(`<p>${words}`)
  expect(html).toContain(`<p class="reason">${reason}</p>`)
  expect(html.includes('<blockquote>')).toBe(reason === 'access_denied')
  expect(html).not.toMatch(/client id|client secret/)
  for (const value of ['a-wrong-secret', url.searchParams.get('code') ?? 'code_']) expect(html).not.toContain(value)
  expect(visitor.cookies.size).toBe(reason === 'state_mismatch' ? 1 : 0)
})

test.each([1, 2])(
  'a visitor goes on who requests the callback of a completed login %i more times with its cookie',
  async (replays) => {
    const errors: Error[] = []
    const handlers = { onError: (error: Error) => void errors.push(error) }
    const { html, response, visitor, url } = await failedLogin({ handlers }, undefined, replays)
    expect({ html, status: response.status }).toEqual({ html: 'page /inbox', status: 200 })
    // And without its cookie.
    const again = await visitor.go(url.href)
    expect(await again.response.text()).toBe('page /')
    expect(errors).toEqual([])
  },
)

test('a replayed callback of a login that failed says that nothing is connected', async () => {
  const { html } = await failedLogin(wrongSecret, undefined, 1)
  expect(html).toContain('<h1>Not connected</h1>')
  expect(html).toContain('This login was already used.')
  expect(html).toContain('<p class="reason">transaction_used</p>')
})

describe('the description of the service', () => {
  const describing = (text: string) => (url: URL) => url.searchParams.set('error_description', text)

  test('is shown for a denial, escaped', async () => {
    const markup = `<script>alert('x')</script><img src=x onerror="alert(1)">&amp;`
    const { response, html } = await failedLogin(denying, describing(markup))
    expect(html).toContain('<blockquote>&#60;script&#62;alert(&#39;x&#39;)')
    expect(html).toContain('onerror=&#34;alert(1)&#34;&#62;&#38;amp;')
    expect(html).not.toMatch(/<script|<img|&amp;/)
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  })

  test('is not shown for a forged callback', async () => {
    const { html } = await failedLogin(denying, (url) => {
      withState(url)
      describing('Call this number')(url)
    })
    expect(html).not.toContain('Call this number')
  })
})

test.each([
  ['/login?actor=app&return_to=/inbox', '/login?actor=app&return_to=%2Finbox'],
  [`/login?actor=app&return_to=/${'x'.repeat(1_024)}`, '/login?actor=app&return_to=%2F'],
  ['//login', '/'],
  ['/login/callback?state=unknown', '/'],
])('the page of a login at %s links to %s', async (start, link) => {
  const { login } = makeSite(denying)
  const visitor = new Browser({
    [siteUrl]: (request) => (request.url.includes('/callback') ? login.callback : login.start)(request),
  })
  const { response } = await visitor.go(siteUrl + start)
  const [, href = ''] = /<a href="([^"]*)">Try again<\/a>/.exec(await response.text()) ?? []
  expect(href.replaceAll('&#38;', '&')).toBe(link)
})

test('a visitor whose login is unknown sees nothing of the logins of others', async () => {
  const { login } = makeSite(denying)
  for (const path of ['/t/acme/login?hint=visitor', '/t/other/login']) await login.start(new Request(siteUrl + path))
  const { response } = await new Browser({ [siteUrl]: login.callback }).go(`${siteUrl}/login/callback?state=unknown`)
  const html = await response.text()
  expect(html).toContain('<a href="/">Try again</a>')
  expect(html).not.toMatch(/\/t\/|visitor/)
})
