import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Sandbox } from '../../src/sandbox/index.ts'
import { authorizeParameters, call, exchange, freshCode, postForm, useSandboxes } from './helpers.ts'

const start = useSandboxes()

let sandbox: Sandbox

beforeEach(async () => {
  sandbox = await start()
})
const basic = (id: string, secret: string) => ({ authorization: `Basic ${btoa(`${id}:${secret}`)}` })
const { authorization: valid } = basic('app_sandbox', 'secret_sandbox')
const inHeader = { client_id: undefined, client_secret: undefined }

describe('a code exchange', () => {
  test.each([
    ['a wrong verifier', { code_verifier: 'x'.repeat(43) }],
    ['another redirect URI', { redirect_uri: 'http://127.0.0.1:3000/callback' }],
  ])('with %s fails and uses up the code', async (_, fields) => {
    const code = await freshCode(sandbox)
    const failed = await exchange(sandbox, { code, ...fields })
    expect(failed).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    expect(failed.headers.get('cache-control')).toBe('no-store')
    expect((await exchange(sandbox, { code })).body.error).toBe('invalid_grant')
    expect(sandbox.state.tokens).toBe(0)
  })

  test.each([
    ['42 characters', 400, 'x'.repeat(42)],
    ['43 characters', 200, 'x'.repeat(43)],
    ['128 characters', 200, 'x'.repeat(128)],
    ['each character that RFC 7636 allows', 200, 'azAZ09-._~'.repeat(5)],
    ['43 characters and a line break', 400, `${'x'.repeat(43)}\n`],
  ])('with a matching verifier of %s gets status %i', async (_, status, verifier) => {
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const code = await freshCode(sandbox, { code_challenge: challenge })
    const response = await exchange(sandbox, { code, code_verifier: verifier })
    expect(response.status).toBe(status)
    if (status === 400) expect(response.body.error).toBe('invalid_grant')
  })

  test.each(['grant_type', 'code', 'redirect_uri', 'code_verifier'])('without %s is rejected', async (name) => {
    const code = await freshCode(sandbox)
    const response = await exchange(sandbox, { code, [name]: undefined })
    expect(response).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    expect((await exchange(sandbox, { code })).status).toBe(200)
  })

  test('of a used code is rejected and revokes the first token', async () => {
    const code = await freshCode(sandbox)
    const { access_token } = (await exchange(sandbox, { code })).body
    expect((await exchange(sandbox, { code })).body.error).toBe('invalid_grant')
    expect((await call(sandbox, access_token, 'GET', '/api/oauth/v1/me')).status).toBe(401)
  })

  test('of an expired code is rejected', async () => {
    let now = 1_000_000
    const sandbox = await start({ now: () => now })
    const inTime = await freshCode(sandbox)
    const late = await freshCode(sandbox)
    now += 59_999
    expect((await exchange(sandbox, { code: inTime })).status).toBe(200)
    now += 1
    expect((await exchange(sandbox, { code: late })).body.error).toBe('invalid_grant')
  })

  test('with another grant type, an unknown code, a repeated field, and as JSON, is rejected', async () => {
    const unsupported = { status: 400, body: { error: 'unsupported_grant_type' } }
    expect(await exchange(sandbox, { code: 'code_1', grant_type: 'refresh_token' })).toMatchObject(unsupported)
    expect((await exchange(sandbox, { code: 'code_1' })).body.error).toBe('invalid_grant')
    const form = authorizeParameters({ grant_type: 'authorization_code' })
    form.append('grant_type', 'authorization_code')
    const invalid = { status: 400, body: { error: 'invalid_request' } }
    expect(await postForm(sandbox, '/api/oauth/token', form)).toMatchObject(invalid)
    const json = await call(sandbox, undefined, 'POST', '/api/oauth/token', { grant_type: 'authorization_code' })
    expect(json).toMatchObject(invalid)
  })
})

describe('client authentication', () => {
  test('accepts percent-encoded HTTP Basic credentials', async () => {
    const sandbox = await start({ app: { clientId: 'app:1', clientSecret: 'säcret +/%:' } })
    const code = await freshCode(sandbox, { client_id: 'app:1' })
    const form = (text: string) => new URLSearchParams({ text }).toString().slice('text='.length)
    const response = await exchange(sandbox, { code, ...inHeader }, basic(form('app:1'), form('säcret +/%:')))
    expect(response.status).toBe(200)
  })

  test.each([
    ['accepts HTTP Basic with the same client id in the form', { client_secret: undefined }, 200, undefined],
    ['rejects a secret in both places', {}, 400, 'invalid_request'],
    [
      'rejects Basic with another client id',
      { client_id: 'app_other', client_secret: undefined },
      401,
      'invalid_client',
    ],
  ])('%s', async (_, fields, status, error) => {
    const code = await freshCode(sandbox)
    const response = await exchange(sandbox, { code, ...fields }, basic('app_sandbox', 'secret_sandbox'))
    expect([response.status, response.body.error]).toEqual([status, error])
  })

  test.each([
    ['HTTP Basic with a wrong secret', inHeader, basic('app_sandbox', 'wrong')],
    ['HTTP Basic with a wrong id', inHeader, basic('app_other', 'secret_sandbox')],
    ['text before the scheme', inHeader, { authorization: `x${valid}` }],
    ['text after the credentials', inHeader, { authorization: `${valid} x` }],
    ['a form with a wrong secret', { client_secret: 'wrong' }, {}],
    ['a form with no secret', { client_secret: undefined }, {}],
    ['a form with a wrong id', { client_id: 'app_other' }, {}],
    ['a form with no credentials', inHeader, {}],
  ])('rejects %s, sends a challenge only for HTTP Basic, and keeps the code valid', async (_, fields, headers) => {
    const code = await freshCode(sandbox)
    const response = await exchange(sandbox, { code, ...fields }, headers)
    expect(response).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    const challenge = response.headers.get('www-authenticate')?.replace(/ .*/, '')
    expect(challenge).toBe('authorization' in headers ? 'Basic' : undefined)
    expect((await exchange(sandbox, { code })).status).toBe(200)
  })
})
