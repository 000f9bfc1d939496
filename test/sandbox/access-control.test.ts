import { InvalidArgumentError } from 'support-workspace-sdk'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Sandbox, TokenOptions } from '../../src/sandbox/index.ts'
import { call, useSandboxes } from './helpers.ts'

const start = useSandboxes()
const me = '/api/oauth/v1/me'

let sandbox: Sandbox

beforeEach(async () => {
  sandbox = await start()
})

/** Posts a body with this content type. */
async function send(token: string | undefined, path: string, type: string | undefined, body: string) {
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(type !== undefined && { 'content-type': type }),
  }
  const init = { method: 'POST', headers, body: new TextEncoder().encode(body) }
  const response = await fetch(`${sandbox.url}${path}`, init)
  return { status: response.status, body: (await response.json()) as { error: string } }
}

describe('authentication', () => {
  test.each([
    ['no token', () => undefined],
    ['an unknown token', () => 'Bearer swot_unknown'],
    ['another scheme', () => 'Basic YTpi'],
    ['text before the scheme', (token: string) => `xBearer ${token}`],
    ['text after the token', (token: string) => `Bearer ${token} extra`],
    ['another scheme before it', (token: string) => `Basic YTpi, Bearer ${token}`],
  ])('rejects %s with a 401 and a challenge', async (_, header) => {
    const authorization = header(sandbox.issueToken())
    const response = await fetch(`${sandbox.url}${me}`, {
      headers: authorization === undefined ? {} : { authorization },
    })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
    expect(await response.json()).toEqual({ error: 'invalid_token', error_description: expect.any(String) })
  })

  test('rejects the token of an archived or removed member', async () => {
    const owner = sandbox.issueToken({ actor: 'self' })
    for (const [role, method] of [
      ['agent', 'PATCH'],
      ['moderator', 'DELETE'],
    ] as const) {
      const token = sandbox.issueToken({ actor: 'self', role })
      const id = sandbox.state.members.find((member) => member.role === role)?.id
      await call(sandbox, owner, method, `/api/oauth/v1/users/${id}`, { archived: true })
      expect((await call(sandbox, token, 'GET', me)).status).toBe(401)
    }
  })

  test('limits a token to its own organization', async () => {
    const [home, other] = sandbox.state.organizations
    const token = sandbox.issueToken({ organization: other?.id ?? '' })
    expect((await call(sandbox, token, 'GET', '/api/oauth/v1/organization')).body.data.id).toBe(other?.id)
    const elsewhere = sandbox.state.of(home?.id ?? '').conversations[0]?.id
    expect((await call(sandbox, token, 'GET', `/api/oauth/v1/conversations/${elsewhere}`)).status).toBe(404)
  })

  test.each<[string, TokenOptions, string]>([
    ['scope', { scopes: ['all'] }, 'each one of conversations:read, conversations:write,'],
    ['organization', { organization: 'org_none' }, 'no organization "org_none". Use one of: org_juniper-supplies,'],
    ['role', { actor: 'self', role: 'agent' }, 'no member with the role agent. Use one of: admin.'],
    ['member', { actor: 'self', member: 'mem_1' }, 'membership id "mem_1". Use an id from `sandbox.state.members`.'],
    ['member of an app token', { member: 'mem_1' }, 'no member with the membership id "mem_1".'],
  ])('issueToken rejects an unknown %s and names the valid ones', async (_, options, message) => {
    const sandbox = await start({ members: 1 })
    expect(() => sandbox.issueToken(options)).toThrow(InvalidArgumentError)
    expect(() => sandbox.issueToken(options)).toThrow(message)
  })
})

test('limits a self token to the scopes of the person’s current role', async () => {
  const second = sandbox.state.members.filter(({ role }) => role === 'admin')[1]?.id ?? ''
  const token = sandbox.issueToken({ actor: 'self', member: second })
  const owner = sandbox.issueToken({ actor: 'self' })
  expect((await call(sandbox, token, 'GET', me)).body.scopes).toContain('users:write')
  await call(sandbox, owner, 'PATCH', `/api/oauth/v1/users/${second}`, { role: 'agent' })
  const scopes = (await call(sandbox, token, 'GET', me)).body.scopes
  expect(scopes).toContain('users:read')
  expect(scopes).not.toContain('users:write')
  expect(scopes).not.toContain('organization:write')
  const refused = await call(sandbox, token, 'POST', '/api/oauth/v1/users', { email: 'kim@team.example' })
  expect(refused).toMatchObject({ status: 403, body: { error: 'insufficient_scope' } })
})

test('checks token, scope, actor, resource and body, in this order', async () => {
  const pathOf = (id: string | undefined) => `/api/oauth/v1/conversations/${id}/messages`
  const self = sandbox.issueToken({ actor: 'self' })
  const refused = async (token: string | undefined, path = pathOf('cnv_none')) => {
    const { status, body } = await send(token, path, 'application/json', 'not json')
    return [status, body.error]
  }
  expect(await refused(undefined)).toEqual([401, 'invalid_token'])
  expect(await refused(sandbox.issueToken({ scopes: [] }))).toEqual([403, 'insufficient_scope'])
  expect(await refused(sandbox.issueToken())).toEqual([422, 'actor_self_required'])
  expect(await refused(self)).toEqual([404, 'not_found'])
  expect(await refused(self, pathOf(sandbox.state.conversations[0]?.id))).toEqual([400, 'invalid_request'])
})

describe('an invalid request', () => {
  test('gets a 405 with the supported methods', async () => {
    const response = await call(sandbox, undefined, 'DELETE', '/api/oauth/v1/conversations')
    expect(response).toMatchObject({ status: 405, body: { error: 'method_not_allowed' } })
    expect(response.headers.get('allow')).toBe('GET, POST')
  })

  test.each([
    ['another content type', 'text/plain', '{"body_html":"x"}'],
    ['no content type', undefined, '{"body_html":"x"}'],
    ['broken JSON', 'application/json', '{'],
    ['JSON that is not an object', 'application/json; charset=utf-8', '["x"]'],
    ['an empty body', 'application/json', ''],
  ])('gets a 400 for %s', async (_, type, body) => {
    const path = `/api/oauth/v1/conversations/${sandbox.state.conversations[0]?.id}/notes`
    const response = await send(sandbox.issueToken({ actor: 'self' }), path, type, body)
    expect(response).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    expect(sandbox.state.writes).toEqual([])
  })
})
