import { rm } from 'node:fs/promises'
import express from 'express'
import { SupportWorkspace } from 'support-workspace-sdk'
import { ConnectionStore, createLoginHandlers } from 'support-workspace-sdk/oauth'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { commentExamples } from './comment-examples.ts'
import { examplesFolder, writeExamples } from './examples.ts'
import { giveGlobals, stubGlobals } from './given.ts'

const folder = `${examplesFolder}/comments`
const examples = commentExamples()
/** The tests that the example of `storageTests` registers. */
const registered: [name: string, options: { skip: boolean }, run: () => Promise<void>][] = []

let sandbox: Sandbox

beforeAll(async () => {
  sandbox = await startSandbox({ conversations: 5, autoConsent: 'allow' })
  await writeExamples(folder, examples)
  const redirectUri = 'http://localhost:3000/callback'
  const { app, token, accessToken } = await giveGlobals(sandbox, redirectUri)
  const baseUrl = sandbox.url
  const secret = 'thirty-two characters, or some more'
  const store = new ConnectionStore({ baseUrl })
  const id = sandbox.state.conversations[0]?.id
  stubGlobals({
    workspace: new SupportWorkspace({ baseUrl, accessToken, actor: 'self' }),
    app,
    login: createLoginHandlers(app, { secret, scope: ['conversations:read'], onConnected: () => {} }),
    store,
    key: (await store.save(token)).key,
    id,
    conversationId: id,
    request: new Request('http://localhost:3000/login'),
    site: express(),
    test: (...registration: (typeof registered)[number]) => void registered.push(registration),
  })
  // The endpoint of `defineOperation` and `request`, which the service does not have.
  sandbox.faults.add({ path: '/api/oauth/v1/tags', status: 200, body: { data: ['urgent'] }, times: 2 })
})

afterAll(async () => {
  await sandbox.close()
  vi.unstubAllGlobals()
  await rm(folder, { recursive: true, force: true })
})

describe('the example in the docs comment of', () => {
  test.each(examples.map((example) => [example.title, example] as const))('%s runs', async (_, { path }) => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {})
    await import(/* @vite-ignore */ `${folder}/${path}`)
    log.mockRestore()
  })
})

test('the example of `storageTests` registers tests that pass', async () => {
  expect(registered.length).toBeGreaterThan(5)
  for (const [, { skip }, run] of registered) if (!skip) await run()
})
