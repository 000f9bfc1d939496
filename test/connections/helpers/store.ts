import { afterEach, expect } from 'vitest'
import { ConnectionStore, ConnectionStoreError, type ConnectionStoreOptions } from '../../../src/oauth.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox.ts'
import { rejection } from '../../helpers/client.ts'

export const secret = 'a secret of this app, 32 characters or more'

/** Returns a function that starts a sandbox for a test, and closes it afterwards. */
export function useSandbox(): () => Promise<Sandbox> {
  const open: Sandbox[] = []
  afterEach(async () => {
    await Promise.all(open.splice(0).map((sandbox) => sandbox.close()))
  })
  return async () => {
    const sandbox = await startSandbox({ conversations: 2, contacts: 1, tasks: 0, segments: 0 })
    open.push(sandbox)
    return sandbox
  }
}

export function makeStore(sandbox: { readonly url: string }, options: Partial<ConnectionStoreOptions> = {}) {
  return new ConnectionStore({ baseUrl: sandbox.url, ...options })
}

export async function storeError(promise: PromiseLike<unknown>): Promise<ConnectionStoreError> {
  const error = await rejection(promise)
  expect(error).toBeInstanceOf(ConnectionStoreError)
  return error as ConnectionStoreError
}
