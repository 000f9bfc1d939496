import { SupportWorkspace, UnexpectedResponseError } from 'support-workspace-sdk'
import { describe, expect, it } from 'vitest'
import { json, refusal, rejection, scripted, token } from './helpers/client.ts'

const connect = (...steps: Parameters<typeof scripted>) => {
  const fetch = scripted(...steps)
  return {
    fetch,
    workspace: SupportWorkspace.connect({ baseUrl: 'https://api.test', accessToken: token, fetch, maxRetries: 0 }),
  }
}

describe('connect', () => {
  it.each(['app', 'self'] as const)(
    'asks once what the token is, and gives a client that acts as %s',
    async (actor) => {
      const { fetch, workspace } = connect(json({ actor, scopes: ['contacts:read'] }))
      expect((await workspace).actor).toBe(actor)
      expect(fetch.requests.map(({ url }) => url)).toEqual(['https://api.test/api/oauth/v1/me'])
    },
  )

  it('gives a client that knows the scopes of the token', async () => {
    const { workspace } = connect(json({ actor: 'app', scopes: ['contacts:read'] }), refusal(403, 'insufficient_scope'))
    const error = await rejection((await workspace).conversations.list())
    expect(error).toMatchObject({ granted: ['contacts:read'], missing: ['conversations:read'] })
  })

  it.each([{}, { actor: null }, { actor: 'robot' }])('fails when the service says %j', async (me) => {
    const error = await rejection(connect(json(me)).workspace)
    expect(error).toBeInstanceOf(UnexpectedResponseError)
    expect(error).toMatchObject({ operation: 'me', reason: 'envelope', hint: expect.stringContaining('actor') })
  })

  it('fails as the call fails', async () => {
    expect(await rejection(connect(refusal(401, 'invalid_token')).workspace)).toMatchObject({
      name: 'AuthenticationError',
    })
  })
})
