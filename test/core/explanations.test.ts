import { afterEach, describe, expect, test, vi } from 'vitest'
import { json, page, refusal, rejection, token } from '../helpers/client.ts'

afterEach(() => {
  vi.doUnmock('../../src/core/explain-response.ts')
  // The module of a mock that never ends would stay.
  vi.resetModules()
})

const missing = 'The file of this package that explains it could not be loaded'

const gone = (): Promise<object> => Promise.reject(new Error('404'))

/** Makes a client of a package without the file that explains responses, as after a deployment that has replaced it. */
async function clientWithout(fetch: () => Promise<Response>, changes: object = {}, load = gone) {
  vi.resetModules()
  vi.doMock('../../src/core/explain-response.ts', load)
  const { SupportWorkspace } = await import('support-workspace-sdk')
  return new SupportWorkspace({ baseUrl: 'https://api.test', accessToken: token, fetch, ...changes })
}

test('a response that succeeds does not load the explanations', async () => {
  const load = vi.fn(() => vi.importActual<object>('../../src/core/explain-response.ts'))
  vi.resetModules()
  vi.doMock('../../src/core/explain-response.ts', load)
  const { SupportWorkspace } = await import('support-workspace-sdk')
  const fetch = vi.fn(async () => json(page([])))
  const workspace = new SupportWorkspace({ baseUrl: 'https://api.test', accessToken: token, fetch, maxRetries: 0 })
  await workspace.contacts.list()
  expect(load).not.toHaveBeenCalled()
  fetch.mockResolvedValue(refusal(404, 'not_found'))
  await rejection(workspace.contacts.list())
  expect(load).toHaveBeenCalledTimes(1)
})

test.each([
  [403, 'insufficient_scope', 'InsufficientScopeError', 'reconnect'],
  [404, 'not_found', 'NotFoundError', 'fix'],
  [429, 'slow_down', 'RateLimitError', 'retry'],
])('without them, the error of %i %s keeps its class, code and remedy', async (status, code, name, remedy) => {
  const client = await clientWithout(async () => refusal(status, code), { maxRetries: 0 })
  const error = await rejection(client.contacts.list())
  expect(error).toMatchObject({ name, status, code, remedy, hint: expect.stringContaining(missing) })
})

test('without them, a 503 is retried, and a rejected token is reported', async () => {
  const onInvalidToken = vi.fn()
  const fetch = vi.fn(async () => refusal(401, 'invalid_token'))
  fetch.mockResolvedValueOnce(new Response('', { status: 503 }))
  const accessToken = { getAccessToken: () => token, onInvalidToken }
  expect(await rejection((await clientWithout(fetch, { accessToken })).me())).toMatchObject({ status: 401 })
  expect(fetch).toHaveBeenCalledTimes(2)
  expect(onInvalidToken).toHaveBeenCalledWith(token)
})

test('without them, a response that cannot be used says why', async () => {
  const client = await clientWithout(async () => new Response('<html>'), { maxRetries: 0 })
  expect(await rejection(client.me())).toMatchObject({
    reason: 'not-json',
    message: expect.stringMatching(`the body is not JSON but HTML. Read the message. ${missing}`),
  })
})

describe('while they do not arrive', () => {
  const never = () => new Promise<object>(() => {})

  test.each([
    [403, 'insufficient_scope', 'InsufficientScopeError', 'reconnect'],
    [422, 'actor_self_required', 'ActorSelfRequiredError', 'fix'],
  ])('the error of %i %s is the same after the timeout of the first call', async (status, code, name, remedy) => {
    const client = await clientWithout(async () => refusal(status, code), { maxRetries: 0 }, never)
    for (const timeout of [30, 60_000]) {
      expect(await rejection(client.contacts.list({}, { timeout }))).toMatchObject({ name, status, code, remedy })
    }
  })

  test('a response that cannot be used says so', async () => {
    const client = await clientWithout(async () => new Response('1'), { maxRetries: 0 }, never)
    expect(await rejection(client.me({ timeout: 30 }))).toMatchObject({
      name: 'UnexpectedResponseError',
      remedy: 'fix',
    })
  })
})

test('a refusal stays one if they fail', async () => {
  const broken = () => {
    throw new Error('broken')
  }
  const client = await clientWithout(
    async () => refusal(422, 'other'),
    {},
    async () => ({ explainRefusal: broken }),
  )
  expect(await rejection(client.contacts.create({ email: 'a@b.example' }))).toMatchObject({ outcome: 'refused' })
})
