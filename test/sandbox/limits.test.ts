import { beforeEach, describe, expect, test } from 'vitest'
import { createSandbox, type Sandbox } from '../../src/sandbox/index.ts'
import { useSandboxes } from './helpers.ts'

const start = useSandboxes()
let sandbox: Sandbox

beforeEach(async () => {
  sandbox = await start()
})

const mebibyte = 1024 * 1024
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { 'content-type': 'application/json' }

const post = (sandbox: Sandbox, path: string, body: BodyInit, headers: Record<string, string> = {}) =>
  sandbox.fetch(sandbox.url + path, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)

describe('a request body', () => {
  test('can have 1 MiB', async () => {
    const response = await fetch(`${sandbox.url}/nothing`, { method: 'POST', body: 'x'.repeat(mebibyte) })
    expect(response.status).toBe(404)
    expect(sandbox.requests[0]?.body).toHaveLength(mebibyte)
  })

  test('over 1 MiB gets a 413', async () => {
    const body = 'x'.repeat(mebibyte + 1)
    const response = await fetch(`${sandbox.url}/api/oauth/v1/contacts`, { method: 'POST', headers: json, body })
    const problem = { error: 'content_too_large', error_description: 'The body is larger than 1 MiB.' }
    expect([response.status, await response.json()]).toEqual([413, problem])
    expect(sandbox.requests.map(({ body, status }) => [body, status])).toEqual([[undefined, 413]])
  })
})

// Each of these would take minutes if the work grew with the square of the size.
describe('a large request is handled in linear time', () => {
  test('a form of 64 KiB, and larger ones are refused', async () => {
    const fields = 'a&'.repeat(32 * 1024)
    expect((await post(sandbox, '/api/oauth/token', fields, form)).status).toBe(400)
    expect(sandbox.requests[0]?.body).toHaveProperty('a.length', 32 * 1024)
    const refused = await post(sandbox, '/api/oauth/token', `${fields}&`, form)
    expect(refused.status).toBe(413)
    expect(await refused.json()).toMatchObject({ error_description: 'The form is larger than 64 KiB.' })
  })

  test('a message with a million unclosed tags', async () => {
    const id = sandbox.state.conversations[0]?.id ?? ''
    const text = '<'.repeat(1_000_000)
    const headers = { ...json, authorization: `Bearer ${sandbox.issueToken({ actor: 'self' })}` }
    const body = JSON.stringify({ body_html: text })
    expect((await post(sandbox, `/api/oauth/v1/conversations/${id}/messages`, body, headers)).status).toBe(201)
    expect(sandbox.state.conversations[0]?.last_message).toBe(text)
  })
})

test('a large sandbox is filled in linear time', () => {
  const many = { organizations: 1, conversations: 20_000, messagesPerConversation: 1, contacts: 20_000 }
  expect(createSandbox(many).state.contacts).toHaveLength(20_000)
  const long = { organizations: 1, conversations: 1, messagesPerConversation: 20_000 }
  expect(createSandbox(long).state.conversations).toHaveLength(1)
})

test('the response to an unexpected error does not quote it', async () => {
  const sandbox = createSandbox({ now: () => (broken ? failure() : 0) })
  let broken = false
  const failure = () => {
    throw new TypeError('Invalid header http://localhost:3000/?code=code_secret')
  }
  const headers = { ...json, authorization: `Bearer ${sandbox.issueToken({ actor: 'self' })}` }
  broken = true
  const response = await sandbox.fetch(`${sandbox.url}/api/oauth/v1/me`, { headers })
  expect(response.status).toBe(500)
  const error_description = 'The sandbox failed to handle the request.'
  expect(await response.json()).toEqual({ error: 'server_error', error_description })
})
