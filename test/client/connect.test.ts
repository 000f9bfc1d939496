import { inspect } from 'node:util'
import {
  AuthenticationError,
  InvalidArgumentError,
  SupportWorkspace,
  UnexpectedResponseError,
} from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import { json, makeClient, refusal, rejection, scripted, token } from '../helpers/client.ts'

const connect = (...steps: Parameters<typeof scripted>) => {
  const fetch = scripted(...steps)
  return {
    fetch,
    workspace: SupportWorkspace.connect({ baseUrl: 'https://api.test', accessToken: token, fetch, maxRetries: 0 }),
  }
}

describe('connect', () => {
  test.each(['app', 'self'] as const)('calls /me once and returns a client with actor `%s`', async (actor) => {
    const { fetch, workspace } = connect(json({ actor, scopes: ['contacts:read'] }))
    expect((await workspace).actor).toBe(actor)
    expect(fetch.requests.map(({ url }) => url)).toEqual(['https://api.test/api/oauth/v1/me'])
  })

  test.each([
    ['a list', ['contacts:read', 'users:read']],
    ['a text with commas', 'contacts:read,users:read'],
  ])('returns a client that knows the scopes of the token, which are %s', async (_title, scopes) => {
    const { workspace } = connect(json({ actor: 'app', scopes }), refusal(403, 'insufficient_scope'))
    const error = await rejection((await workspace).conversations.list())
    expect(error).toMatchObject({ granted: ['contacts:read', 'users:read'], missing: ['conversations:read'] })
  })

  test.each([{}, { actor: null }, { actor: 'robot' }])('rejects when /me returns %j', async (me) => {
    const error = await rejection(connect(json(me)).workspace)
    expect(error).toBeInstanceOf(UnexpectedResponseError)
    expect(error).toMatchObject({ operation: 'me', reason: 'envelope', hint: expect.stringContaining('actor') })
  })

  test('rejects with the error of /me', async () => {
    expect(await rejection(connect(refusal(401, 'invalid_token')).workspace)).toBeInstanceOf(AuthenticationError)
  })

  test('keeps what /me returned as the identity of the client', async () => {
    const me = { actor: 'self', user: { id: 'u1', name: 'Ada' }, scopes: [], brand_new: true }
    const { fetch, workspace } = connect(json(me))
    expect((await workspace).identity).toEqual(me)
    expect((await workspace).identity.user?.name).toBe('Ada')
    expect(fetch.requests).toHaveLength(1)
    expect(makeClient().identity).toBeUndefined()
  })

  test.each([undefined, null, 'x', {}])('rejects options of %j without throwing', async (options) => {
    const connecting = SupportWorkspace.connect(options as never)
    expect(await rejection(connecting)).toBeInstanceOf(InvalidArgumentError)
  })
})

test('a client is printed as SupportWorkspace', () => {
  expect(inspect(makeClient())).toMatch(/^SupportWorkspace \{/)
  expect(String(makeClient())).toBe('[object SupportWorkspace]')
  // A bundler renames a class that refers to itself, which would print the client as `_SupportWorkspace`.
  expect(String(SupportWorkspace)).not.toContain('new SupportWorkspace(')
})
