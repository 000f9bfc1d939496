import { gzipSync } from 'node:zlib'
import { type RequestError, UnexpectedResponseError } from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import { makeClient, rejection } from '../helpers/client.ts'
import { jitter } from '../helpers/clock.ts'
import {
  type RawRequest,
  type RawResponse,
  rawResponse,
  respond,
  respondJson,
  startRawServer,
} from '../helpers/raw-server.ts'

/** Starts a server that sends the same response to every request, and a client for it. It closes after the test. */
async function serve(
  response: RawResponse | ((request: RawRequest) => void),
  options: Parameters<typeof makeClient>[0] = {},
) {
  const server = await startRawServer({
    onRequest: (request) => (typeof response === 'function' ? response(request) : respond(request, response)),
  })
  return { server, client: makeClient({ baseUrl: server.url, maxRetries: 0, ...options }) }
}

const html = '<!doctype html><title>Sign in</title>'

describe('an unusable response with status 200', () => {
  test.each([
    ['only white space', { body: ' \n' }, 'not-json', 'the body is empty'],
    ['truncated UTF-8', { body: new Uint8Array([0x22, 0xc3]) }, 'not-json', 'the body is not UTF-8'],
    ['UTF-16', { body: Buffer.from('\ufeff{"data":{}}', 'utf16le') }, 'not-json', 'the body is not UTF-8'],
    ['two JSON documents', { body: '{"data":{}}{"data":{}}' }, 'not-json', 'the body is not JSON'],
    ['an error', { body: '{"error":"x"}' }, 'envelope', 'the body is not what was asked for, but an error x'],
    ['an error and more', { body: '{"error":"x","code":1}' }, 'envelope', 'the body has no `data`'],
    ['null', { body: 'null' }, 'envelope', 'expected a JSON object as the body, received null'],
    ['an array', { body: '[]' }, 'envelope', 'expected a JSON object as the body, received array'],
    ['a string', { body: '"ok"' }, 'envelope', 'expected a JSON object as the body, received string'],
    ['an empty object', { body: '{}' }, 'envelope', 'the body has no `data`'],
    ['`data` that is null', { body: '{"data":null}' }, 'envelope', 'expected an object in `data`, received null'],
    ['`data` that is an array', { body: '{"data":[]}' }, 'envelope', 'expected an object in `data`, received array'],
    ['`data` in __proto__', { body: '{"__proto__":{"data":{}}}' }, 'envelope', 'the body has no `data`'],
  ])('is rejected with the right reason: %s', async (_, response, reason, words) => {
    const { client } = await serve(response)
    const error = await rejection(client.members.get('1'))
    expect(error).toBeInstanceOf(UnexpectedResponseError)
    expect(error).toMatchObject({ reason, status: 200, outcome: 'no-effect', message: expect.stringContaining(words) })
  })

  test.each([
    ['{"data":{}}', 'expected an array in `data`, received object'],
    ['{"page_metadata":{}}', 'the body has no `data`'],
    ['{"data":null}', 'expected an array in `data`, received null'],
    ['{"data":"[]"}', 'expected an array in `data`, received string'],
    ['{"data":[],"page_metadata":[]}', 'expected an object in `page_metadata`, received array'],
    ['{"data":[],"page_metadata":"x"}', 'expected an object in `page_metadata`, received string'],
    ['{"data":[],"page_metadata":{"after":1}}', 'a string or null in `page_metadata.after`, received number'],
    ['{"data":[],"page_metadata":{"before":[]}}', 'a string or null in `page_metadata.before`, received array'],
  ])('is rejected for a list: %s', async (body, words) => {
    const { client } = await serve({ body })
    const error = await rejection(client.conversations.list().toArray())
    expect(error).toMatchObject({ reason: 'envelope', message: expect.stringContaining(words) })
  })

  test.each([
    ['an error body', '{"error":"forbidden"}', 'verify'],
    ['the HTML of a login page', html, 'retry'],
  ])('does not count as a successful delete: %s', async (_, body, remedy) => {
    const { client } = await serve({ body })
    const error = await rejection(client.messages.delete('c1', 'm1'))
    expect(error).toBeInstanceOf(UnexpectedResponseError)
    expect(error).toMatchObject({ outcome: 'unknown', remedy })
  })
})

const cutOff = { body: '{"data":{"id":"1"', contentLength: 500 }
const cutChunk = {
  ...cutOff,
  body: '5\r\n{"dat\r\n',
  headers: { 'transfer-encoding': 'chunked' },
  contentLength: null,
}
const notJson = { reason: 'not-json' }
test.each<[string, RawResponse, object, RegExp]>([
  ['cut off', cutOff, { name: 'NetworkError' }, /the response was cut off: /],
  ['cut off without a content-length', { ...cutOff, contentLength: null }, notJson, /the body is not JSON\. /],
  ['cut off between two chunks', cutChunk, { name: 'NetworkError' }, /the response was cut off: /],
  ['empty', {}, notJson, /the body is empty\. The response may have been cut off\. /],
  ['text', { body: 'Bad gateway' }, notJson, /the body is not JSON\. /],
  ['HTML', { body: html }, notJson, /the body is not JSON but HTML\. Make sure that `baseUrl`/],
  ['not UTF-8', { body: new Uint8Array([0x7b, 0xff, 0x7d]) }, notJson, /the body is not UTF-8\. /],
])('a read whose responses are unusable is retried, and then says why: %s', async (_, response, expected, words) => {
  jitter(0)
  const { server, client } = await serve(({ socket }) => socket.end(rawResponse(response)), { maxRetries: 2 })
  const error = (await rejection(client.members.get('1'))) as RequestError
  const attempt = { status: 200, error: error.name }
  expect(error).toMatchObject({
    ...expected,
    outcome: 'no-effect',
    remedy: 'retry',
    attempts: [{ ...attempt, wait: 0 }, { ...attempt, wait: 0 }, attempt],
  })
  expect(server.requests).toHaveLength(3)
  expect(error.message).toMatch(words)
  expect(error.message.includes('baseUrl')).toBe(response.body === html)
})

describe('an unusual but valid response', () => {
  test.each([
    ['with another content type', { headers: { 'content-type': 'text/plain' } }],
    ['without a content type', { headers: { 'content-type': '' } }],
    ['with an unusual charset', { headers: { 'content-type': 'application/json; charset=latin1' } }],
    ['with an unassigned 2xx status', { status: 299 }],
    ['with repeated headers', { headers: { 'x-request-id': ['a', 'b'], 'set-cookie': ['x=1', 'y=2'] } }],
    ['with a byte order mark', { body: '\ufeff{"data":{"id":"ä"}}' }],
  ])('%s is accepted', async (_, response) => {
    const { client } = await serve({ body: '{"data":{"id":"ä"}}', ...response })
    expect(await client.members.get('1')).toEqual({ id: 'ä' })
  })

  test('that arrives byte by byte is accepted, even when a character is split', async () => {
    const { client } = await serve(async ({ socket }) => {
      for (const byte of rawResponse({ body: '{"data":{"id":"ä€😀"}}' })) {
        await new Promise((resolve) => socket.write(Buffer.from([byte]), resolve))
      }
    })
    expect(await client.members.get('1')).toEqual({ id: 'ä€😀' })
  })

  test('after informational responses (102 and 103) is accepted', async () => {
    const { client } = await serve(({ socket }) => {
      socket.write('HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n')
      respondJson({ socket }, { data: { id: '1' } })
    })
    expect(await client.members.get('1')).toEqual({ id: '1' })
  })

  test.each([' \n', '{"data":{"deleted":true}}'])('counts as a successful delete with the body %j', async (body) => {
    const { client } = await serve({ body })
    expect(await client.messages.delete('c1', 'm1')).toBeUndefined()
  })

  test.each([200, 201, 202, 204, 205])('with status %i and no body is undefined if no data is due', async (status) => {
    const { client } = await serve({ status, contentLength: status === 204 ? null : 0 })
    expect(await client.messages.delete('c1', 'm1')).toBeUndefined()
    expect(await client.request('DELETE', '/x')).toBeUndefined()
  })
})

describe('a malicious or broken response', () => {
  test('does not change a prototype', async () => {
    const body = '{"data":{"id":"1","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}}'
    for (const validation of ['observe', 'strict', 'off'] as const) {
      const { client } = await serve({ body }, { validation, onDrift: () => {} })
      const member = await client.members.get('1')
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
      expect((member as { polluted?: unknown }).polluted).toBeUndefined()
      expect(Object.hasOwn(member, '__proto__')).toBe(true)
    }
  })

  test('with __proto__ in page_metadata or in an error has no effect', async () => {
    const { client } = await serve({ body: '{"data":[],"page_metadata":{"__proto__":{"after":"x"}}}' })
    expect(await client.conversations.list()).toMatchObject({ data: [], after: null, before: null })
    const failing = await serve({ status: 400, body: '{"__proto__":{"error":"x"},"error":"__proto__"}' })
    expect(await rejection(failing.client.me())).toMatchObject({ name: 'BadRequestError', code: '__proto__' })
  })

  test.each(['observe', 'strict', 'off'] as const)('nested 100,000 levels deep is read: %s', async (validation) => {
    const depth = 100_000
    const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`
    const body = `{"data":{"id":"1","unknown":${deep}}}`
    const { client } = await serve({ body }, { validation, onDrift: () => {} })
    expect(await client.members.get('1')).toMatchObject({ id: '1' })
    const failing = await serve({ status: 422, body: `{"error":${deep.slice(0, 20_000)}` })
    expect(await rejection(failing.client.me())).toMatchObject({ name: 'UnprocessableError' })
  })

  test('that is too long is read only up to maxResponseBytes', async () => {
    const megabyte = Buffer.alloc(1_048_576, ' ')
    let written = 0
    const { server, client } = await serve(
      ({ socket }) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 52428800\r\n\r\n')
        const more = () => {
          while (written < 50 && !socket.destroyed) {
            written += 1
            if (!socket.write(megabyte)) return
          }
        }
        socket.on('drain', more)
        more()
      },
      { maxResponseBytes: 1_000_000 },
    )
    const error = await rejection(client.members.list())
    expect(error).toMatchObject({ reason: 'too-large', message: expect.stringContaining('1000000 bytes') })
    await server.idle()
    expect(written).toBeLessThan(50)
  })

  test('that exceeds maxResponseBytes after decompression is rejected', async () => {
    const body = gzipSync(Buffer.alloc(5_000_000, ' '))
    expect(body.length).toBeLessThan(6_000)
    const { client } = await serve({ body, headers: { 'content-encoding': 'gzip' } }, { maxResponseBytes: 1_000_000 })
    expect(await rejection(client.members.list())).toMatchObject({ reason: 'too-large' })
  })

  test('that is an error of 5 MB keeps its status and is not read to its end', async () => {
    const { server, client } = await serve({ status: 404, body: Buffer.alloc(5_000_000, ' ') })
    expect(await rejection(client.me())).toMatchObject({ name: 'NotFoundError', code: undefined })
    await server.idle()
  })

  test('of exactly maxResponseBytes is accepted', async () => {
    const body = '{"data":{"id":"1"}}'
    const { client } = await serve({ body }, { maxResponseBytes: body.length })
    expect(await client.members.get('1')).toEqual({ id: '1' })
  })

  test('with more bytes than its content-length is rejected instead of returned in part', async () => {
    const response = rawResponse({ body: '{"data":{"id":"1"}}', contentLength: 5 })
    const { client } = await serve(({ socket }) => socket.end(response))
    const name = expect.stringMatching(/^(Network|UnexpectedResponse)Error$/)
    expect(await rejection(client.members.get('1'))).toMatchObject({ outcome: 'no-effect', name })
  })

  test.each([
    ['bytes that are not HTTP', 'hello there\r\n\r\n'],
    ['an invalid header', 'HTTP/1.1 200 OK\r\nno colon here\r\n\r\n'],
    ['an invalid status', 'HTTP/1.1 99999 OK\r\ncontent-length: 0\r\n\r\n'],
    ['an unexpected 100 Continue', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['two content-length headers', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}'],
    ['a protocol switch', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['an invalid chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n'],
    ['invalid gzip data', 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}'],
    ['headers that never end', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}`],
  ])('with %s is rejected with a NetworkError', async (_, bytes) => {
    const { client } = await serve(({ socket }) => socket.end(bytes))
    const error = await rejection(client.members.get('1'))
    expect(error).toMatchObject({ name: 'NetworkError', outcome: 'no-effect' })
    expect(String(error)).toMatch(/(received no response|the response was cut off): .+\. Check the network/)
  })
})
