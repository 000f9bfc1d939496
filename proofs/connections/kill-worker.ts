// A process with a store, which the test makes operate and kills. Its storage sends some writes twice and loses some responses.
import { type ConnectionNotSavedError, ConnectionStore, type ConnectionStoreError } from '../../src/oauth/index.ts'
import { open } from '../../test/connections/helpers/open-storage.ts'
import type { Action } from './model.ts'
import { nameIn, operate } from './operate.ts'

/** An operation of the connection of an organization. */
export interface Order {
  readonly id: number
  readonly organization: string
  readonly keepRevoked: boolean
  readonly action: Action
}

/** The result as the model writes it. Undefined if nobody knows whether the operation took effect. */
export interface Report {
  readonly id: number
  readonly result: string | undefined
  readonly faults: number
}

const storage = await open(process.argv[2] ?? '')
let faults = 0
let told = 0
let refused: string | undefined
let notSaved: ConnectionNotSavedError | undefined

const stores = [false, true].map(
  (keepRevoked) =>
    new ConnectionStore({
      baseUrl: 'https://service.example',
      secret: 'the secret of this app, 32 characters or more',
      keepRevoked,
      onRevoked: () => {
        told += 1
      },
      storage: {
        ...storage,
        async compareAndSet(key, expected, value) {
          const result = await storage.compareAndSet(key, expected, value)
          const chance = Math.random()
          if (chance < 0.2) faults += 1
          if (chance < 0.1) throw new Error('The response was lost.')
          return chance < 0.2 ? storage.compareAndSet(key, expected, value) : result
        },
      },
      client: { maxRetries: 0, validation: 'off', fetch: async (_, init) => respond(init as RequestInit) },
    }),
)

/** A token starts with its organization, and is that of the app. */
function respond(init: RequestInit): Response {
  const token = new Headers(init.headers).get('authorization')?.replace('Bearer ', '') ?? ''
  if (token === refused) return Response.json({ error: 'invalid_token' }, { status: 401 })
  const organization = { id: token.split('.')[0], name: token }
  return Response.json({ application: { id: 'a' }, organization, actor: 'app', scopes: [] })
}

async function run({ organization, keepRevoked, action }: Order): Promise<string> {
  const store = stores[Number(keepRevoked)]
  if (store === undefined) throw new Error('There is no store.')
  if (action.do === 'retry') return nameIn(await notSaved?.retry())
  if (action.do !== 'refused') return operate(store, organization, action)
  const workspace = await store.workspace(`app.a.${organization}`)
  refused = action.token
  await workspace.me()
  return '401'
}

async function report(order: Order): Promise<Report> {
  const { id, action } = order
  told = 0
  faults = 0
  try {
    return { id, result: await run(order), faults }
  } catch (thrown) {
    const { name, reason, cause } = thrown as ConnectionStoreError
    if (name === 'ConnectionNotSavedError') notSaved = thrown as ConnectionNotSavedError
    const isKnown = told > 0 || cause === undefined
    if (name === 'AuthenticationError')
      return { id, result: isKnown ? `401${' told'.repeat(told)}` : undefined, faults }
    if (reason === 'not_connected') return { id, result: action.do === 'refused' ? '401' : reason, faults }
    return { id, result: reason === 'storage_failed' ? undefined : `failed: ${thrown}`, faults }
  } finally {
    refused = undefined
  }
}

process.on('message', async (order: Order) => process.send?.(await report(order)))
process.once('disconnect', () => process.exit())
process.send?.({ id: -1 })
