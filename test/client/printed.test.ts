import { inspect } from 'node:util'
import { SupportWorkspace } from 'support-workspace-sdk'
import { startSandbox } from 'support-workspace-sdk/sandbox'
import { expect, test } from 'vitest'
import { rejection } from '../helpers/client.ts'

test('a connected client, its lists and its errors print on a screen, without the token', async () => {
  await using sandbox = await startSandbox()
  const accessToken = sandbox.issueToken({ actor: 'self' })
  const workspace = await SupportWorkspace.connect({ baseUrl: sandbox.url, accessToken })
  const error = await rejection(workspace.contacts.get('none'))
  for (const value of [workspace, workspace.contacts.list(), error]) {
    const printed = inspect(value)
    expect(printed.split('\n').length).toBeLessThan(60)
    expect(printed).not.toContain(accessToken)
  }
  expect(inspect(workspace)).toContain("actor: 'self'")
  expect(inspect(error)).toMatch(/^NotFoundError: contacts\.get failed with 404/)
})
