import { InvalidArgumentError, type RequestError, type SupportWorkspace } from 'support-workspace-sdk'
import { ConnectionStore, ConnectionStoreError, memoryStorage, OAuthApp } from 'support-workspace-sdk/oauth'
import { expect, test } from 'vitest'
import {
  brokenConnection,
  json,
  makeClient,
  page,
  refusal,
  refusedConnection,
  rejection,
  type Step,
  scripted,
  scriptedPlatform,
} from '../helpers/client.ts'

const read = ({ contacts }: SupportWorkspace) => contacts.get('c')
const write = ({ contacts }: SupportWorkspace) => contacts.update('c', { blocked: true })
const remove = ({ members }: SupportWorkspace) => members.remove('m')

test.each<[string, Step, [read: string, write: string, remove: string]]>([
  ['a connection that was never opened', refusedConnection(), ['retry', 'retry', 'retry']],
  ['a connection that broke', brokenConnection(), ['retry', 'verify', 'retry']],
  ['a 500', refusal(500, 'x'), ['retry', 'verify', 'retry']],
  ['a 503', refusal(503, 'x', { 'retry-after': '7' }), ['retry', 'verify', 'retry']],
  ['a 408', refusal(408, 'x'), ['retry', 'verify', 'retry']],
  ['a 429', refusal(429, 'x'), ['retry', 'retry', 'retry']],
  ['a revoked token', refusal(401, 'invalid_token'), ['reconnect', 'reconnect', 'reconnect']],
  ['a missing scope', refusal(403, 'insufficient_scope'), ['reconnect', 'reconnect', 'reconnect']],
  ['a missing permission', refusal(403, 'forbidden'), ['fix', 'fix', 'fix']],
  ['a 404', refusal(404, 'x'), ['fix', 'fix', 'fix']],
  ['a 422', refusal(422, 'actor_self_required'), ['fix', 'fix', 'fix']],
  ['a page of HTML', new Response('<p>Hi</p>'), ['retry', 'verify', 'retry']],
])('after %s, the remedy fits a read, a write and a DELETE', async (_, step, expected) => {
  const remedies = []
  for (const call of [read, write, remove]) {
    scriptedPlatform(step)
    remedies.push(((await rejection(call(makeClient({ maxRetries: 0 })))) as RequestError).remedy)
  }
  expect(remedies).toEqual(expected)
})

test('a response in another shape is to be fixed, unless a write may have been applied', async () => {
  const client = makeClient({ fetch: scripted(json({ items: [] })) })
  expect(await rejection(read(client))).toMatchObject({ reason: 'envelope', remedy: 'fix' })
  expect(await rejection(write(client))).toMatchObject({ reason: 'envelope', remedy: 'verify' })
})

test('a timeout is retried, unless a write may have been applied', async () => {
  const fetch = () => new Promise<never>(() => {})
  const client = makeClient({ fetch, timeout: 1, maxRetries: 0 })
  expect(await rejection(client.me())).toMatchObject({ name: 'TimeoutError', remedy: 'retry' })
  expect(await rejection(write(client))).toMatchObject({ name: 'TimeoutError', remedy: 'verify' })
})

test('a bug in a custom fetch is to be fixed', async () => {
  const fetch = async () => {
    throw new ReferenceError('nope')
  }
  expect(await rejection(makeClient({ fetch }).me())).toMatchObject({ name: 'NetworkError', remedy: 'fix' })
})

test('a call that was not sent because of a rate limit is retried after `retryAfter` seconds', async () => {
  const client = makeClient({ fetch: scripted(refusal(429, 'x', { 'retry-after': '9' })), maxRetries: 0 })
  await rejection(client.me())
  expect(await rejection(client.me())).toMatchObject({ outcome: 'not-sent', remedy: 'retry', retryAfter: 9 })
})

test('an invalid argument, a refused actor and a repeated cursor are to be fixed', async () => {
  const client = makeClient({ fetch: scripted(json(page([{ id: 'c' }], 'same'))), actor: 'app' })
  const invalid = await rejection(client.contacts.get(''))
  expect(invalid).toBeInstanceOf(InvalidArgumentError)
  expect(invalid).toHaveProperty('remedy', 'fix')
  const author = client as unknown as SupportWorkspace<'self'>
  expect(await rejection(author.contacts.create({ email: 'a@b.c' }))).toMatchObject({ remedy: 'fix' })
  expect(await rejection(client.contacts.list().toArray())).toMatchObject({ name: 'PaginationError', remedy: 'fix' })
})

test('a connection that does not exist is reconnected, and a storage that fails is retried', async () => {
  const baseUrl = 'https://api.test'
  const error = await rejection(new ConnectionStore({ baseUrl }).workspace('app.application.organization'))
  expect(error).toBeInstanceOf(ConnectionStoreError)
  expect(error).toMatchObject({ reason: 'not_connected', remedy: 'reconnect' })
  const down = async () => {
    throw new Error('down')
  }
  const storage = { ...memoryStorage(), get: down }
  const failing = await rejection(new ConnectionStore({ baseUrl, storage }).get('app.application.organization'))
  expect(failing).toMatchObject({ reason: 'storage_failed', remedy: 'retry' })
})

test('a token that was not saved has the remedy of the call that failed', async () => {
  const client = { fetch: scripted(refusal(401, 'invalid_token')) }
  const store = new ConnectionStore({ baseUrl: 'https://api.test', client })
  const error = await rejection(store.save('swot_token_of_nobody'))
  expect(error).toMatchObject({ name: 'ConnectionNotSavedError', reason: 'me_failed', remedy: 'reconnect' })
})

test('the remedy is in the JSON of an error', async () => {
  const error = (await rejection(makeClient({ fetch: scripted(refusal(404, 'x')) }).me())) as RequestError
  expect(error.toJSON()).toMatchObject({ remedy: 'fix' })
})

test('a login is started again, unless the app is set up wrongly', async () => {
  const app = new OAuthApp({
    baseUrl: 'https://api.test',
    clientId: 'app',
    clientSecret: 'a secret of the app',
    redirectUri: 'https://app.test/callback',
  })
  const { transaction } = await app.startLogin({ scope: ['contacts:read'], actor: 'app' })
  const denied = await rejection(app.finishLogin('https://app.test/callback?error=access_denied&state=x', transaction))
  expect(denied).toMatchObject({ name: 'LoginError', remedy: 'reconnect' })
  const elsewhere = await rejection(app.finishLogin('https://other.test/callback?code=c&state=x', transaction))
  expect(elsewhere).toMatchObject({ reason: 'redirect_uri_mismatch', remedy: 'fix' })
})
