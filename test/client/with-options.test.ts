import { describe, expect, test } from 'vitest'
import { AdaptiveRateLimiter, SupportWorkspace } from '../../src/index.ts'
import { json, makeClient, page, rejection, scripted } from '../helpers/client.ts'

const service = { baseUrl: 'https://api.test', accessToken: 't' }

describe('withOptions', () => {
  test('changes the given options and keeps the others', async () => {
    const fetch = scripted(json(page([])))
    const first = makeClient({ fetch, headers: { 'x-tenant': 'a' }, appInfo: { name: 'sync' } })
    await first.withOptions({ headers: { 'x-tenant': 'b' }, timeout: undefined }).contacts.list()
    await first.contacts.list()
    const sent = fetch.requests.map(({ headers }) => `${headers.get('x-tenant')} ${headers.get('user-agent')}`)
    expect(sent).toEqual([expect.stringMatching(/^b .* sync$/), expect.stringMatching(/^a .* sync$/)])
  })

  test('asks the same token source', async () => {
    const fetch = scripted(json(page([])))
    let asked = 0
    const source = { getAccessToken: () => `token-${++asked}` }
    const workspace = makeClient({ fetch, accessToken: source })
    await workspace.contacts.list()
    await workspace.withOptions({ maxRetries: 0 }).contacts.list()
    const sent = fetch.requests.map(({ headers }) => headers.get('authorization'))
    expect(sent).toEqual(['Bearer token-1', 'Bearer token-2'])
  })

  test('keeps actor, scopes and identity of a connected client', async () => {
    const me = { actor: 'app', scopes: ['contacts:read'] }
    const fetch = scripted(json(me), json({ error: 'insufficient_scope' }, 403))
    const connected = await SupportWorkspace.connect({ ...service, fetch })
    const derived = connected.withOptions({ maxRetries: 0 })
    expect([derived.actor, derived.identity]).toEqual(['app', me])
    await expect(derived.contacts.list()).rejects.toMatchObject({ granted: ['contacts:read'] })
    const writing = (derived as SupportWorkspace<'self'>).messages.create('c', { body_html: '' })
    expect(await rejection(writing)).toMatchObject({ name: 'ActorSelfRequiredError', outcome: 'not-sent' })
  })

  test('shares the rate limiter under the same key, unless another limiter or key is given', async () => {
    const keys: string[] = []
    class Recording extends AdaptiveRateLimiter {
      override acquire(...args: Parameters<AdaptiveRateLimiter['acquire']>) {
        keys.push(args[0])
        return super.acquire(...args)
      }
    }
    const [fetch, rateLimiter] = [scripted(json(page([]))), new Recording()]
    const workspace = makeClient({ fetch, rateLimiter, accessToken: () => 'token' })
    const derived = [{}, { rateLimitKey: 'other' }, { rateLimiter: new Recording() }, { rateLimiter }].map((changes) =>
      workspace.withOptions(changes),
    )
    const twice = workspace.withOptions({}).withOptions({ rateLimiter: new Recording() })
    for (const client of [workspace, ...derived, twice]) await client.contacts.list()
    expect(keys[1]).toBe(keys[0])
    expect(keys[2]).toBe('other')
    expect(keys[4]).toBe(keys[0])
    expect(new Set([keys[0], keys[3], keys[5]])).toHaveProperty('size', 3)
  })

  test('keeps options that the first ones inherited', async () => {
    const fetch = scripted(json({}, 503))
    const options = Object.assign(Object.create({ fetch, maxRetries: 0 }), service)
    await expect(new SupportWorkspace(options).withOptions({ timeout: 50 }).contacts.list()).rejects.toThrow('503')
    expect(fetch.requests).toHaveLength(1)
  })

  test('works on a subclass with its own constructor', async () => {
    const fetch = scripted(json(page([])))
    class Own extends SupportWorkspace {
      constructor(accessToken: string) {
        super({ ...service, accessToken, fetch })
      }
    }
    await new Own('t').withOptions({ maxRetries: 0 }).contacts.list()
    expect(fetch.requests).toHaveLength(1)
  })

  test.each([
    [{ baseUrl: 'https://other.test' }, 'baseUrl'],
    [{ accessToken: 'other' }, 'accessToken'],
    [{ actor: 'app' }, 'actor'],
    [{ guard: undefined }, 'guard'],
    [{ guard: 5 }, 'guard'],
    [{ background: true }, 'background'],
    [{ background: 'x' }, 'background'],
    [{ timeOut: 1 }, 'timeOut'],
    [{ timeout: -1 }, 'timeout'],
    [null, 'options'],
  ])('%j is rejected', (options, argument) => {
    expect(() => makeClient().withOptions(options as never)).toThrow(expect.objectContaining({ argument }))
  })
})
