import { memoryStorage, OAuthApp } from 'support-workspace-sdk/oauth'
import type { Sandbox } from 'support-workspace-sdk/sandbox'
import { vi } from 'vitest'

/** Follows a URL to the callback, as the browser of an admin does where the sandbox consents on its own. */
export async function visit(url: string): Promise<string> {
  const consent = await fetch(url, { redirect: 'manual' })
  return consent.headers.get('location') ?? ''
}

/** Sets the globals that examples use without declaring them. Returns the app, and the token of a login of it. */
export async function giveGlobals(sandbox: Sandbox, redirectUri: string) {
  const { clientId, clientSecret } = sandbox.app
  const baseUrl = sandbox.url
  const app = new OAuthApp({ baseUrl, clientId, clientSecret, redirectUri })
  const { url, transaction } = await app.startLogin({ scope: ['conversations:read', 'messages:write'], actor: 'self' })
  const token = await app.finishLogin(await visit(`${url}&auto=allow`), transaction)
  const accessToken = sandbox.issueToken({ actor: 'self' })
  stubGlobals({
    baseUrl,
    accessToken,
    appToken: sandbox.issueToken({ actor: 'app' }),
    clientId,
    clientSecret,
    redirectUri,
    secret: 'thirty-two characters, or some more',
    newSecret: 'another secret of thirty-two characters',
    storage: memoryStorage(),
    token,
    openInBrowser: visit,
    saveKey: vi.fn(),
    savedKey: vi.fn(),
  })
  return { app, token, accessToken }
}

export function stubGlobals(values: object): void {
  for (const [name, value] of Object.entries(values)) vi.stubGlobal(name, value)
}
