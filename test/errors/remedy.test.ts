import type { SupportWorkspace } from 'support-workspace-sdk'
import { ConnectionStore, ConnectionStoreError, memoryStorage } from 'support-workspace-sdk/oauth'
import { expect, test } from 'vitest'
import { json, makeClient, refusal, rejection, scripted } from '../helpers/client.ts'

const read = ({ contacts }: SupportWorkspace) => contacts.get('c')
const write = ({ contacts }: SupportWorkspace) => contacts.update('c', { blocked: true })
test('a response in another shape is to be fixed, unless a write may have been applied', async () => {
  const client = makeClient({ fetch: scripted(json({ items: [] })) })
  expect(await rejection(read(client))).toMatchObject({ reason: 'envelope', remedy: 'fix' })
  expect(await rejection(write(client))).toMatchObject({ reason: 'envelope', remedy: 'verify' })
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

test('a call whose connection is removed before its retry is reconnected, and nothing else is advised', async () => {
  const me = { actor: 'app', application: { id: 'a' }, organization: { id: 'o' } }
  const fetch = scripted(json(me), async () => {
    await store.remove('app.a.o')
    return refusal(503, 'down')
  })
  const store: ConnectionStore = new ConnectionStore({ baseUrl: 'https://api.test', client: { fetch } })
  await store.save('swot_token_of_ada')
  const error = await rejection((await store.workspace('app.a.o')).organization.get())
  expect(error).toMatchObject({
    remedy: 'reconnect',
    outcome: 'no-effect',
    hint: 'Log in again and save the new token.',
  })
  expect(String(error)).toMatch(/no access token: .+ was revoked\. Log in again and save the new token\.$/)
})

test('a token that was not saved has the remedy of the call that failed', async () => {
  const client = { fetch: scripted(refusal(401, 'invalid_token')) }
  const store = new ConnectionStore({ baseUrl: 'https://api.test', client })
  const error = await rejection(store.save('swot_token_of_nobody'))
  const hint = expect.stringMatching(/^Log in again for a new token\./)
  expect(error).toMatchObject({ name: 'ConnectionNotSavedError', reason: 'me_failed', remedy: 'reconnect', hint })
  expect(String(error)).toMatch(
    /^ConnectionNotSavedError: The connection was not saved: me failed with 401 .+[^.]\. Log in again for a new token\./,
  )
})
