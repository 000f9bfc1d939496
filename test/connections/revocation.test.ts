import { afterEach, describe, expect, test, vi } from 'vitest'
import { AuthenticationError, type OperationEndEvent } from '../../src/index.ts'
import type { ConnectionStoreOptions } from '../../src/oauth/index.ts'
import { rejection } from '../helpers/client.ts'
import { failingCallbacks } from '../helpers/failing-callbacks.ts'
import { connectedStore, makeStore, secret, storeError, unreadableIn, useSandbox } from './helpers/store.ts'

const sandbox = await useSandbox()

afterEach(() => {
  vi.useRealTimers()
})

const connected = (options?: Partial<ConnectionStoreOptions>) => connectedStore(sandbox, options)

test('a hundred calls with a revoked token call onRevoked once and remove the connection once, across several clients', async () => {
  const { gate, watch, revoked, store, token, connection, workspace } = await connected()
  const clients = [workspace, await store.workspace(connection.key), await store.workspace(connection.key)]
  gate.hold()
  const calls = Array.from({ length: 100 }, (_, index) => rejection(clients[index % 3]!.me()))
  await gate.held(100)
  sandbox.revoke(token)
  gate.release()
  for (const error of await Promise.all(calls)) {
    expect(error).toBeInstanceOf(AuthenticationError)
    expect(error).toMatchObject({ code: 'invalid_token', outcome: 'refused' })
    expect((error as Error).cause).toBeUndefined()
  }
  expect(revoked).toEqual([connection])
  // The mark, and its removal.
  expect(watch.count('compareAndSet')).toBe(2)
  expect(watch.items.size).toBe(0)
  // The calls and one `/me` that confirms the revocation.
  expect(sandbox.requests).toHaveLength(101)
  expect(await store.get(connection.key)).toBeUndefined()
  expect([await store.list().toArray(), await unreadableIn(store)]).toEqual([[], []])
})

test('after a revocation, calls reject without a request until a new login, and then work with the same client', async () => {
  const ends: OperationEndEvent[] = []
  const { store, token, connection, workspace, watch } = await connected({
    client: { maxRetries: 0, hooks: { onOperationEnd: (event) => void ends.push(event) } },
  })
  sandbox.revoke(token)
  await rejection(workspace.me())
  sandbox.clearRequests()
  const error = await storeError(workspace.conversations.list())
  expect(error).toMatchObject({ reason: 'not_connected', key: connection.key, outcome: 'not-sent' })
  expect(ends.at(-1)).toMatchObject({ error: 'ConnectionStoreError', outcome: 'not-sent', status: undefined })
  await storeError(store.workspace(connection.key))
  expect(sandbox.requests).toEqual([])

  await makeStore(sandbox, { storage: watch.storage, secret }).save(sandbox.issueToken({ actor: 'self' }))
  expect((await workspace.conversations.list()).data).not.toEqual([])
})

describe('onRevoked', () => {
  test.each(failingCallbacks(new Error('The mail server is down.')))(
    'becomes the cause of the error of the call if it %s',
    async (_title, onRevoked) => {
      const { token, revoked, workspace } = await connected({ onRevoked })
      sandbox.revoke(token)
      const error = (await rejection(workspace.me())) as AuthenticationError
      expect(error).toBeInstanceOf(AuthenticationError)
      expect(error.cause).toMatchObject({ message: 'The mail server is down.' })
      expect((await storeError(workspace.me())).reason).toBe('not_connected')
      expect(revoked).toHaveLength(1)
    },
  )

  test('can use the store and its clients, in which the connection is already removed, and save a new login', async () => {
    const seen: unknown[] = []
    const successor = sandbox.issueToken({ actor: 'self' })
    let use: (key: string) => Promise<void> = async () => {}
    const { token, workspace, store, key } = await connected({ onRevoked: ({ key }) => use(key) })
    use = async (key) => {
      seen.push(await store.get(key), (await storeError(workspace.me())).reason, await store.save(successor))
    }
    sandbox.revoke(token)
    expect(await rejection(workspace.me())).toBeInstanceOf(AuthenticationError)
    expect(seen).toEqual([undefined, 'not_connected', await store.get(key)])
    expect((await workspace.me()).actor).toBe('self')
  })
})

describe('a failing storage', () => {
  test.each([
    ['marking', 1, false],
    ['removing', 2, true],
  ])('becomes the cause of the error when %s a revoked connection', async (_, failing, isMarked) => {
    const { watch, token, revoked, workspace, store, connection } = await connected()
    sandbox.revoke(token)
    watch.before = ({ method }) => {
      if (method === 'compareAndSet' && watch.count(method) === failing) throw new Error('The disk is full.')
    }
    const error = (await rejection(workspace.me())) as AuthenticationError
    expect(error).toBeInstanceOf(AuthenticationError)
    expect(String((error.cause as Error).message)).toContain('The disk is full.')
    expect(revoked).toHaveLength(isMarked ? 1 : 0)
    // A mark has no token, and a record without a mark is removed by the next call.
    watch.before = () => undefined
    const again = await rejection(workspace.me())
    expect(again).toMatchObject(isMarked ? { reason: 'not_connected' } : { code: 'invalid_token' })
    expect(revoked).toEqual([connection])
    expect(await store.get(connection.key)).toBeUndefined()
    expect([await store.list().toArray(), await unreadableIn(store)]).toEqual([[], []])
    const saved = await store.save(sandbox.issueToken({ actor: 'self' }))
    expect(await store.get(connection.key)).toEqual(saved)
    await workspace.me()
  })

  test('makes a call reject before sending anything, as does an entry that is unreadable', async () => {
    const { watch, workspace, key } = await connected()
    for (const place of watch.items.keys()) watch.items.set(place, 'spoiled')
    expect(await storeError(workspace.me())).toMatchObject({ reason: 'entry_damaged', key, outcome: 'not-sent' })
    watch.before = () => Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
    const error = await storeError(workspace.me())
    expect(error).toMatchObject({ reason: 'storage_failed', outcome: 'not-sent', cause: { code: 'ECONNREFUSED' } })
    expect(error.message).toContain('connect ECONNREFUSED')
    expect(sandbox.requests).toEqual([])
  })
})
