import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createSandbox, type SandboxState, startSandbox } from '../../src/sandbox/index.ts'
import { call, useSandboxes } from './helpers.ts'

const start = useSandboxes()

describe('the state', () => {
  test('is the same for the same options, and depends on the seed', () => {
    const options = { conversations: 12, messagesPerConversation: 2 }
    const [one, other] = [createSandbox(options).state, createSandbox(options).state]
    expect(JSON.stringify(one)).toBe(JSON.stringify(other))
    for (const { id } of one.conversations) {
      expect(one.messages(id)).toHaveLength(2)
      expect(one.messages(id)).toEqual(other.messages(id))
      expect(one.notes(id)).toEqual(other.notes(id))
    }
    const firstId = (seed: number) => createSandbox({ ...options, seed }).state.conversations[0]?.id
    expect(firstId(24_301)).toBe(one.conversations[0]?.id)
    expect(firstId(7)).not.toBe(firstId(24_301))
  })

  test('has the requested number of items in each organization', () => {
    const counts = { conversations: 7, contacts: 4, members: 3, tasks: 2, segments: 1 }
    const { state } = createSandbox({ ...counts, organizations: 5 })
    expect(new Set(state.organizations.map(({ id }) => id)).size).toBe(5)
    for (const { id } of state.organizations) {
      const of = state.of(id)
      const found = Object.keys(counts).map((name) => [name, of[name as keyof typeof counts].length])
      expect(Object.fromEntries(found)).toEqual(counts)
    }
    expect(() => state.of('org_none')).toThrow(/no organization "org_none"/)
  })

  test('is returned as copies', async () => {
    const sandbox = await start({ conversations: 2, contacts: 2 })
    await call(sandbox, sandbox.issueToken(), 'POST', '/api/oauth/v1/tasks', { title: 'New' })
    const views = (state: SandboxState) => ({
      ...state,
      threads: state.conversations.map((each) => [state.messages(each.id), state.notes(each.id)]),
      elsewhere: { ...state.of(state.organizations[1]?.id ?? '') },
    })
    const before = structuredClone(views(sandbox.state))
    // An empty view could not show that it is a copy.
    for (const [name, view] of Object.entries(before)) expect(view, name).not.toEqual([])
    for (const kind of [0, 1]) expect(before.threads.some((thread) => thread[kind]?.length)).toBe(true)
    overwriteValues(views(sandbox.state))
    expect(views(sandbox.state)).toEqual(before)
  })

  test('lists the writes that took effect', async () => {
    const sandbox = await start({ now: () => 1_000 })
    const path = '/api/oauth/v1/contacts'
    const { body } = await call(sandbox, sandbox.issueToken({ actor: 'self' }), 'POST', path, { email: 'a@b.example' })
    await call(sandbox, sandbox.issueToken(), 'POST', path, { email: 'c@d.example' })
    expect(sandbox.state.writes).toEqual([{ operation: 'createContact', path, id: body.data.id, at: 1_000 }])
  })
})

describe('fetch', () => {
  test.each([
    ['refused', { code: 'ECONNREFUSED', syscall: 'connect' }],
    ['before-effect', { code: 'UND_ERR_SOCKET' }],
    ['after-effect', { code: 'UND_ERR_SOCKET' }],
    ['mid-headers', { code: 'UND_ERR_SOCKET' }],
  ] as const)('rejects like Node’s fetch after a drop %s', async (drop, cause) => {
    const sandbox = createSandbox()
    sandbox.failNext({ drop })
    const response = sandbox.fetch(`${sandbox.url}/api/oauth/v1/me`)
    await expect(response).rejects.toMatchObject({ name: 'TypeError', message: 'fetch failed', cause })
  })

  test('returns half of the body and then an error after a drop mid-body', async () => {
    const sandbox = createSandbox()
    sandbox.failNext({ drop: 'mid-body' })
    const response = await sandbox.fetch(`${sandbox.url}/api/oauth/v1/me`)
    expect(response.status).toBe(401)
    const reader = response.body?.getReader()
    const received = (await reader?.read())?.value?.length
    expect(received).toBeGreaterThan(0)
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(received ?? 0)
    await expect(reader?.read()).rejects.toThrow(new TypeError('terminated'))
  })

  test('rejects with the abort reason, also while a body is read', async () => {
    const sandbox = createSandbox()
    sandbox.faults.add({ drip: { bytes: 10, interval: 60_000 } })
    sandbox.faults.add({ latency: 60_000, times: 2 })
    const controller = new AbortController()
    const { signal } = controller
    const me = () => sandbox.fetch(`${sandbox.url}/api/oauth/v1/me`, { signal })
    const ended = Promise.allSettled([(await me()).text(), me()])
    const reason = new Error('No longer needed')
    controller.abort(reason)
    const reasons = (await ended).map((each) => each.status === 'rejected' && each.reason)
    expect(reasons.map((each) => each === reason)).toEqual([true, true])
    await expect(me()).rejects.toBe(reason)
    await sandbox.close()
  })
})

test('the rest of a dripping response is sent at once when the sandbox closes', async () => {
  const sandbox = createSandbox()
  sandbox.failNext({ drip: { bytes: 10, interval: 60_000 } })
  const text = (await sandbox.fetch(`${sandbox.url}/api/oauth/v1/me`)).text()
  await sandbox.close()
  expect(JSON.parse(await text)).toMatchObject({ error: 'invalid_token' })
})

describe('starting', () => {
  test('listens on a free port and releases it on close', async () => {
    let url: string
    {
      await using sandbox = await startSandbox({ conversations: 0 })
      url = sandbox.url
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
      expect((await fetch(url)).status).toBe(200)
      await sandbox.close()
    }
    await expect(fetch(url)).rejects.toThrow('fetch failed')
    expect((await start({ port: Number(new URL(url).port) })).url).toBe(url)
  })

  test('closes connections with incomplete requests', async () => {
    const sandbox = await start()
    const socket = connect(Number(new URL(sandbox.url).port), '127.0.0.1')
    const closed = new Promise((resolve) => socket.on('error', () => {}).on('close', resolve))
    await new Promise<void>((resolve) => socket.write('GET /api/oauth/v1/me HTTP/1.1\r\nHost: x', () => resolve()))
    await call(sandbox, undefined, 'GET', '/api/oauth/v1/me')
    await sandbox.close()
    await closed
  })
})

/** Overwrites every value of an object, recursively. */
function overwriteValues(value: object): void {
  for (const [key, inner] of Object.entries(value)) {
    if (typeof inner === 'object' && inner !== null) overwriteValues(inner)
    Reflect.set(value, key, 'changed')
  }
}

test('says what it needs in a runtime that is too old', async () => {
  const groupBy = Object.getOwnPropertyDescriptor(Map, 'groupBy') ?? {}
  Reflect.deleteProperty(Map, 'groupBy')
  onTestFinished(() => void Object.defineProperty(Map, 'groupBy', groupBy))
  const message = 'This runtime is too old for the sandbox. Use Node 22 or later.'
  expect(() => createSandbox()).toThrow(message)
  await expect(startSandbox()).rejects.toThrow(message)
})

test('a colleague changes and removes only what there is, without a request', () => {
  const { state, requests, updateConversation, removeItem } = createSandbox({ organizations: 1 })
  const [id = '', otherId = ''] = state.conversations.map((each) => each.id)
  updateConversation(id, { status: 'waiting', assignee: null })
  expect(state.conversations[0]).toMatchObject({ status: 'waiting', conversation_assignee: null })
  removeItem(otherId)
  expect([requests, state.writes]).toEqual([[], []])
  expect(state.conversations.map((each) => each.id)).not.toContain(otherId)
  expect(() => removeItem(otherId)).toThrow(`The sandbox has no item "${otherId}". Use an id from \`sandbox.state\`.`)
  expect(() => updateConversation(otherId, {})).toThrow(`The sandbox has no conversation "${otherId}".`)
  expect(() => updateConversation(id, { assignee: 'mem_none' })).toThrow('no member with the membership id "mem_none"')
  expect(() => updateConversation(id, { state: 'open' } as object)).toThrow('`state`')
})
