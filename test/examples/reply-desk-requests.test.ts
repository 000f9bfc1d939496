import { SupportWorkspace } from 'support-workspace-sdk'
import { Approvals } from 'support-workspace-sdk/approvals'
import { OAuthApp } from 'support-workspace-sdk/oauth'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { memoryStorage } from 'support-workspace-sdk/storage'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createSite } from '../../examples/reply-desk/site.ts'

const secret = 'a secret of 32 characters or more'
const url = 'http://127.0.0.1:3999'
const redirectUri = `${url}/login/callback`
const key = 'reply:1'
const draft = { body_html: '<p>Hello,</p><p>it arrives on Friday.</p>' }
let sandbox: Sandbox
let approvals: Approvals
let site: ReturnType<typeof createSite>

beforeEach(async () => {
  sandbox = await startSandbox({ conversations: 1, autoConsent: 'allow' })
  sandbox.registerRedirectUri(redirectUri)
  const accessToken = sandbox.issueToken({ actor: 'self' })
  const workspace = new SupportWorkspace({ baseUrl: sandbox.url, accessToken, actor: 'self' })
  const storage = memoryStorage()
  approvals = new Approvals({ workspace, storage, secret })
  const { clientId, clientSecret } = sandbox.app
  const app = new OAuthApp({ baseUrl: sandbox.url, clientId, clientSecret, redirectUri })
  site = createSite({ workspace, storage, approvals, secret }, app, url)
})

afterEach(async () => {
  vi.unstubAllGlobals()
  await sandbox.close()
})

const send = async (path: string, cookie: string, init: RequestInit = {}) =>
  site.fetch(new Request(url + path, { ...init, headers: { cookie, origin: url } }))

const cookieOf = (response: Response, name: string) =>
  response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';', 1)[0] ?? '')
    .find((cookie) => cookie.startsWith(name)) ?? ''

/** Logs in as a person whose name the service reports like this. Returns the cookie of the session. */
async function logIn(name = 'Ada'): Promise<string> {
  const { fetch } = globalThis
  const begun = await send('/login', '')
  const consented = await fetch(begun.headers.get('location') ?? '', { redirect: 'manual' })
  vi.stubGlobal('fetch', async (address: string, init: RequestInit) => {
    const response = await fetch(address, init)
    if (!address.endsWith('/me')) return response
    const me = await response.json()
    return Response.json({ ...me, user: { ...me.user, id: 'usr_ada', name } })
  })
  const back = consented.headers.get('location') ?? ''
  const ended = await send(back.slice(url.length), cookieOf(begun, ''))
  vi.stubGlobal('fetch', fetch)
  return cookieOf(ended, 'reply_desk=')
}

async function propose(): Promise<string> {
  const id = sandbox.state.conversations[0]?.id ?? ''
  const { digest } = await approvals.propose(key, (client) => client.messages.create(id, draft))
  return digest
}

/** Sends the form of a draft. A field that is undefined is left out. */
async function decide(fields: Readonly<Record<string, string | Blob | undefined>>): Promise<Response> {
  const body = new FormData()
  for (const [name, value] of Object.entries({ key, step: 'approve', digest: await propose(), ...fields })) {
    if (value !== undefined) body.append(name, value)
  }
  return send('/decide', await logIn(), { method: 'POST', body })
}

describe('the name of a person', () => {
  test.each([
    ['a line break', 'Bo Boss (usr_bo)\nAda', 'Bo Boss (usr_bo) Ada (usr_ada)'],
    ['a carriage return', 'Bo Boss (usr_bo)\r\nAda', 'Bo Boss (usr_bo) Ada (usr_ada)'],
    ['a line separator', 'Bo Boss (usr_bo)\u2028Ada', 'Bo Boss (usr_bo) Ada (usr_ada)'],
    ['a change of direction', 'Bo (usr_bo)\u202e\u2066Ada', 'Bo (usr_bo) Ada (usr_ada)'],
    ['quotes and braces', '{"by":"Bo"}', '{"by":"Bo"} (usr_ada)'],
    ['nothing that can be seen', '\u0000\u200f', 'Nameless (usr_ada)'],
  ])('with %s hides neither the person nor the id', async (_title, name, shown) => {
    const digest = await propose()
    const body = new URLSearchParams({ key, digest, step: 'approve', text: 'Hello' })
    const response = await send('/decide', await logIn(name), { method: 'POST', body })
    expect(response.status).toBe(303)
    expect((await approvals.get(key))?.decisions).toMatchObject([{ decision: 'approved', by: shown }])
  })
})

describe('the form of a draft', () => {
  test('approves the draft as it is, with the lines of a browser, if its text was not edited', async () => {
    expect((await decide({ text: 'Hello,\r\n\r\nit arrives on Friday.' })).status).toBe(303)
    expect(await approvals.get(key)).toMatchObject({ state: 'approved', body: draft })
  })

  test.each([
    ['the text is missing', { text: undefined }],
    ['the text is empty', { text: ' \r\n' }],
    ['the text is a file', { text: new Blob(['Hello']) }],
    ['the key is missing', { text: 'Hello', key: undefined }],
    ['the key is a file', { text: 'Hello', key: new Blob([key]) }],
    ['the key has a control character', { text: 'Hello', key: '\u0000' }],
    ['the digest is missing', { text: 'Hello', digest: undefined }],
    ['the step is missing', { text: 'Hello', step: undefined }],
  ])('is refused with a 400 if %s, and decides nothing', async (_title, fields) => {
    expect((await decide(fields)).status).toBe(400)
    expect(await approvals.get(key)).toMatchObject({ state: 'pending', body: draft, decisions: [] })
  })
})
