import { beforeEach, describe, expect, test } from 'vitest'
import type { Sandbox } from '../../src/sandbox/index.ts'
import {
  authorize,
  authorizeParameters,
  call,
  postForm,
  redirectParameters,
  redirectUri,
  useSandboxes,
} from './helpers.ts'

const start = useSandboxes()

let sandbox: Sandbox

beforeEach(async () => {
  sandbox = await start()
})

describe('an authorization request with an untrusted client or redirect URI', () => {
  test.each([
    ['an unknown app', { client_id: 'app_other' }],
    ['no app', { client_id: undefined }],
    ['an unregistered redirect URI', { redirect_uri: 'http://localhost:3000/elsewhere' }],
    ['a redirect URI that only starts like a registered one', { redirect_uri: `${redirectUri}/more` }],
    ['no redirect URI', { redirect_uri: undefined }],
  ])('gets an error page and no redirect for %s', async (_, changes) => {
    const response = await authorize(sandbox, changes)
    expect(response.status).toBe(400)
    expect(response.headers.get('location')).toBeNull()
    expect(response.headers.get('content-type')).toContain('text/html')
    const text = (await response.text()).replaceAll(/<[^>]+>|\s+/g, ' ').replaceAll(/ +/g, ' ')
    expect(text).toContain('Invalid authorization request')
    if (!('redirect_uri' in changes)) return
    const received = changes.redirect_uri ?? 'No redirect URI.'
    expect(text).toContain(`Received ${received} Registered ${sandbox.app.redirectUris.join(' ')} To register another`)
    expect(text).toContain('--redirect-uri')
  })

  test.each([
    ['client_id', 'app_sandbox'],
    ['client_id', 'app_other'],
    ['redirect_uri', redirectUri],
    ['redirect_uri', 'https://evil.example/'],
  ])('gets an error page and no redirect for a second %s (%s)', async (name, value) => {
    const parameters = authorizeParameters({ auto: 'allow' })
    parameters.append(name, value)
    const response = await fetch(`${sandbox.url}/api/oauth/authorize?${parameters}`, { redirect: 'manual' })
    expect(response.status).toBe(400)
    expect(response.headers.get('location')).toBeNull()
  })

  test('gets the error as JSON if it accepts only JSON', async () => {
    const response = await authorize(sandbox, { client_id: 'app_other' }, { accept: 'application/json' })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: 'invalid_request' })
  })
})

describe('an invalid authorization request', () => {
  test.each([
    ['no scope', { scope: undefined }, 'invalid_request'],
    ['an empty scope', { scope: '' }, 'invalid_request'],
    ['a scope of separators only', { scope: ' ,' }, 'invalid_scope'],
    ['an unknown scope', { scope: 'conversations:admin' }, 'invalid_scope'],
    ['no challenge', { code_challenge: undefined }, 'invalid_request'],
    ['a challenge that is not a digest', { code_challenge: 'short' }, 'invalid_request'],
    ['a padded challenge', { code_challenge: `${'A'.repeat(42)}=` }, 'invalid_request'],
    ['a scope that a description must not quote', { scope: '"\\é' }, 'invalid_scope'],
    ['no challenge method', { code_challenge_method: undefined }, 'invalid_request'],
    ['the plain challenge method', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['an unknown actor', { actor: 'robot' }, 'invalid_request'],
    ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
  ])('redirects with the error and the state for %s', async (_, changes, error) => {
    const response = await authorize(sandbox, changes)
    expect(response.status).toBe(302)
    expect(response.headers.get('location')?.startsWith(`${redirectUri}?`)).toBe(true)
    expect(redirectParameters(response)).toMatchObject({ error, state: 'state with spaces & signs' })
    // RFC 6749, 4.1.2.1: printable ASCII without quotes and backslashes.
    expect(redirectParameters(response).error_description).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+\.$/)
  })

  test('redirects with invalid_request for no state, a repeated parameter and a state of two lines', async () => {
    const parameters = redirectParameters(await authorize(sandbox, { state: undefined }))
    expect(parameters.error).toBe('invalid_request')
    expect(parameters).not.toHaveProperty('state')
    const url = `${sandbox.url}/api/oauth/authorize?${authorizeParameters()}&state=another`
    expect(redirectParameters(await fetch(url, { redirect: 'manual' })).error).toBe('invalid_request')
    // A form could change it.
    expect(redirectParameters(await authorize(sandbox, { state: 'line\nline' })).error).toBe('invalid_request')
  })
})

describe('the consent page', () => {
  test('escapes the values that it shows', async () => {
    const sandbox = await start({ app: { name: '<img src=x onerror=alert(1)>' } })
    const page = await (await authorize(sandbox, { state: `"><script>alert('state')</script>&quot;` })).text()
    expect(page).not.toContain('<img')
    expect(page).not.toContain('<script')
    expect(page).toContain('&amp;quot;')
  })

  test('allows only its own style, and is sent to a browser, which accepts HTML and JSON', async () => {
    const response = await authorize(sandbox, {}, { accept: 'text/html,application/json;q=0.9,*/*;q=0.8' })
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'",
      'cache-control': 'no-store',
      'referrer-policy': 'same-origin',
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
    })
  })
})

describe('the consent decision', () => {
  const consent = '/api/oauth/authorize/consent'

  test('shows an error page for a forged form with another redirect URI', async () => {
    const target_organization_id = sandbox.state.organization.id
    const form = authorizeParameters({ redirect_uri: 'https://evil.example/', target_organization_id })
    const response = await postForm(sandbox, consent, form)
    expect(response.status).toBe(400)
    expect(response.headers.get('location')).toBeNull()
  })

  test.each([
    ['more scopes than the app declares', { scope: 'users:write' }, 'invalid_scope'],
    ['no challenge', { code_challenge: undefined }, 'invalid_request'],
    ['an unknown organization', { target_organization_id: 'org_other' }, 'invalid_request'],
    ['no organization', { target_organization_id: undefined }, 'invalid_request'],
    ['an unknown role', { role: 'emperor' }, 'invalid_request'],
    ['an agent for an app that acts as itself', { role: 'agent' }, 'access_denied'],
    ['a moderator for an app that acts as itself', { role: 'moderator' }, 'access_denied'],
  ])('redirects with an error for a forged form with %s', async (_, changes, error) => {
    const sandbox = await start({ app: { scopes: ['conversations:read', 'contacts:read'] } })
    const form = authorizeParameters({ target_organization_id: sandbox.state.organization.id, ...changes })
    const { searchParams } = new URL((await postForm(sandbox, consent, form)).headers.get('location') ?? '')
    expect(searchParams.get('error')).toBe(error)
    expect(searchParams.has('code')).toBe(false)
  })

  test('cannot be made by an archived member', async () => {
    const moderator = sandbox.state.members.find(({ role }) => role === 'moderator')
    const owner = sandbox.issueToken({ actor: 'self' })
    const path = `/api/oauth/v1/users/${moderator?.id}`
    expect((await call(sandbox, owner, 'PATCH', path, { archived: true })).status).toBe(200)
    const query = { actor: 'self', role: 'moderator' }
    expect(redirectParameters(await authorize(sandbox, { auto: 'allow', ...query })).error).toBe('invalid_request')
    const page = await (await authorize(sandbox, query)).text()
    expect(page).toContain('<option value="agent">')
    expect(page).not.toContain('<option value="moderator">')
  })

  test('redirects with invalid_scope if the role allows none of the scopes', async () => {
    const response = await authorize(sandbox, { auto: 'allow', actor: 'self', role: 'agent', scope: 'users:write' })
    expect(redirectParameters(response).error).toBe('invalid_scope')
  })
})
