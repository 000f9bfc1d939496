import { UnexpectedResponseError } from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import { json, makeClient, rejection, scripted } from '../helpers/client.ts'
import { respond, respondJson, startRawServer } from '../helpers/raw-server.ts'

const statuses = [301, 302, 303, 307, 308]

describe('a redirect', () => {
  test.each(statuses)('with %i to another origin is rejected, and that origin receives nothing', async (status) => {
    const other = await startRawServer({})
    const api = await startRawServer({
      onRequest: (request) => respond(request, { status, headers: { location: `${other.url}/api` } }),
    })
    const client = makeClient({ baseUrl: api.url })
    for (const call of [
      () => client.me(),
      () => client.conversations.list(),
      () => client.conversations.list().toArray(),
      () => client.messages.create('c1', { body_html: 'x' }),
      () => client.messages.delete('c1', 'm1'),
      () => client.request('GET', '/x'),
    ]) {
      const error = await rejection(call())
      expect(error).toBeInstanceOf(UnexpectedResponseError)
      expect(error).toMatchObject({ reason: 'redirect', status, hint: expect.stringContaining('baseUrl') })
      expect(String(error)).toContain('it redirects')
    }
    expect(api.requests).toHaveLength(6)
    expect(other.connections).toBe(0)
  })

  test.each([
    ['on the same origin', { location: '/elsewhere' }],
    ['without a location', {}],
    ['to an invalid address', { location: '::::' }],
    ['in a loop', { location: '/api/oauth/v1/me' }],
  ])('%s is rejected', async (_, headers) => {
    const api = await startRawServer({ onRequest: (request) => respond(request, { status: 302, headers }) })
    expect(await rejection(makeClient({ baseUrl: api.url }).me())).toMatchObject({ reason: 'redirect' })
    expect(api.requests).toHaveLength(1)
  })

  test('that a browser hides or a custom fetch has followed is rejected', async () => {
    const hidden = Object.defineProperties(new Response(), { type: { value: 'opaqueredirect' }, status: { value: 0 } })
    const followed = Object.defineProperty(json({ data: { id: '1' } }), 'redirected', { value: true })
    for (const response of [hidden, followed]) {
      const client = makeClient({ fetch: scripted(() => response) })
      expect(await rejection(client.members.get('1'))).toMatchObject({ reason: 'redirect' })
    }
  })
})

test('data from the service never decides where a request goes, even when cursors and links are URLs', async () => {
  const other = await startRawServer({})
  const cursors = [`${other.url}/x`, '//evil.test', '/../..', `@127.0.0.1:${other.port}`]
  const api = await startRawServer({
    onRequest(request) {
      const after = cursors[request.number - 1]
      respondJson(
        request,
        { data: [], page_metadata: { after, next: `${other.url}/next` } },
        { headers: { link: `<${other.url}>; rel=next` } },
      )
    },
  })
  await makeClient({ baseUrl: api.url }).conversations.list().toArray()
  expect(api.requests).toHaveLength(cursors.length + 1)
  for (const { target } of api.requests) expect(target).toMatch(/^\/api\/oauth\/v1\/conversations(\?after=[^&]*)?$/)
  expect(other.connections).toBe(0)
})
