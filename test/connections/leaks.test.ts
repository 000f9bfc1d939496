import { describe, expect, test } from 'vitest'
import { AuthenticationError, type SupportWorkspace } from '../../src/index.ts'
import type { ConnectionStore } from '../../src/oauth/index.ts'
import { AccessToken } from '../../src/shared/access-token.ts'
import { rejection } from '../helpers/client.ts'
import { printedForms } from '../helpers/printed-forms.ts'
import { mapStorage, watched } from './helpers/storages.ts'
import { makeStore, secret, useSandbox } from './helpers/store.ts'

const sandbox = await useSandbox()

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
  const values: unknown[] = [
    store,
    connection,
    workspace,
    await store.list().toArray(),
    await store.get(connection.key),
  ]
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

describe('a storage whose errors quote its texts', () => {
  // It does not have the form of the service's tokens.
  const token = 'opaque-0123456789-credential'
  const me = { application: { id: 'a' }, organization: { id: 'o' }, actor: 'app' }

  /** Like the errors of Redis clients and SQL drivers: with the command, its arguments, a part of it, and a cause. */
  function quoting(texts: readonly string[]): Error {
    const json = JSON.stringify(texts)
    const parts = texts.flatMap((text) => [
      text.slice(70, 170),
      text.slice(0, 50),
      encodeURIComponent(text.slice(0, 50)),
    ])
    const forms = [...parts, json, JSON.stringify(json), encodeURIComponent(json)].join(' ')
    const cause = Object.assign(new Error(`below: ${forms}`), { code: parts[0] })
    return Object.assign(new Error(`EIO in ${forms}`, { cause }), { args: texts, name: `E ${parts[0]}` })
  }

  interface Subject {
    readonly store: ConnectionStore
    readonly key: string
    readonly workspace: SupportWorkspace
    /** Makes the service reject the token. */
    readonly revoke: () => void
  }

  /** Runs an operation once for each of its storage calls, which fails, and returns the errors. */
  async function failures(operate: (subject: Subject) => Promise<unknown>, keepRevoked = false): Promise<unknown[]> {
    const errors: unknown[] = []
    for (let failing = 1; ; failing += 1) {
      const items = mapStorage()
      const watch = watched(items)
      let isRevoked = false
      const respond = async () =>
        isRevoked ? Response.json({ error: 'invalid_token' }, { status: 401 }) : Response.json(me)
      const client = { maxRetries: 0, fetch: respond }
      const store = makeStore(sandbox, { keepRevoked, storage: watch.storage, client })
      const { key } = await store.save(token, { metadata: { owner: 7 } })
      const workspace = await store.workspace(key)
      const revoke = () => {
        isRevoked = true
      }
      watch.reset()
      const texts = [...items.items.values()]
      watch.before = ({ number }) => {
        if (number === failing) throw quoting([...texts, ...items.items.values()])
      }
      await operate({ store, key, workspace, revoke }).catch((error: unknown) => {
        errors.push(error)
        const printed = printedForms(error).join('\n')
        expect(printed).not.toContain(token)
        for (const text of texts)
          for (let start = 0; start + 40 < text.length; start += 1)
            expect(printed.includes(text.slice(start, start + 40)), 'a part of a record').toBe(false)
      })
      // No call failed: every call has been tried.
      if (watch.calls.length < failing) return errors
    }
  }

  test.each<[string, number, (subject: Subject) => Promise<unknown>]>([
    ['a save', 2, ({ store }) => store.save(token)],
    ['a change', 2, ({ store, key }) => store.setMetadata(key, { owner: 8 })],
    ['verify', 4, ({ store, key }) => store.verify(key)],
    ['a call', 1, ({ workspace }) => Promise.resolve(workspace.me())],
    ['a list', 1, ({ store }) => store.list().toArray()],
  ])('does not reveal the token when %s fails', async (_, count, operate) => {
    const errors = await failures(operate)
    expect(errors).toHaveLength(count)
    for (const error of errors) expect(String(error)).toContain('EIO in [redacted]')
  })

  test.each([
    [false, 5],
    [true, 3],
  ])('does not reveal the token when a revocation fails (keepRevoked: %j)', async (keepRevoked, count) => {
    const errors = await failures(({ workspace, revoke }) => {
      revoke()
      return Promise.resolve(workspace.me())
    }, keepRevoked)
    const causes = errors.filter((error) => error instanceof AuthenticationError && error.cause !== undefined)
    expect(causes).toHaveLength(count)
  })
})
