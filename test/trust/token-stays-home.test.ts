import { UnexpectedResponseError } from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import { json, makeClient, rejection, scripted, token } from '../helpers/client.ts'
import { closedPort, respond, respondJson, startRawServer } from '../helpers/raw-server.ts'

/** A server that would take the token, and one that sends there. */
async function startPair(location: (home: string, evil: string) => string, status: number) {
  const evil = await startRawServer({ onRequest: (request) => respondJson(request, { data: [] }) })
  const home = await startRawServer({
    onRequest(request) {
      respond(request, { status, headers: { location: location(home.url, evil.url) }, body: '{"data":[]}' })
    },
  })
  return {
    evil,
    home,
    async [Symbol.asyncDispose]() {
      await Promise.all([evil.close(), home.close()])
    },
  }
}

const statuses = [301, 302, 303, 307, 308]

describe('a redirect', () => {
  test.each(statuses)('with %i to another origin is refused, and that origin hears nothing', async (status) => {
    await using pair = await startPair((_, evil) => `${evil}/api`, status)
    const { evil, home } = pair
    const client = makeClient({ baseUrl: home.url })
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
    expect(home.requests).toHaveLength(6)
    expect(evil.connections).toBe(0)
  })

  test.each(statuses)('with %i on the same origin is refused too', async (status) => {
    await using pair = await startPair((home) => `${home}/elsewhere`, status)
    expect(await rejection(makeClient({ baseUrl: pair.home.url }).me())).toMatchObject({ reason: 'redirect' })
    expect(pair.home.requests).toHaveLength(1)
  })

  test.each([
    ['without a location', {}],
    ['to nowhere', { location: '::::' }],
    ['in a loop', { location: '/api/oauth/v1/me' }],
  ])('%s is refused', async (_, headers) => {
    await using home = await startRawServer({ onRequest: (request) => respond(request, { status: 302, headers }) })
    expect(await rejection(makeClient({ baseUrl: home.url }).me())).toMatchObject({ reason: 'redirect' })
    expect(home.requests).toHaveLength(1)
  })

  test('that a browser hides, or that a fetch of your own has followed, is refused', async () => {
    const hidden = Object.defineProperties(new Response(), { type: { value: 'opaqueredirect' }, status: { value: 0 } })
    const followed = Object.defineProperty(json({ data: { id: '1' } }), 'redirected', { value: true })
    for (const response of [hidden, followed]) {
      const client = makeClient({ fetch: scripted(() => response) })
      expect(await rejection(client.members.get('1'))).toMatchObject({ reason: 'redirect' })
    }
  })
})

describe('whatever the service sends', () => {
  test('never names an address that is asked: cursors that are addresses are only cursors', async () => {
    await using evil = await startRawServer({})
    const cursors = [`${evil.url}/x`, '//evil.test', '/../..', `@127.0.0.1:${evil.port}`]
    await using home = await startRawServer({
      onRequest(request) {
        const after = cursors[request.number - 1]
        respondJson(
          request,
          { data: [], page_metadata: { after, next: `${evil.url}/next` } },
          { headers: { link: `<${evil.url}>; rel=next` } },
        )
      },
    })
    await makeClient({ baseUrl: home.url }).conversations.list().toArray()
    expect(home.requests).toHaveLength(cursors.length + 1)
    for (const { target } of home.requests) expect(target).toMatch(/^\/api\/oauth\/v1\/conversations(\?after=[^&]*)?$/)
    expect(evil.connections).toBe(0)
  })
})

describe('ids from outside', () => {
  test('reach the home server only, below the path of their operation', async () => {
    await using evil = await startRawServer({})
    await using home = await startRawServer({ onRequest: (request) => respondJson(request, { data: { id: '1' } }) })
    const client = makeClient({ baseUrl: `${home.url}/prefix` })
    const host = `127.0.0.1:${evil.port}`
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
    expect(home.requests).toHaveLength(ids.length)
    for (const { target } of home.requests) expect(target).toMatch(/^\/prefix\/api\/oauth\/v1\/users\/[^/?#\\]+$/)
    expect(evil.connections).toBe(0)
  })
})

describe('the token', () => {
  test('goes in one header of each request, and nowhere else', async () => {
    await using home = await startRawServer({ onRequest: (request) => respondJson(request, { data: { id: '1' } }) })
    const client = makeClient({ baseUrl: home.url, headers: { 'x-app': 'mine' } })
    await client.messages.create('c1', { body_html: 'x' })
    const [request] = home.requests
    const { authorization, ...others } = request?.headers ?? {}
    expect(authorization).toBe(`Bearer ${token}`)
    expect(JSON.stringify([request?.target, request?.body, others])).not.toContain(token)
  })

  test('reaches nobody when the home server is gone', async () => {
    const error = await rejection(makeClient({ baseUrl: `http://localhost:${await closedPort()}`, maxRetries: 0 }).me())
    expect(error).toMatchObject({ name: 'NetworkError', outcome: 'not-sent' })
    expect(String(error)).toMatch(/received no response: .*ECONNREFUSED/)
  })
})
