import { InvalidArgumentError, SupportWorkspace } from 'support-workspace-sdk'
import { WriteJournal } from 'support-workspace-sdk/journal'
import { ConnectionStore, type KeyValueStorage, memoryStorage } from 'support-workspace-sdk/oauth'
import { describe, expect, test } from 'vitest'
import { operations } from '../../src/client/resources/built-in-operations.ts'
import { calls } from '../client/operations/calls.ts'
import { json, makeClient, page, refusal, rejection, scripted } from '../helpers/client.ts'
import { thrower } from '../helpers/failing-callbacks.ts'

/** Returns the line before the frames, and the names of the files in the frames. */
function readStack(error: unknown): { readonly title: string; readonly files: readonly string[] } {
  const [title = '', ...frames] = ((error as Error).stack ?? '').split(/\n(?= {4}at )/)
  return { title, files: frames.map((frame) => /([\w.-]+):\d+:\d+\)?$/.exec(frame)?.[1] ?? '') }
}

const ids = { conversation: 'c', message: 'm', contact: 'k', member: 'u', task: 't', segment: 's' }
const refused = makeClient({ fetch: scripted(refusal(403, 'forbidden')) })
const repeated = makeClient({ fetch: scripted(json(page([{ id: 'c' }], 'same'))) })
const unnamed = { baseUrl: 'https://api.test', accessToken: 't', fetch: scripted(json({ data: {} })) }

const loop = async (list: AsyncIterable<unknown>) => {
  for await (const _ of list);
}
const nested = async () => {
  const inner = async () => await refused.me()
  return await inner()
}

const broken = {
  get: thrower(new Error('down')),
  compareAndSet: () => false,
  list: thrower(new Error('down')),
} as unknown as KeyValueStorage
const journal = new WriteJournal({ workspace: refused, storage: broken })
const reply = (client: SupportWorkspace) => client.contacts.create({ email: 'ada@example.com' })
const store = new ConnectionStore({
  baseUrl: 'https://api.test',
  storage: broken,
  client: { fetch: scripted(refusal(403, 'forbidden')) },
})
const key = 'app.a.o'
const writeRefused = async () => {
  const me = { application: { id: 'a' }, organization: { id: 'o' }, actor: 'app' }
  const workspace = makeClient({ fetch: scripted(json(me), refusal(403, 'no')) })
  await new WriteJournal({ workspace, storage: memoryStorage() }).once('key', async (client) => await reply(client))
}
const verifyRefused = async () => {
  const me = { application: { id: 'a' }, organization: { id: 'o' }, actor: 'app' }
  const saved = new ConnectionStore({
    baseUrl: 'https://api.test',
    client: { fetch: scripted(json(me), refusal(403, 'no')) },
  })
  await saved.save('swot_token')
  await saved.verify(key)
}

describe('the stack of an error has the line of the caller', () => {
  test.each(operations.map(({ id }) => id))('%s, refused by the service', async (id) => {
    const { run, body } = calls[id]
    const error = await rejection(run(refused, ids, body as never))
    const title = `PermissionDeniedError: ${(error as Error).message}`
    expect(readStack(error)).toMatchObject({ title, files: expect.arrayContaining(['client.ts']) })
  })

  test.each<[shape: string, call: () => unknown]>([
    ['an invalid id', async () => await refused.messages.create(undefined as never, { body_html: '' })],
    ['an invalid body, checked by a schema', async () => await refused.messages.create('x', {} as never)],
    ['an invalid option', async () => await refused.me({ timeout: -1 })],
    ['an invalid argument of a list', async () => await refused.contacts.list({ limit: 0 })],
    ['a page of a list', async () => await refused.contacts.list()],
    ['a loop over a list', () => loop(refused.contacts.list())],
    ['a loop over pages', () => loop(refused.contacts.list().pages())],
    ['toArray', async () => await refused.contacts.list().toArray()],
    ['an invalid option of toArray', async () => await refused.contacts.list().toArray({ maxItems: '5' as never })],
    ['a cursor that repeats', async () => await repeated.contacts.list().toArray()],
    ['a custom operation', async () => await refused.call({ id: 'tags.list', method: 'GET', path: '/tags' })],
    ['request', async () => await refused.request('GET', '/tags')],
    ['connect', async () => await SupportWorkspace.connect(unnamed)],
    ['withResponse', async () => await refused.me().withResponse()],
    ['await in a function that is awaited', nested],
    ['then', async () => await refused.me().then((me) => me)],
    ['finally', async () => await refused.me().finally(() => {})],
    ['Promise.race', async () => await Promise.race([refused.me()])],
    ['Promise.all', async () => await Promise.all([refused.me()])],
    ['journal.once, whose key is invalid', async () => await journal.once('', reply)],
    ['journal.once, whose write is refused', () => writeRefused()],
    ['journal.once, whose function sends nothing', async () => await journal.once('key', async () => {})],
    ['a call in the function of journal.once', async () => await journal.once('key', async (c) => await c.me())],
    ['journal.get', async () => await journal.get('key')],
    ['journal.list', async () => await journal.list()],
    ['journal.resolve', async () => await journal.resolve('key', 'absent')],
    ['journal.forget', async () => await journal.forget(3_600_000)],
    ['store.save, whose `/me` is refused', async () => await store.save('swot_token')],
    ['store.get', async () => await store.get(key)],
    ['store.workspace', async () => await store.workspace(key)],
    ['store.setMetadata', async () => await store.setMetadata(key, {})],
    ['store.remove', async () => await store.remove(key)],
    ['store.reseal', async () => await store.reseal()],
    ['store.list', async () => await store.list().toArray()],
    ['a loop over store.list', () => loop(store.list())],
    ['store.verify, whose `/me` is refused', () => verifyRefused()],
  ])('%s', async (_, call) => {
    expect(readStack(await rejection(call() as Promise<unknown>)).files).toContain('stack.test.ts')
  })

  test('but not of a call that nobody awaits when it fails', async () => {
    const call = refused.me()
    call.catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(readStack(await rejection(call)).files).not.toContain('stack.test.ts')
  })
})

test('an error that passes through another call stays as it is', async () => {
  const controller = new AbortController()
  const hanging = makeClient({ fetch: () => new Promise<never>(() => {}) })
  const sibling = rejection(hanging.contacts.list({}, { signal: controller.signal }))
  const first = (await rejection(refused.contacts.get(5 as never))) as Error
  const { stack, message } = first
  controller.abort(first)
  expect(await sibling).toBe(first)
  expect(await rejection(makeClient({ accessToken: () => Promise.reject(first) }).me())).toBe(first)
  expect([first.stack, first.message]).toEqual([stack, message])
})

test('a frozen error of a token provider stays what it is', async () => {
  const frozen = Object.freeze(new InvalidArgumentError('key', 'no such key.', ''))
  expect(await rejection(makeClient({ accessToken: () => Promise.reject(frozen) }).me())).toBe(frozen)
})

test('errors that are not of this package keep their stack', async () => {
  const own = new Error('no token')
  const { stack } = own
  const workspace = makeClient({ accessToken: () => Promise.reject(own) })
  expect(((await rejection(workspace.me())) as Error).stack).toBe(stack)
})
