import { SupportWorkspace } from 'support-workspace-sdk'
import { OAuthApp, scopesFor } from 'support-workspace-sdk/oauth'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterEach, beforeEach, expect, test } from 'vitest'

const redirectUri = 'http://127.0.0.1:3000/callback'

let sandbox: Sandbox

beforeEach(async () => {
  sandbox = await startSandbox({ conversations: 1234, app: { redirectUris: [redirectUri] } })
})

afterEach(() => sandbox.close())

test('the main job logs in through the consent page and reads 1,234 conversations in 25 requests', async () => {
  const { clientId, clientSecret } = sandbox.app
  const app = new OAuthApp({ baseUrl: sandbox.url, clientId, clientSecret, redirectUri })
  const { url, transaction } = await app.startLogin({ scope: scopesFor('conversations.list'), actor: 'app' })

  const token = await app.finishLogin(await pressAllow(url), transaction)
  const workspace = new SupportWorkspace({ baseUrl: sandbox.url, accessToken: token.accessToken, actor: 'app' })
  const ids: string[] = []
  for await (const conversation of workspace.conversations.list({ limit: 50 })) ids.push(conversation.id)

  expect(token).toMatchObject({ tokenType: 'Bearer', scope: 'conversations:read', scopes: ['conversations:read'] })
  expect(sandbox.requests.filter(({ operation }) => operation === 'listConversations')).toHaveLength(25)
  expect(ids).toEqual(sandbox.state.conversations.map(({ id }) => id))
})

/** Opens the consent page, submits its form with the Allow button, and returns the callback URL. */
async function pressAllow(url: string): Promise<string> {
  const page = await (await fetch(url)).text()
  const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1] ?? ''
  const form = new URLSearchParams()
  for (const [field] of page.matchAll(/<input[^>]+>/g)) {
    if (/type="radio"/.test(field) && !/\schecked/.test(field)) continue
    form.append(attribute(field, 'name'), attribute(field, 'value'))
  }
  for (const [, name, options] of page.matchAll(/<select[^>]* name="([^"]+)"[^>]*>([\s\S]*?)<\/select>/g)) {
    form.append(name ?? '', attribute(/<option[^>]*>/.exec(options ?? '')?.[0] ?? '', 'value'))
  }
  const allow = /<button[^>]*>\s*Allow/.exec(page)?.[0] ?? ''
  form.append(attribute(allow, 'name'), attribute(allow, 'value'))
  const response = await fetch(new URL(action, url), { method: 'POST', body: form, redirect: 'manual' })
  return response.headers.get('location') ?? ''
}

function attribute(tag: string, name: string): string {
  const text = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? ''
  return text.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#39;', "'")
}
