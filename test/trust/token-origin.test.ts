import { UnexpectedResponseError } from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import { json, makeClient, rejection, scripted, token } from '../helpers/client.ts'
import { closedPort, respond, respondJson, startRawServer } from '../helpers/raw-server.ts'

/** Starts an API server that redirects, and another server that must not receive the token. */
async function startPair(location: (api: string, other: string) => string, status: number) {
  const other = await startRawServer({ onRequest: (request) => respondJson(request, { data: [] }) })
  const api = await startRawServer({
    onRequest(request) {
      respond(request, { status, headers: { location: location(api.url, other.url) }, body: '{"data":[]}' })
    },
  })
  return {
    other,
    api,
    async [Symbol.asyncDispose]() {
      await Promise.all([other.close(), api.close()])
    },
  }
}

const statuses = [301, 302, 303, 307, 308]

describe('a redirect', () => {
  test.each(statuses)('with %i to another origin is rejected, and that origin receives nothing', async (status) => {
    await using pair = await startPair((_, other) => `${other}/api`, status)
    const { other, api } = pair
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

  test.each(statuses)('with %i on the same origin is rejected too', async (status) => {
    await using pair = await startPair((api) => `${api}/elsewhere`, status)
    expect(await rejection(makeClient({ baseUrl: pair.api.url }).me())).toMatchObject({ reason: 'redirect' })
    expect(pair.api.requests).toHaveLength(1)
  })

  test.each([
    ['without a location', {}],
    ['to an invalid address', { location: '::::' }],
    ['in a loop', { location: '/api/oauth/v1/me' }],
  ])('%s is rejected', async (_, headers) => {
    await using api = await startRawServer({ onRequest: (request) => respond(request, { status: 302, headers }) })
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

describe('data from the service', () => {
  test('never decides where a request goes, even when cursors and links are URLs', async () => {
    await using other = await startRawServer({})
    const cursors = [`${other.url}/x`, '//evil.test', '/../..', `@127.0.0.1:${other.port}`]
    await using api = await startRawServer({
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
})

describe('untrusted ids', () => {
  test('reach only the API server, below the path of their operation', async () => {
    await using other = await startRawServer({})
    await using api = await startRawServer({ onRequest: (request) => respondJson(request, { data: { id: '1' } }) })
    const client = makeClient({ baseUrl: `${api.url}/prefix` })
    const host = `127.0.0.1:${other.port}`
    const ids = [
      `//${host}`,
      `/\\${host}`,
      `http://${host}`,
      `@${host}`,
      `\t//${host}`,
      `..\n`,
      '../../x',
      '%2e%2e',
      '.%00',
      '?x',
      '#x',
    ]
    for (const id of ids) await client.members.get(id)
    expect(api.requests).toHaveLength(ids.length)
    for (const { target } of api.requests) expect(target).toMatch(/^\/prefix\/api\/oauth\/v1\/users\/[^/?#\\]+$/)
    expect(other.connections).toBe(0)
  })
})

describe('the token', () => {
  test('is sent in one header of each request and nowhere else', async () => {
    await using api = await startRawServer({ onRequest: (request) => respondJson(request, { data: { id: '1' } }) })
    const client = makeClient({ baseUrl: api.url, headers: { 'x-app': 'mine' } })
    await client.messages.create('c1', { body_html: 'x' })
    const [request] = api.requests
    const { authorization, ...others } = request?.headers ?? {}
    expect(authorization).toBe(`Bearer ${token}`)
    expect(JSON.stringify([request?.target, request?.body, others])).not.toContain(token)
  })

  test('is not sent when the server is down', async () => {
    const error = await rejection(makeClient({ baseUrl: `http://localhost:${await closedPort()}`, maxRetries: 0 }).me())
    expect(error).toMatchObject({ name: 'NetworkError', outcome: 'not-sent' })
    expect(String(error)).toMatch(/received no response: .*ECONNREFUSED/)
  })
})
