import { beforeEach, describe, expect, test } from 'vitest'
import { parseFault, type Sandbox } from '../../src/sandbox/index.ts'
import { call, sendRaw, useSandboxes } from './helpers.ts'

const start = useSandboxes()
let sandbox: Sandbox

beforeEach(async () => {
  sandbox = await start()
})

const conversations = '/api/oauth/v1/conversations'

function list(init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${sandbox.issueToken()}` }
  return fetch(`${sandbox.url}${conversations}?limit=5`, { headers, ...init })
}

/** Adds a note. Rejects if there is no complete response. */
function addNote() {
  const path = `${conversations}/${sandbox.state.conversations[0]?.id}/notes`
  return call(sandbox, sandbox.issueToken({ actor: 'self' }), 'POST', path, { body_html: 'Once' })
}

const noteWrites = (): number => sandbox.state.writes.filter(({ operation }) => operation === 'createNote').length

/** Lists conversations over a socket and returns the bytes of the response as text. */
async function rawResponse(): Promise<string> {
  const { host } = new URL(sandbox.url)
  const authorization = `Bearer ${sandbox.issueToken()}`
  const request = `GET ${conversations} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${authorization}\r\n\r\n`
  return (await sendRaw(sandbox, request)).toString()
}

describe('a fault with a status', () => {
  test('replaces one response, and the request takes no effect', async () => {
    sandbox.failNext({ status: 503 })
    const failed = await list()
    expect(failed.status).toBe(503)
    expect(await failed.json()).toEqual({ error: 'server_error', error_description: expect.any(String) })
    expect(failed.headers.has('x-request-id')).toBe(true)
    expect((await list()).status).toBe(200)
    sandbox.failNext({ status: 500 })
    await addNote()
    expect(noteWrites()).toBe(0)
  })

  test.each([
    ['seconds', 7, '7'],
    ['a date', new Date('2026-03-01T10:00:00Z'), 'Sun, 01 Mar 2026 10:00:00 GMT'],
    ['any text', 'soon', 'soon'],
  ])('sends Retry-After as %s', async (_, retryAfter, header) => {
    sandbox.failNext({ status: 429, retryAfter })
    const response = await list()
    expect(response.headers.get('retry-after')).toBe(header)
    expect(await response.json()).toMatchObject({ error: 'rate_limited' })
  })

  test('sends the given body and headers', async () => {
    sandbox.failNext({ status: 418, body: { error: 'teapot' }, headers: { 'x-request-id': 'r-1' } })
    const json = await list()
    expect([json.headers.get('x-request-id'), await json.json()]).toEqual(['r-1', { error: 'teapot' }])
    sandbox.failNext({ status: 502, body: 'Bad gateway', headers: { 'content-type': 'text/html' } })
    const text = await list()
    expect([text.headers.get('content-type'), await text.text()]).toEqual(['text/html', 'Bad gateway'])
    sandbox.failNext({ status: 500, body: null })
    expect(await (await list()).text()).toBe('')
    sandbox.failNext({ status: 204, body: 'never sent' })
    expect((await list()).status).toBe(204)
  })
})

describe('a dropped connection', () => {
  test.each([
    ['before-effect', 'nothing', /^$/],
    ['after-effect', 'nothing', /^$/],
    ['mid-headers', 'half of a header', /^HTTP\/1\.1 200 OK\r\ncontent-type: \w+$/],
  ] as const)('%s sends %s', async (drop, _, sent) => {
    sandbox.failNext({ drop })
    expect(await rawResponse()).toMatch(sent)
    expect(sandbox.requests.at(-1)?.status).toBeUndefined()
  })

  test('mid-body sends the full content-length and half of the body', async () => {
    const whole = await (await list()).text()
    sandbox.failNext({ drop: 'mid-body' })
    const [head = '', body = ''] = (await rawResponse()).split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    const promised = Number(/^content-length: (\d+)$/im.exec(head)?.[1])
    expect(promised).toBe(Buffer.byteLength(whole))
    expect(Buffer.byteLength(body)).toBe(Math.floor(promised / 2))
    expect(whole.startsWith(body)).toBe(true)
    expect(sandbox.requests.at(-1)?.status).toBe(200)
  })

  test('mid-body drops a response without a body before its headers', async () => {
    sandbox.failNext({ drop: 'mid-body' })
    const path = `${conversations}/${sandbox.state.conversations[0]?.id}/assignee`
    await expect(call(sandbox, sandbox.issueToken(), 'DELETE', path)).rejects.toThrow('fetch failed')
    expect(sandbox.requests.at(-1)?.status).toBeUndefined()
  })
})

describe('a damaged response', () => {
  test('stall sends the first half of the body and then nothing', async () => {
    const whole = await (await list()).text()
    sandbox.failNext({ stall: true })
    const controller = new AbortController()
    const response = await list({ signal: controller.signal })
    const reader = response.body?.getReader()
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(whole.slice(0, Math.floor(whole.length / 2)))
    const rest = reader?.read()
    controller.abort()
    await expect(rest).rejects.toThrow('aborted')
  })

  test('truncate sends the first half of the body as a complete response', async () => {
    const whole = await (await list()).text()
    sandbox.failNext({ truncate: true })
    const response = await list()
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(await response.text()).toBe(whole.slice(0, Buffer.byteLength(whole) / 2))
  })

  test('garbage sends an HTML page with status 200', async () => {
    sandbox.failNext({ garbage: true })
    const response = await list()
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await response.text()).toMatch(/^<!doctype html>/)
  })

  test('drip sends the whole body in chunks', async () => {
    const whole = await (await list()).text()
    const bytes = Math.ceil(Buffer.byteLength(whole) / 20)
    sandbox.failNext({ drip: { bytes, interval: 15 } })
    const pieces: Uint8Array[] = []
    for await (const piece of (await list()).body ?? []) pieces.push(piece)
    // A busy machine reads two at a time.
    expect(pieces.length).toBeGreaterThan(1)
    expect(pieces.slice(0, -1).filter(({ length }) => length % bytes !== 0)).toEqual([])
    expect(Buffer.concat(pieces).toString()).toBe(whole)
  })
})

describe('fault rules', () => {
  test('match requests by method and by the end of a path', async () => {
    sandbox.faults.add({ status: 500, method: 'post' })
    sandbox.faults.add(parseFault('status=501,path=/me'))
    sandbox.faults.add({ status: 502, path: /\/assignee$/g, times: Infinity })
    expect((await list()).status).toBe(200)
    const token = sandbox.issueToken()
    const statusOf = async (method: string, path: string) =>
      (await call(sandbox, token, method, `/api/oauth/v1${path}`)).status
    expect(await statusOf('GET', '/me/more')).toBe(404)
    expect(await statusOf('GET', '/me')).toBe(501)
    expect(await statusOf('POST', '/contacts')).toBe(500)
    expect(await statusOf('DELETE', '/conversations/1/assignee')).toBe(502)
    expect(await statusOf('DELETE', '/conversations/1/assignee')).toBe(502)
    expect(sandbox.faults.pending).toBe(1)
    sandbox.faults.clear()
    expect(await statusOf('DELETE', '/conversations/1/assignee')).toBe(404)
  })

  test('happen at random, and at the same requests for the same seed', async () => {
    const failing = async (seed: number) => {
      const remove = sandbox.faults.add({ status: 500, probability: 0.5, seed, times: Infinity })
      const statuses: number[] = []
      for (let count = 0; count < 20; count += 1) statuses.push((await list()).status)
      remove()
      return statuses
    }
    const first = await failing(7)
    expect(new Set(first)).toEqual(new Set([200, 500]))
    expect(await failing(7)).toEqual(first)
    expect(await failing(8)).not.toEqual(first)
  })

  test('apply in the order they were added, and can be removed one by one', async () => {
    const remove = sandbox.faults.add({ status: 500 })
    sandbox.faults.add({ status: 501 })
    sandbox.faults.add({ status: 502 })
    remove()
    expect([(await list()).status, (await list()).status]).toEqual([501, 502])
  })
})
