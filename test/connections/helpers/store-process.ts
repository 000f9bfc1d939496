// A process with a store on Redis, controlled by the test over IPC.
import { createStorage } from 'unstorage'
import redisDriver from 'unstorage/drivers/redis'
import { ConnectionStore } from '../../../src/oauth.ts'

const [path, baseUrl, secret] = process.argv.slice(2)
const storage = createStorage({ driver: redisDriver({ path: path ?? '' }) })
let revoked: number[] = []
const store = new ConnectionStore({
  baseUrl: baseUrl ?? '',
  storage,
  secret,
  onRevoked: ({ connectedAt }) => void revoked.push(connectedAt),
  client: { maxRetries: 0 },
})
const workspaces = new Map<string, ReturnType<ConnectionStore['workspace']>>()

const commands = {
  /** Returns the connection, if any. */
  save: async (token: string) => store.save(token),
  get: async (key: string) => (await store.get(key)) ?? null,
  remove: async (key: string) => store.remove(key),
  /** Opens the client of a connection for later calls. */
  open: async (key: string) => {
    workspaces.set(key, store.workspace(key))
    await workspaces.get(key)
  },
  /** Makes concurrent calls. Returns the names of their errors, each once, or `ok`. */
  call: async (key: string, times: number) => {
    const workspace = await workspaces.get(key)
    const one = async () =>
      workspace?.me().then(
        () => 'ok',
        (error: unknown) => (error as Error).name,
      )
    return [...new Set(await Promise.all(Array.from({ length: times }, one)))]
  },
  /** Returns the `connectedAt` of connections found revoked since the last call. */
  revoked: async () => {
    const heard = revoked
    revoked = []
    return heard
  },
}
export type Commands = typeof commands

process.on('message', async ({ id, name, args }: { id: number; name: keyof Commands; args: never[] }) => {
  try {
    const command = commands[name] as (...args: never[]) => Promise<unknown>
    process.send?.({ id, result: await command(...args) })
  } catch (error) {
    process.send?.({ id, error: String(error) })
  }
})
process.once('disconnect', () => process.exit())
process.send?.({ id: 0 })
