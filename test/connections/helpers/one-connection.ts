import { loginTime } from '../../../src/connections/entry-id.ts'
import { LiveConnections } from '../../../src/connections/live-connections.ts'
import { readStoreSettings } from '../../../src/connections/store-options.ts'
import type { Connection, ConnectionStorage } from '../../../src/oauth.ts'
import type { SteppedStorage } from './interleave.ts'
import { mapStorage } from './storages.ts'

const connection: Connection = {
  key: 'app.a.o',
  actor: 'app',
  application: { id: 'a' },
  organization: { id: 'o' },
  connectedAt: 0,
}
const { key } = connection

/** The storage operations of one process, after the responses of the service have arrived. */
export function process(storage: ConnectionStorage) {
  const revoked: string[] = []
  const settings = readStoreSettings({
    baseUrl: 'https://service.example',
    storage,
    onRevoked: ({ connectedAt }) => void revoked.push(`connection ${connectedAt}`),
  })
  const live = new LiveConnections(settings, async () => true)
  return {
    revoked,
    save: async (accessToken: string, connectedAt = 0) => {
      const value = await settings.format.write({ connection: { ...connection, connectedAt }, accessToken })
      await settings.entries.write(key, value, { startedAt: loginTime(), tried: [], isRetry: false })
    },
    read: async () => (await live.read(key))?.accessToken,
    refused: (accessToken: string) => live.tokenSource(key).onInvalidToken?.(accessToken),
    remove: () => settings.entries.removeAll(key),
    /** Rewrites the current entry with the same record. */
    touch: async () => {
      const found = await live.read(key)
      if (found !== undefined) await live.change(key, found, (record) => record)
    },
    /** A login that starts now and whose storage operations come later. */
    begin: (accessToken: string) => {
      const save = { startedAt: loginTime(), tried: [], isRetry: false }
      return async () => settings.entries.write(key, await settings.format.write({ connection, accessToken }), save)
    },
    /** The retry of a save that failed before it reached the storage. */
    retryOf: (accessToken: string) => {
      const save = { startedAt: loginTime(), tried: [], isRetry: true }
      return async () => settings.entries.write(key, await settings.format.write({ connection, accessToken }), save)
    },
  }
}

export async function oldIsConnected(storage: SteppedStorage) {
  await process(storage.as('before')).save('old', 1)
}

/** Returns the tokens in the storage, and the token of the connection. */
export async function endOf({ items }: SteppedStorage) {
  const kept = [...items.values()].flatMap((value) => /"accessToken":"(\w+)"/.exec(value)?.[1] ?? []).sort()
  return { kept, connected: await process(mapStorage(items)).read() }
}
