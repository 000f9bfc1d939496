import { beforeEach, describe, expect, test } from 'vitest'
import { AuthenticationError } from '../../src/index.ts'
import { AccessToken } from '../../src/oauth/access-token.ts'
import { ConnectionNotSavedError, type ConnectionStore, type ConnectionStoreOptions } from '../../src/oauth.ts'
import type { Sandbox } from '../../src/sandbox.ts'
import { rejection } from '../helpers/client.ts'
import { printedForms } from '../helpers/printed-forms.ts'
import { mapStorage, watched } from './helpers/storages.ts'
import { makeStore, secret, useSandbox } from './helpers/store.ts'

const newSandbox = useSandbox()
let sandbox: Sandbox
beforeEach(async () => {
  sandbox = await newSandbox()
})

test.each([undefined, secret])('reveals neither a token nor the secret (%s)', async (key) => {
  const events: unknown[] = []
  const keep = (event: unknown) => void events.push(event)
  const accessToken = sandbox.issueToken({ actor: 'self' })
  const token = new AccessToken({
    accessToken,
    baseUrl: sandbox.url,
    clientId: sandbox.app.clientId,
    tokenType: 'Bearer',
    scope: 'users:read',
  })
  const store = makeStore(sandbox, {
    ...(key !== undefined && { secret: key }),
    onRevoked: keep,
    client: {
      maxRetries: 0,
      hooks: { onOperationStart: keep, onOperationEnd: keep, onAttemptStart: keep, onAttemptEnd: keep, onRetry: keep },
    },
  })
  const connection = await store.save(token)
  const workspace = await store.workspace(connection.key)
  const values: unknown[] = [store, connection, workspace, await store.list(), await store.get(connection.key)]
  sandbox.revoke(accessToken)
  values.push(await rejection(workspace.me()), await rejection(workspace.me()), await rejection(store.save(token)))
  values.push(store, workspace, events)
  expect(events.length).toBeGreaterThan(10)
  for (const value of values) {
    const text = printedForms(value).join('\n')
    expect(text).not.toContain(accessToken)
    expect(text).not.toContain(accessToken.slice(-12))
    expect(text).not.toContain(secret)
  }
})

describe('a storage whose errors quote the token', () => {
  // Neither has the form of the service's tokens. The second has characters that JSON and URLs escape.
  const tokens = ['opaque-0123456789-credential', 'opaque"0123\\456%789/credential']
  const [application, organization] = [{ id: 'a' }, { id: 'o' }]

  /** Like the errors of Redis clients and SQL drivers: with the command, its arguments and a cause. */
  function quoting(token: string): Error {
    const forms = `${token} ${JSON.stringify({ token })} ${encodeURIComponent(token)}`
    const cause = Object.assign(new Error(`below: ${forms}`), { code: token })
    return Object.assign(new Error(`EIO in ${forms}`, { cause }), { code: token, args: [token], name: `E ${token}` })
  }

  interface Subject {
    readonly store: ConnectionStore
    readonly key: string
    readonly token: string
    /** Makes the service reject the token. */
    readonly revoke: () => void
    /** Makes the next call of the storage fail too. */
    readonly failNow: () => void
  }

  /** Runs an operation once for each of its storage calls, which fails, and returns the errors. */
  async function failures(
    token: string,
    operate: (subject: Subject) => Promise<unknown>,
    options: Partial<ConnectionStoreOptions> = {},
  ): Promise<unknown[]> {
    const rejections: unknown[] = []
    for (let failing = 1; ; failing += 1) {
      const watch = watched(mapStorage())
      let revoked = false
      const store = makeStore(sandbox, {
        ...options,
        storage: watch.storage,
        client: {
          maxRetries: 0,
          fetch: async () =>
            revoked
              ? Response.json({ error: 'invalid_token' }, { status: 401 })
              : Response.json({ application, organization, actor: 'app' }),
        },
      })
      const { key } = await store.save(token, { metadata: { owner: 7 } })
      const failOne = () => {
        watch.reset()
        watch.before = ({ number }) => {
          if (number === failing) throw quoting(token)
        }
      }
      failOne()
      const revoke = () => {
        revoked = true
      }
      /** Fails the next call, and counts from the call after it. */
      const failNow = () => {
        watch.before = () => {
          failOne()
          throw quoting(token)
        }
      }
      await operate({ store, key, token, revoke, failNow }).catch((error: unknown) => rejections.push(error))
      // No call failed: every call has been tried.
      if (watch.calls.length < failing) return rejections
    }
  }

  function expectNoTrace(errors: readonly unknown[], token: string): void {
    for (const error of errors) {
      const text = printedForms(error).join('\n')
      expect(text).toContain('EIO')
      expect(text).not.toContain(token)
      // The part that every form of the token contains.
      expect(text).not.toContain('opaque')
    }
  }

  test.each(tokens)('does not reveal it when a save or its retry fails (%j)', async (token) => {
    const saves = await failures(token, ({ store }) => store.save(token))
    expect(saves).toHaveLength(2)
    for (const error of saves) expect(error).toBeInstanceOf(ConnectionNotSavedError)
    expectNoTrace(saves, token)
    const retries = await failures(token, async ({ store, failNow }) => {
      failNow()
      const error = (await rejection(store.save(token))) as ConnectionNotSavedError
      await error.retry()
    })
    expect(retries).toHaveLength(2)
    expectNoTrace(retries, token)
  })

  test.each(tokens)('does not reveal it when a connection is changed or verified (%j)', async (token) => {
    const changes = await failures(token, ({ store, key }) => store.setMetadata(key, { owner: 8 }))
    // The record is first read before the token is known.
    expectNoTrace(changes.slice(1), token)
    expect(changes).toHaveLength(2)
    const checks = await failures(token, ({ store, key }) => store.verify(key))
    expectNoTrace(checks.slice(1), token)
    expect(checks).toHaveLength(4)
  })

  test.each([false, true])(
    'does not reveal it when a revoked token is removed (keepRevoked: %j)',
    async (keepRevoked) => {
      for (const token of tokens) {
        const causes: unknown[] = []
        await failures(
          token,
          async ({ store, key, revoke }) => {
            const workspace = await store.workspace(key)
            revoke()
            const error = await rejection(workspace.me())
            if (error instanceof AuthenticationError && error.cause !== undefined) causes.push(error)
          },
          { keepRevoked },
        )
        expect(causes).toHaveLength(keepRevoked ? 3 : 4)
        expectNoTrace(causes, token)
      }
    },
  )
})

test('a later error of the storage does not quote the token of a later login', async () => {
  const watch = watched(mapStorage())
  const me = { actor: 'app', application: { id: 'a' }, organization: { id: 'o' } }
  const client = { fetch: async () => Response.json(me), validation: 'off', maxRetries: 0 } as const
  const store = makeStore(sandbox, { storage: watch.storage, client })
  const { key } = await store.save('opaque-0123456789-first')
  const workspace = await store.workspace(key)
  await store.save('opaque-0123456789-second')
  await workspace.me()
  watch.before = () => {
    throw new Error('failed: opaque-0123456789-second')
  }
  const error = await rejection(workspace.me())
  expect(String((error as Error).cause)).toContain('failed: [redacted]')
  for (const form of printedForms(error)) expect(form).not.toContain('0123456789')
})

test.each(['opaque-0123456789-credential', 'opaque"0123\\\\456%789/credential'])(
  'a later error of the storage does not quote the token that was read: %s',
  async (token) => {
    const items = mapStorage()
    const watch = watched(items)
    const me = { actor: 'app', application: { id: 'a' }, organization: { id: 'o' } }
    const client = { fetch: async () => Response.json(me), validation: 'off', maxRetries: 0 } as const
    const store = makeStore(sandbox, { storage: watch.storage, client })
    const { key } = await store.save(token)
    const workspace = await store.workspace(key)
    const entry = [...items.items.values()].find((value) => value.includes('accessToken')) ?? ''
    /** Calls, with the number of the first read of the storage that fails. */
    const fail = async (call: () => Promise<unknown>, from: number, text: string) => {
      watch.reset()
      watch.before = ({ number }) => {
        if (number < from) return
        const cause = Object.assign(new Error(`bulk reply ${text}`), { code: text, name: `Error ${text}` })
        throw new Error(`failed: ${text}`, { cause })
      }
      const error = await rejection(call())
      watch.before = () => undefined
      expect(error).toBeInstanceOf(Error)
      for (const form of printedForms(error)) expect(form).not.toContain(token.slice(-14))
    }
    // The first read returns the token.
    await fail(() => store.verify(key), 2, token)
    await fail(() => workspace.me(), 1, token)
    // A record is recognized even if no token is known yet.
    const nested = JSON.stringify(JSON.stringify({ entry }))
    for (const text of [entry, JSON.stringify([entry]), nested, entry.slice(entry.indexOf('"accessToken'), -3)]) {
      await fail(() => store.get(key), 1, text)
      await fail(() => store.verify(key), 2, text)
    }
  },
)
