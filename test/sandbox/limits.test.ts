import { beforeEach, describe, expect, test } from 'vitest'
import { createSandbox, type Sandbox } from '../../src/sandbox/index.ts'
import { useSandboxes } from './helpers.ts'

const start = useSandboxes()
let sandbox: Sandbox

beforeEach(async () => {
  sandbox = await start()
})

const mebibyte = 1024 * 1024
const json = { 'content-type': 'application/json' }

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
