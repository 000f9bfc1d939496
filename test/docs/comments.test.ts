import { rm } from 'node:fs/promises'
import express from 'express'
import { SupportWorkspace } from 'support-workspace-sdk'
import { ConnectionStore, createLoginHandlers, memoryStorage, OAuthApp } from 'support-workspace-sdk/oauth'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterAll, beforeAll, describe, test, vi } from 'vitest'
import { commentExamples } from './comment-examples.ts'
import { examplesFolder, writeFiles } from './page.ts'

const folder = `${examplesFolder}/comments`
const examples = commentExamples()

let sandbox: Sandbox

/** Follows a URL to the callback, as the browser of an admin does where the sandbox consents on its own. */
async function openInBrowser(url: string): Promise<string> {
  const consent = await fetch(url, { redirect: 'manual' })
  return consent.headers.get('location') ?? ''
}

beforeAll(async () => {
  sandbox = await startSandbox({ conversations: 5, autoConsent: 'allow' })
  await writeFiles(new Map(examples.map(({ path, code }) => [path, code])), folder)
  const { url: baseUrl, app: registered } = sandbox
  const { clientId, clientSecret } = registered
  const redirectUri = 'http://localhost:3000/callback'
  const accessToken = sandbox.issueToken({ actor: 'self' })
  const secret = 'thirty-two characters, or some more'
  const app = new OAuthApp({ baseUrl, clientId, clientSecret, redirectUri })
  const { url, transaction } = await app.startLogin({ scope: ['conversations:read', 'messages:write'], actor: 'self' })
  const token = await app.finishLogin(await openInBrowser(`${url}&auto=allow`), transaction)
  const store = new ConnectionStore({ baseUrl })
  const [conversation] = sandbox.state.conversations
  const id = conversation?.id
  const globals = {
    sandbox,
    conversation,
    baseUrl,
    accessToken,
    clientId,
    clientSecret,
    redirectUri,
    secret,
    storage: memoryStorage(),
    token,
    openInBrowser,
    workspace: new SupportWorkspace({ baseUrl, accessToken, actor: 'self' }),
    app,
    login: createLoginHandlers(app, { secret, scope: ['conversations:read'], onConnected: () => {} }),
    store,
    key: (await store.save(token)).key,
    id,
    conversationId: id,
    request: new Request('http://localhost:3000/login'),
    site: express(),
  }
  for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value)
  vi.stubEnv('SUPPORT_WORKSPACE_URL', baseUrl)
  vi.stubEnv('SUPPORT_WORKSPACE_TOKEN', accessToken)
  // The endpoint of `defineOperation` and `request`, which the service does not have.
  sandbox.faults.add({ path: '/api/oauth/v1/tags', status: 200, body: { data: ['urgent'] }, times: 2 })
})

afterAll(async () => {
  await sandbox.close()
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
})

describe('the example in the docs comment of', () => {
  test.each(examples.map((example) => [example.title, example] as const))('%s runs', async (_, { path }) => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {})
    await import(/* @vite-ignore */ `${folder}/${path}`)
    log.mockRestore()
  })
})
