import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { describe, expect, test, vi } from 'vitest'
import { Grants } from '../../src/sandbox/data/grants.ts'
import { Service } from '../../src/sandbox/service.ts'
import { readSandboxOptions } from '../../src/sandbox/settings.ts'
import { createSandbox, type Sandbox } from '../../src/sandbox.ts'
import { sendRaw, useSandboxes } from './helpers.ts'

const start = useSandboxes()
const mebibyte = 1024 * 1024
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { 'content-type': 'application/json' }

const post = (sandbox: Sandbox, path: string, body: BodyInit, headers: Record<string, string> = {}) =>
  sandbox.fetch(sandbox.url + path, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)

/** A body of this many chunks, which is not limited by a `content-length`. Counts the chunks that were read. */
function chunks(count: number, bytes: number): { body: ReadableStream; read: () => number } {
  let read = 0
  const body = new ReadableStream(
    {
      pull(controller) {
        read += 1
        controller.enqueue(new Uint8Array(bytes).fill(0x78))
        if (read === count) controller.close()
      },
    },
    { highWaterMark: 0 },
  )
  return { body, read: () => read }
}

describe('a request body', () => {
  test('can have 1 MiB', async () => {
    const sandbox = await start()
    const response = await fetch(`${sandbox.url}/nothing`, { method: 'POST', body: 'x'.repeat(mebibyte) })
    expect(response.status).toBe(404)
    expect(sandbox.requests[0]?.body).toHaveLength(mebibyte)
  })

  test.each(['/nothing', '/api/oauth/token', '/api/oauth/v1/contacts'])('over 1 MiB gets a 413 at %s', async (path) => {
    const sandbox = await start()
    const init = { method: 'POST', headers: json, body: 'x'.repeat(mebibyte + 1) }
    const response = await fetch(sandbox.url + path, init)
    expect(response.status).toBe(413)
    expect(await response.json()).toEqual({
      error: 'content_too_large',
      error_description: 'The body is larger than 1 MiB.',
    })
    expect(sandbox.requests.map(({ body, status }) => [body, status])).toEqual([[undefined, 413]])
  })

  test('over 1 MiB in chunks gets a 413 before the rest was sent', async () => {
    const sandbox = await start()
    const sent = httpRequest(`${sandbox.url}/nothing`, { method: 'POST' })
    sent.on('error', () => {})
    // The request never ends.
    sent.write('x'.repeat(mebibyte + 1))
    const [response] = await once(sent, 'response')
    expect(response.statusCode).toBe(413)
    sent.destroy()
  })

  test('over 1 MiB gets a 413 before any of it was sent', async () => {
    const sandbox = await start()
    const sent = httpRequest(`${sandbox.url}/nothing`, { method: 'POST', headers: { 'content-length': mebibyte + 1 } })
    sent.on('error', () => {})
    sent.flushHeaders()
    const [response] = await once(sent, 'response')
    expect(response.statusCode).toBe(413)
    sent.destroy()
  })

  test('over 1 MiB is not read to its end', async () => {
    const { body, read } = chunks(1_000, mebibyte / 4)
    expect((await post(createSandbox(), '/nothing', body)).status).toBe(413)
    expect(read()).toBe(5)
  })

  test('is decoded across chunks', async () => {
    const sandbox = await start()
    const bytes = [...Buffer.from('{"name":"é€"}')]
    const body = bytes.map((byte) => `1\r\n${String.fromCharCode(byte)}\r\n`).join('')
    const head = 'POST /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n'
    await sendRaw(sandbox, `${head}Transfer-Encoding: chunked\r\n\r\n${body}0\r\n\r\n`)
    expect(sandbox.requests[0]?.body).toEqual({ name: 'é€' })
  })
})

describe('the requests that are kept', () => {
  test.each([
    ['empty arrays', (bytes: number) => `[${'[],'.repeat(bytes / 3)}0]`],
    ['empty objects', (bytes: number) => `[${'{},'.repeat(bytes / 3)}0]`],
    ['short names', (bytes: number) => `{${Array.from({ length: bytes / 10 }, (_, at) => `"${at}":0`)}}`],
  ])('count what %s occupy in memory, not their text', async (_, textOf) => {
    const sandbox = createSandbox()
    const text = textOf(390_000)
    for (let count = 0; count < 20; count += 1) await post(sandbox, '/', text, json)
    expect(sandbox.requests.length).toBeLessThan(20)
  })

  test('have at least the last one', async () => {
    const sandbox = createSandbox()
    for (let count = 0; count < 2; count += 1) await post(sandbox, '/', `[${'[],'.repeat(340_000)}0]`, json)
    expect(sandbox.requests).toMatchObject([{ status: 404 }])
  })

  test('hold up to 32 MiB of bodies', async () => {
    const sandbox = createSandbox()
    const body = 'x'.repeat(mebibyte)
    for (let count = 0; count < 40; count += 1) await post(sandbox, `/${count}`, body)
    expect(sandbox.requests).toHaveLength(31)
    expect(sandbox.requests.at(-1)?.path).toBe('/39')
    sandbox.clearRequests()
    await post(sandbox, '/again', body)
    expect(sandbox.requests).toHaveLength(1)
  })

  test('hold up to 32 MiB of URLs and headers', async () => {
    const sandbox = createSandbox()
    const half = 'x'.repeat(mebibyte / 2)
    for (let count = 0; count < 40; count += 1) {
      await sandbox.fetch(`${sandbox.url}/?${half}`, { headers: { 'x-filler': half } })
    }
    expect(sandbox.requests).toHaveLength(31)
  })
})

// Each of these would take minutes if the work grew with the square of the size.
describe('a large request is handled in linear time', () => {
  const names = Array.from({ length: 150_000 }, (_, index) => index.toString(36))

  test('a form of 64 KiB, and larger ones are refused', async () => {
    const sandbox = createSandbox()
    const fields = 'a&'.repeat(32 * 1024)
    expect((await post(sandbox, '/api/oauth/token', fields, form)).status).toBe(400)
    expect(sandbox.requests[0]?.body).toHaveProperty('a.length', 32 * 1024)
    const refused = await post(sandbox, '/api/oauth/token', `${fields}&`, form)
    expect(refused.status).toBe(413)
    expect(await refused.json()).toMatchObject({ error_description: 'The form is larger than 64 KiB.' })
  })

  test('a consent with 80,000 names in JSON', async () => {
    // `set` searches every earlier name.
    const set = vi.spyOn(URLSearchParams.prototype, 'set')
    const body = JSON.stringify(Object.fromEntries(names.slice(0, 80_000).map((name) => [`n${name}`, ''])))
    expect((await post(createSandbox(), '/api/oauth/authorize/consent', body, json)).status).toBe(400)
    expect(set).not.toHaveBeenCalled()
    set.mockRestore()
  })

  test('a message with a million unclosed tags', async () => {
    const sandbox = createSandbox()
    const id = sandbox.state.conversations[0]?.id ?? ''
    const text = '<'.repeat(1_000_000)
    const headers = { ...json, authorization: `Bearer ${sandbox.issueToken({ actor: 'self' })}` }
    const body = JSON.stringify({ body_html: text })
    expect((await post(sandbox, `/api/oauth/v1/conversations/${id}/messages`, body, headers)).status).toBe(201)
    expect(sandbox.state.conversations[0]?.last_message).toBe(text)
  })
})

test('a large sandbox is filled in linear time', () => {
  const many = { organizations: 1, conversations: 60_000, messagesPerConversation: 1, contacts: 60_000 }
  expect(createSandbox(many).state.contacts).toHaveLength(60_000)
  const long = { organizations: 1, conversations: 1, messagesPerConversation: 60_000 }
  expect(createSandbox(long).state.conversations).toHaveLength(1)
})

test('keeps the last 10,000 authorization codes', () => {
  const grants = new Grants(() => 0)
  const grant = { actor: 'app', scopes: [], organizationId: 'org', memberId: undefined } as const
  const add = () => grants.addCode({ grant, redirectUri: 'a:b', codeChallenge: '', expiresAt: 1 })
  const codes = Array.from({ length: 10_001 }, add)
  expect(codes.map((code) => grants.code(code) !== undefined).indexOf(true)).toBe(1)
  expect(grants.code(codes[10_000] ?? '')).toBeDefined()
})

describe('JSON that is nested', () => {
  const nested = (depth: number) => `{"deep":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
  const createTask = (sandbox: Sandbox, depth: number) => {
    const headers = { ...json, authorization: `Bearer ${sandbox.issueToken()}` }
    return post(sandbox, '/api/oauth/v1/tasks', nested(depth), headers)
  }

  test('100 levels deep is stored', async () => {
    const sandbox = createSandbox()
    expect((await createTask(sandbox, 100)).status).toBe(201)
    expect(sandbox.state.tasks).toHaveLength(6)
  })

  test.each([101, 100_000])('%i levels deep gets a 422 and is recorded as text', async (depth) => {
    const sandbox = createSandbox()
    const response = await createTask(sandbox, depth)
    expect([response.status, await response.json()]).toEqual([
      422,
      {
        error: 'validation_failed',
        error_description: 'The body must not be nested more than 100 levels deep.',
      },
    ])
    expect(sandbox.requests[0]?.body).toBe(nested(depth))
    expect(sandbox.state.tasks).toHaveLength(5)
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
  expect(await response.json()).toEqual({
    error: 'server_error',
    error_description: 'The sandbox failed to handle the request.',
  })
})

test('keeps the last 100,000 writes', () => {
  const service = new Service(readSandboxOptions({ conversations: 0 }))
  for (let at = 0; at <= 100_000; at += 1) service.addWrite({ operation: 'createContact', path: '/', at })
  expect([service.writes.length, service.writes[0]?.at, service.writes.at(-1)?.at]).toEqual([100_000, 1, 100_000])
})
