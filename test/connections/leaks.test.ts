import { beforeEach, expect, test } from 'vitest'
import { AccessToken } from '../../src/oauth/access-token.ts'
import type { Sandbox } from '../../src/sandbox/index.ts'
import { printed } from './helpers/printed.ts'
import { makeStore, rejection, secret, useSandbox } from './helpers/store.ts'

const newSandbox = useSandbox()
let sandbox: Sandbox
beforeEach(async () => {
  sandbox = await newSandbox()
})

test.each([undefined, secret])('nothing that a store gives out shows a token or the secret (%s)', async (key) => {
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
    const text = printed(value)
    expect(text).not.toContain(accessToken)
    expect(text).not.toContain(accessToken.slice(-12))
    expect(text).not.toContain(secret)
  }
})
