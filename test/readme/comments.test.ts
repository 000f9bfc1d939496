import { rm } from 'node:fs/promises'
import express from 'express'
import { SupportWorkspace } from 'support-workspace-sdk'
import { ConnectionStore, createLoginHandlers, memoryStorage, OAuthApp } from 'support-workspace-sdk/oauth'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { commentExamples } from './comment-examples.ts'
import { examplesFolder, writeExamples } from './examples.ts'

const folder = `${examplesFolder}/comments`
const examples = commentExamples()
/** The tests that the example of `storageTests` registers. */
const registered: [name: string, options: { skip: boolean }, run: () => Promise<void>][] = []

let sandbox: Sandbox

beforeAll(async () => {
  sandbox = await startSandbox({ conversations: 5, autoConsent: 'allow' })
  await writeExamples(folder, examples)
  const redirectUri = 'http://localhost:3000/callback'
  const secret = 'thirty-two characters, or some more'
  const { clientId, clientSecret } = sandbox.app
  const baseUrl = sandbox.url
  const accessToken = sandbox.issueToken({ actor: 'self' })
  const app = new OAuthApp({ baseUrl, clientId, clientSecret, redirectUri })
  const token = await logIn(app)
  const store = new ConnectionStore({ baseUrl })
  const id = sandbox.state.conversations[0]?.id
  const given = {
    baseUrl,
    accessToken,
    redirectUri,
    clientId,
    clientSecret,
    openInBrowser: visit,
    secret,
    storage: memoryStorage(),
    workspace: new SupportWorkspace({ baseUrl, accessToken, actor: 'self' }),
    app,
    token,
    login: createLoginHandlers(app, { secret, scope: ['conversations:read'], onConnected: () => {} }),
    store,
    key: (await store.save(token)).key,
    id,
    conversationId: id,
    request: new Request('http://localhost:3000/login'),
    site: express(),
    test: (...registration: (typeof registered)[number]) => void registered.push(registration),
  }
  for (const [name, value] of Object.entries(given)) vi.stubGlobal(name, value)
  // The endpoint of `defineOperation` and `request`, which the service does not have.
  sandbox.faults.add({ path: '/api/oauth/v1/tags', status: 200, body: { data: ['urgent'] }, times: 2 })
})

afterAll(async () => {
  await sandbox.close()
  vi.unstubAllGlobals()
  await rm(folder, { recursive: true, force: true })
})

async function logIn(app: OAuthApp) {
  const { url, transaction } = await app.startLogin({ scope: ['conversations:read', 'messages:write'], actor: 'self' })
  return app.finishLogin(await visit(url), transaction)
}

async function visit(url: string): Promise<string> {
  const consent = await fetch(url, { redirect: 'manual' })
  return consent.headers.get('location') ?? ''
}

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
