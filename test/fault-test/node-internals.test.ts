import { createHook } from 'node:async_hooks'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { activeSockets, isPending, kindOf } from '../../src/fault-test/node-internals.ts'

const hint = (what: string) =>
  `Node ${process.version} has changed ${what}, which it never documented. Adapt src/fault-test/node-internals.ts.`

/** Returns the resources that an operation creates, by type. */
async function resourcesOf(run: () => Promise<unknown>): Promise<ReadonlyMap<string, object>> {
  const found = new Map<string, object>()
  const hook = createHook({ init: (_, type, __, resource) => void found.set(type, resource) }).enable()
  await run().finally(() => hook.disable())
  return found
}

test.each<[type: string, kind: string, run: () => Promise<unknown>]>([
  ['Immediate', 'operation', () => new Promise((resolve) => setImmediate(resolve))],
  ['FSREQCALLBACK', 'operation', async () => promisify((await import('node:fs')).readFile)(process.execPath)],
  ['FSREQPROMISE', 'operation', async () => (await import('node:fs/promises')).stat('.')],
  ['ZLIB', 'operation', () => promisify(gzip)('text')],
  ['GETADDRINFOREQWRAP', 'operation', async () => (await import('node:dns/promises')).lookup('localhost')],
  ['PBKDF2REQUEST', 'operation', async () => promisify((await import('node:crypto')).pbkdf2)('a', 'b', 1, 8, 'sha256')],
  [
    'PROCESSWRAP',
    'operation',
    async () => promisify((await import('node:child_process')).execFile)(process.execPath, ['--version']),
  ],
  [
    'WORKER',
    'operation',
    async () => once(new (await import('node:worker_threads')).Worker('', { eval: true }), 'exit'),
  ],
  ['TCPWRAP', 'connection', async () => void (await connected()).destroy()],
])('Node still calls it %s, which counts as one %s', async (type, kind, run) => {
  const found = await resourcesOf(run)
  expect([...found.keys()], hint(`the name of the resource ${type}`)).toContain(type)
  expect(kindOf(type)).toBe(kind)
})

test('an immediate is pending until it was cleared', async () => {
  const immediate = setImmediate(() => {})
  expect(isPending('Immediate', immediate), hint('`_onImmediate` of immediates')).toBe(true)
  clearImmediate(immediate)
  expect(isPending('Immediate', immediate), hint('`_onImmediate` of immediates')).toBe(false)
})

test('compression is pending while it has a part to compress', async () => {
  let during = false
  const found = new Map<string, object>()
  const hook = createHook({ init: (_, type, __, resource) => void found.set(type, resource) }).enable()
  const compressed = promisify(gzip)(Buffer.alloc(100_000))
  hook.disable()
  const resource = found.get('ZLIB') ?? {}
  during = isPending('ZLIB', resource)
  await compressed
  expect([during, isPending('ZLIB', resource)], hint('`buffer` of compression')).toEqual([true, false])
})

test('cryptography is pending in the background, and not if it ended at once', async () => {
  const { pbkdf2, pbkdf2Sync } = await import('node:crypto')
  const background = await resourcesOf(() => promisify(pbkdf2)('a', 'b', 1, 8, 'sha256'))
  const atOnce = await resourcesOf(async () => pbkdf2Sync('a', 'b', 1, 8, 'sha256'))
  const pending = [background, atOnce].map((found) => isPending('PBKDF2REQUEST', found.get('PBKDF2REQUEST') ?? {}))
  expect(pending, hint('`ondone` of cryptography')).toEqual([true, false])
})

test('a socket in use is among the active handles', async () => {
  const socket = await connected()
  expect(activeSockets(), hint('`process._getActiveHandles`')).toContain(socket)
})

async function connected(): Promise<Socket> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as { port: number }).port, '127.0.0.1')
  await once(socket, 'connect')
  onTestFinished(() => {
    socket.destroy()
    server.close()
  })
  return socket
}
