import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { authorizeParameters, call, exchange, freshCode, postForm, useSandboxes } from './helpers.ts'

const start = useSandboxes()
const basic = (id: string, secret: string) => ({ authorization: `Basic ${btoa(`${id}:${secret}`)}` })
const inHeader = { client_id: undefined, client_secret: undefined }

describe('exchanging a code', () => {
  test('gives a token that works, and says nothing of an expiry', async () => {
    const sandbox = await start()
    const answer = await exchange(sandbox, { code: await freshCode(sandbox) })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      access_token: expect.stringMatching(/^swot_[0-9a-f]{48}$/),
      token_type: 'Bearer',
      scope: 'conversations:read contacts:read',
    })
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const me = await call(sandbox, answer.body.access_token, 'GET', '/api/oauth/v1/me')
    expect(me.body).toMatchObject({ actor: 'app', user: null, scopes: ['conversations:read', 'contacts:read'] })
    expect(sandbox.state.tokens).toBe(1)
  })

  test('binds the token to the organization and the person chosen', async () => {
    const sandbox = await start()
    const organization = sandbox.state.organizations[1]?.id ?? ''
    const code = await freshCode(sandbox, { actor: 'self', role: 'moderator', organization })
    const { access_token } = (await exchange(sandbox, { code })).body
    const me = (await call(sandbox, access_token, 'GET', '/api/oauth/v1/me')).body
    const moderator = sandbox.state.of(organization).members.find(({ role }) => role === 'moderator')
    expect(me.organization.id).toBe(organization)
    expect(me.user).toEqual(moderator?.user)
    expect(me.application).toMatchObject({ client_id: 'app_sandbox', name: 'Sandbox app' })
  })

  test('leaves out the scopes that the role of the person may not have', async () => {
    const sandbox = await start()
    const scope = 'users:read users:write organization:write messages:write'
    const of = async (role: string): Promise<string> => {
      const code = await freshCode(sandbox, { actor: 'self', role, scope })
      return (await exchange(sandbox, { code })).body.scope
    }
    expect(await of('admin')).toBe(scope)
    expect(await of('moderator')).toBe('users:read messages:write')
  })

  test.each([
    ['a wrong verifier', { code_verifier: 'x'.repeat(43) }],
    ['a verifier that is too short', { code_verifier: 'x'.repeat(42) }],
    ['a verifier that is too long', { code_verifier: 'x'.repeat(129) }],
    ['another redirect URI', { redirect_uri: 'http://127.0.0.1:3000/callback' }],
  ])('with %s fails and uses the code up', async (_, fields) => {
    const sandbox = await start()
    const code = await freshCode(sandbox)
    const failed = await exchange(sandbox, { code, ...fields })
    expect(failed).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    expect(failed.headers.get('cache-control')).toBe('no-store')
    expect((await exchange(sandbox, { code })).body.error).toBe('invalid_grant')
    expect(sandbox.state.tokens).toBe(0)
  })

  test.each([
    ['42 characters', 'x'.repeat(42), 400],
    ['43 characters', 'x'.repeat(43), 200],
    ['128 characters', 'x'.repeat(128), 200],
    ['129 characters', 'x'.repeat(129), 400],
    ['each character that RFC 7636 allows', 'azAZ09-._~'.repeat(5), 200],
    ['a plus sign', `${'x'.repeat(43)}+`, 400],
    ['a line break at the end', `${'x'.repeat(43)}\n`, 400],
  ])('with a matching verifier of %s follows RFC 7636', async (_, verifier, status) => {
    const sandbox = await start()
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const code = await freshCode(sandbox, { code_challenge: challenge })
    const answer = await exchange(sandbox, { code, code_verifier: verifier })
    expect(answer.status).toBe(status)
    if (status === 400) expect(answer.body.error).toBe('invalid_grant')
  })

  test.each(['grant_type', 'code', 'redirect_uri', 'code_verifier'])('without %s is refused', async (name) => {
    const sandbox = await start()
    const code = await freshCode(sandbox)
    const answer = await exchange(sandbox, { code, [name]: undefined })
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    expect((await exchange(sandbox, { code })).status).toBe(200)
  })

  test('with another grant type is refused', async () => {
    const sandbox = await start()
    const answer = await exchange(sandbox, { code: 'code_1', grant_type: 'refresh_token' })
    expect(answer).toMatchObject({ status: 400, body: { error: 'unsupported_grant_type' } })
  })

  test('that nobody granted is refused', async () => {
    const sandbox = await start()
    expect((await exchange(sandbox, { code: 'code_1' })).body.error).toBe('invalid_grant')
  })

  test('twice is refused and withdraws the token of the first time', async () => {
    const sandbox = await start()
    const code = await freshCode(sandbox)
    const { access_token } = (await exchange(sandbox, { code })).body
    expect((await exchange(sandbox, { code })).body.error).toBe('invalid_grant')
    expect((await call(sandbox, access_token, 'GET', '/api/oauth/v1/me')).status).toBe(401)
  })

  test('too late is refused', async () => {
    let now = 1_000_000
    const sandbox = await start({ now: () => now, codeLifetime: 5_000 })
    const inTime = await freshCode(sandbox)
    const late = await freshCode(sandbox)
    now += 4_999
    expect((await exchange(sandbox, { code: inTime })).status).toBe(200)
    now += 1
    expect((await exchange(sandbox, { code: late })).body.error).toBe('invalid_grant')
  })

  test('with a field sent twice is refused', async () => {
    const sandbox = await start()
    const form = authorizeParameters({ grant_type: 'authorization_code' })
    form.append('grant_type', 'authorization_code')
    const answer = await postForm(sandbox, '/api/oauth/token', form)
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  })

  test('as JSON is refused', async () => {
    const sandbox = await start()
    const answer = await call(sandbox, undefined, 'POST', '/api/oauth/token', { grant_type: 'authorization_code' })
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  })
})

describe('the app proves who it is', () => {
  test('by HTTP Basic, percent-encoded', async () => {
    const sandbox = await start({ app: { clientId: 'app:1', clientSecret: 'säcret +/%:' } })
    const code = await freshCode(sandbox, { client_id: 'app:1' })
    const form = (text: string) => new URLSearchParams({ text }).toString().slice('text='.length)
    const answer = await exchange(sandbox, { code, ...inHeader }, basic(form('app:1'), form('säcret +/%:')))
    expect(answer.status).toBe(200)
  })

  test('by HTTP Basic with its id in the form as well', async () => {
    const sandbox = await start()
    const code = await freshCode(sandbox)
    const answer = await exchange(sandbox, { code, client_secret: undefined }, basic('app_sandbox', 'secret_sandbox'))
    expect(answer.status).toBe(200)
  })

  test('not by both ways at once', async () => {
    const sandbox = await start()
    const code = await freshCode(sandbox)
    const answer = await exchange(sandbox, { code }, basic('app_sandbox', 'secret_sandbox'))
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  })

  test('not by HTTP Basic with the id of another app in the form', async () => {
    const sandbox = await start()
    const fields = { code: await freshCode(sandbox), client_id: 'app_other', client_secret: undefined }
    const answer = await exchange(sandbox, fields, basic('app_sandbox', 'secret_sandbox'))
    expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
  })

  test.each([
    ['a wrong secret', basic('app_sandbox', 'wrong')],
    ['a wrong id', basic('app_other', 'secret_sandbox')],
    ['another scheme', { authorization: 'Bearer swot_1' }],
    ['text before the scheme', { authorization: `x${basic('app_sandbox', 'secret_sandbox').authorization}` }],
    ['text after the credentials', { authorization: `${basic('app_sandbox', 'secret_sandbox').authorization} x` }],
    ['a broken percent sign', basic('app_sandbox', '%')],
  ])('or fails by HTTP Basic with %s, and is told the scheme', async (_, headers) => {
    const sandbox = await start()
    const answer = await exchange(sandbox, { code: 'code_1', ...inHeader }, headers)
    expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /)
  })

  test.each([
    ['a wrong secret', { client_secret: 'wrong' }],
    ['no secret', { client_secret: undefined }],
    ['a wrong id', { client_id: 'app_other' }],
    ['nothing', inHeader],
  ])('or fails in the form with %s, and the code stays good', async (_, fields) => {
    const sandbox = await start()
    const code = await freshCode(sandbox)
    const answer = await exchange(sandbox, { code, ...fields })
    expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    expect(answer.headers.has('www-authenticate')).toBe(false)
    expect((await exchange(sandbox, { code })).status).toBe(200)
  })
})
