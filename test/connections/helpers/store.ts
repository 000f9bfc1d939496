import { afterAll, beforeEach, expect } from 'vitest'
import {
  type Connection,
  type ConnectionFilter,
  ConnectionStore,
  ConnectionStoreError,
  type ConnectionStoreOptions,
} from '../../../src/oauth/index.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.ts'
import { rejection } from '../../helpers/client.ts'
import { heldFetch } from './held-fetch.ts'
import { mapStorage, watched } from './storages.ts'

export const secret = 'a secret of this app, 32 characters or more'

/** A sandbox for all tests of a file. Before each of them it has received nothing. */
export async function useSandbox(): Promise<Sandbox> {
  const sandbox = await startSandbox({ conversations: 2, contacts: 1, tasks: 0, segments: 0 })
  afterAll(() => sandbox.close())
  beforeEach(() => {
    sandbox.clearRequests()
    sandbox.faults.clear()
  })
  return sandbox
}

export function makeStore(sandbox: { readonly url: string }, options: Partial<ConnectionStoreOptions> = {}) {
  return new ConnectionStore({ baseUrl: sandbox.url, ...options })
}

export async function storeError(promise: PromiseLike<unknown>): Promise<ConnectionStoreError> {
  const error = await rejection(promise)
  expect(error).toBeInstanceOf(ConnectionStoreError)
  return error as ConnectionStoreError
}

/** A store with a connection, and what happens around it. */
export async function connectedStore(sandbox: Sandbox, options: Partial<ConnectionStoreOptions> = {}) {
  const gate = heldFetch()
  const storage = mapStorage()
  const watch = watched(storage)
  const revoked: Connection[] = []
  const store = makeStore(sandbox, {
    storage: watch.storage,
    secret,
    client: { fetch: gate.fetch, maxRetries: 0 },
    ...options,
    onRevoked: async (connection) => {
      revoked.push(connection)
      await options.onRevoked?.(connection)
    },
  })
  const token = sandbox.issueToken({ actor: 'self' })
  const connection = await store.save(token)
  const workspace = await store.workspace(connection.key)
  watch.reset()
  sandbox.clearRequests()
  return { gate, storage, watch, revoked, store, token, connection, workspace, key: connection.key }
}

/** Returns the errors of the connections that a list cannot read. */
export async function unreadableIn(store: ConnectionStore, filter?: ConnectionFilter): Promise<ConnectionStoreError[]> {
  const errors: ConnectionStoreError[] = []
  await store.list(filter, { onUnreadable: (error) => void errors.push(error) }).toArray()
  return errors
}
