import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type PageSite, runInPage, startPageSite } from './helpers/page-site.ts'
import { useBrowser, type Visitor } from './helpers/use-browser.ts'
import type { Watch } from './helpers/watch.ts'
import type { CheckName } from './page/checks.ts'

const visit = useBrowser()
const me = '/api/oauth/v1/me'

let site: PageSite
let sandbox: Sandbox
let accessToken: string
let visitor: Visitor

beforeAll(async () => {
  site = await startPageSite()
})
afterAll(() => site.close())

beforeEach(async () => {
  sandbox = await startSandbox({ conversations: 420 })
  accessToken = sandbox.issueToken({ actor: 'self' })
  visitor = await visit()
  await visitor.page.goto(site.url)
})
afterEach(() => sandbox.close())

describe.each(['page', 'worker'] as const)('in a %s with a strict Content-Security-Policy, the SDK', (place) => {
  const run = (name: CheckName, { baseUrl = sandbox.url } = {}) =>
    runInPage(visitor.page, place, { run: name, facts: { baseUrl, accessToken, redirectUri: `${site.url}/callback` } })

  /** Chromium does not log the requests of a worker that got no response. */
  const logged = async (isLogged: (watch: Watch) => Promise<void>) => {
    if (place === 'page') await isLogged(visitor.watch)
  }

  test('does the main job, with preflights for the authorization and content-type headers only', async () => {
    expect(await run('mainJob')).toEqual({
      ids: sandbox.state.conversations.map(({ id }) => id),
      text: '<p>On it.</p>',
    })
    expect(sandbox.state.writes.map(({ operation }) => operation)).toEqual(['createMessage', 'deleteMessage'])
    const preflights = sandbox.requests.filter(({ method }) => method === 'OPTIONS')
    const requested = preflights.map(({ headers }) => [
      headers['access-control-request-method'],
      headers['access-control-request-headers'],
    ])
    expect(new Set(requested.map(String))).toEqual(
      new Set(['GET,authorization', 'POST,authorization,content-type', 'DELETE,authorization']),
    )
  })

  test('reads the headers that CORS exposes: Retry-After and the request id', async () => {
    sandbox.failNext({ status: 429, retryAfter: 30 })
    expect(await run('me')).toMatchObject({
      name: 'RateLimitError',
      retryAfter: 30,
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      outcome: 'refused',
    })
    await visitor.watch.expectFailedResponses({ status: 429, path: me })
  })

  test('rejects a redirect, which a browser does not let it read', async () => {
    const other = await startSandbox()
    sandbox.failNext({ status: 302, headers: { location: `${other.url}${me}` } })
    const failure = await run('me')
    const { requests } = other
    await other.close()
    expect(failure).toMatchObject({ name: 'UnexpectedResponseError', reason: 'redirect', outcome: 'no-effect' })
    expect(requests).toEqual([])
  })

  test('reports that a write may have been sent, and a read had no effect, if no connection can be opened', async () => {
    await sandbox.close()
    expect(await run('me')).toMatchObject({ name: 'NetworkError', outcome: 'no-effect' })
    expect(await run('write')).toMatchObject({ name: 'NetworkError', outcome: 'unknown' })
    for (const path of [me, '/api/oauth/v1/contacts']) {
      await logged((watch) => watch.expectNoResponse({ error: 'net::ERR_CONNECTION_REFUSED', path }))
    }
  })

  test('reports that a read had no effect if CORS blocks its response', async () => {
    const closed = await startSandbox({ cors: false })
    const failure = await run('me', { baseUrl: closed.url })
    await closed.close()
    expect(failure).toMatchObject({ name: 'NetworkError', outcome: 'no-effect' })
    await logged((watch) => watch.expectCorsBlock(me))
    await logged((watch) => watch.expectNoResponse({ error: 'net::ERR_FAILED', path: me }))
  })

  test('ends a call after its timeout', async () => {
    sandbox.failNext({ latency: 600_000 })
    expect(await run('shortTimeout')).toMatchObject({ name: 'TimeoutError', limit: 'attempt', timeout: 50 })
  })

  test('aborts a call with the reason of its signal: in its body, before a retry, and before the response', async () => {
    sandbox.failNext({ drip: { bytes: 1, interval: 600_000 } })
    expect(await run('interruptedInBody')).toBe('enough')
    sandbox.failNext({ status: 429, retryAfter: 50 })
    expect(await run('interruptedInWait')).toBe('enough')
    await visitor.watch.expectFailedResponses({ status: 429, path: me })
    // Last, because the request may arrive after it was aborted, or never.
    sandbox.failNext({ latency: 600_000 })
    expect(await run('interrupted')).toBe('enough')
  })

  test('rejects a client secret', async () => {
    const failure = await run('secret')
    expect(failure).toMatchObject({ name: 'InvalidArgumentError', argument: 'clientSecret' })
    expect(JSON.stringify(failure)).toContain('can be read by every user')
    expect(JSON.stringify(failure)).not.toContain('secret_sandbox')
  })

  test('starts a login with PKCE and reads its callback without a client secret', async () => {
    expect(await run('publicLogin')).toEqual({
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      grant: {
        code: 'code_1',
        codeVerifier: expect.stringMatching(/^[\w-]{43}$/),
        redirectUri: `${site.url}/callback`,
        scope: 'conversations:read',
      },
    })
  })
})
