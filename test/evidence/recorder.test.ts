import { randomBytes } from 'node:crypto'
import { defineOperation, InvalidArgumentError, SupportWorkspace } from 'support-workspace-sdk'
import { type EvidenceRecorder, evidenceRecorder, mergeEvidence, parseEvidence } from 'support-workspace-sdk/probe'
import { type Sandbox, type SandboxOptions, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterEach, describe, expect, test } from 'vitest'
import { json, makeClient, rejection, scripted } from '../helpers/client.ts'

let sandbox: Sandbox

afterEach(() => sandbox?.close())

/** Returns a client of a new sandbox whose calls are recorded. */
async function start(recorder: EvidenceRecorder, options?: SandboxOptions): Promise<SupportWorkspace<'self'>> {
  sandbox = await startSandbox({ conversations: 5, ...options })
  const accessToken = sandbox.issueToken({ actor: 'self' })
  return new SupportWorkspace({ baseUrl: sandbox.url, accessToken, actor: 'self', middleware: recorder.middleware })
}

const today = new Date().toISOString().slice(0, 10)
const seen = (calls: number) => ({ calls, first: today, last: today })

describe('the recorder notes', () => {
  test('each operation that succeeded, by status, with the fields of its data', async () => {
    const recorder = evidenceRecorder()
    const workspace = await start(recorder, { contacts: 25 })
    const { id } = await workspace.contacts.create({ email: 'ada@example.com' })
    await workspace.contacts.get(id)
    await workspace.contacts.update(id, { blocked: true })
    await workspace.contacts.list().toArray()
    const { operations, fields } = recorder.evidence()
    expect(operations).toEqual({
      'contacts.create': { 201: seen(1) },
      'contacts.get': { 200: seen(1) },
      'contacts.list': { 200: seen(2) },
      'contacts.update': { 200: seen(1) },
    })
    expect(fields['contact.blocked']).toEqual({ boolean: seen(5) })
    expect(fields['contact.active_at']).toEqual({ null: seen(5), number: seen(2) })
    expect(Object.keys(fields)).toContain('user.email')
  })

  test('a refused call by its status, and not as observed', async () => {
    const recorder = evidenceRecorder()
    const workspace = await start(recorder)
    await rejection(workspace.contacts.get('nobody'))
    expect(recorder.evidence()).toMatchObject({ operations: { 'contacts.get': { 404: seen(1) } }, fields: {} })
  })

  test('nothing of a write whose response was lost', async () => {
    const recorder = evidenceRecorder()
    const workspace = await start(recorder)
    sandbox.failNext({ drop: 'after-effect' })
    await rejection(workspace.contacts.create({ email: 'ada@example.com' }))
    expect(recorder.evidence().operations).toEqual({})
  })

  test('nothing of custom operations, even with the id of another', async () => {
    const recorder = evidenceRecorder()
    const workspace = await start(recorder)
    const own = defineOperation({ id: 'contacts.get', method: 'GET', path: '/api/oauth/v1/me', envelope: 'bare' })
    await workspace.call(own)
    await workspace.request('GET', '/api/oauth/v1/me')
    expect(recorder.evidence().operations).toEqual({})
  })

  test('that the entry of a conversation changes with a new message', async () => {
    const recorder = evidenceRecorder()
    const workspace = await start(recorder)
    const [conversation] = (await workspace.conversations.list()).data
    await workspace.conversations.list()
    expect(recorder.evidence().traits).toEqual({})
    await workspace.messages.create(conversation!.id, { body_html: '<p>On it.</p>' })
    await workspace.conversations.list()
    expect(recorder.evidence().traits).toEqual({ 'entry.message': { changes: seen(1) } })
  })

  test('that it stays the same', async () => {
    const recorder = evidenceRecorder()
    const entry = { id: 'cnv/1', last_message: 'Hello', last_message_inserted_at: 1 }
    const list = json({ data: [entry], page_metadata: { after: null, before: null } })
    const fetch = scripted(list, json({ data: { id: 'msg_1' } }, 201), list)
    const workspace = makeClient({ fetch, middleware: recorder.middleware })
    await workspace.conversations.list()
    await workspace.messages.create('cnv/1', { body_html: '<p>On it.</p>' })
    await workspace.conversations.list()
    expect(recorder.evidence().traits).toEqual({ 'entry.message': { stays: seen(1) } })
  })

  test.each([
    ['accepted', undefined],
    ['rejected with 400', 400],
  ])('that a cursor from before a write is %s after it', async (what, status) => {
    const recorder = evidenceRecorder()
    const workspace = await start(recorder)
    const { after } = await workspace.conversations.list({ limit: 1 })
    await workspace.conversations.list({ limit: 1, after })
    expect(recorder.evidence().traits).toEqual({})
    await workspace.contacts.create({ email: 'ada@example.com' })
    if (status !== undefined) sandbox.failNext({ status })
    await Promise.resolve(workspace.conversations.list({ limit: 1, after })).catch(() => {})
    expect(recorder.evidence().traits).toEqual({ 'cursor.stale': { [what]: seen(1) } })
  })
})

describe('the recorder leaves calls alone:', () => {
  test('requests, results and errors are those without it', async () => {
    const recorder = evidenceRecorder({
      onEvidence: () => {
        throw new Error('a bug of the app')
      },
    })
    const workspace = await start(recorder)
    const plain = new SupportWorkspace({ baseUrl: sandbox.url, accessToken: sandbox.issueToken({ actor: 'self' }) })
    expect(await workspace.conversations.list().toArray()).toEqual(await plain.conversations.list().toArray())
    const error = await rejection(workspace.members.get('nobody'))
    expect(error).toMatchObject({ status: 404, operation: 'members.get' })
    expect(sandbox.requests.map(({ path }) => path.split('/').at(-1))).toEqual([
      'conversations',
      'conversations',
      'nobody',
    ])
  })

  test('data of any shape breaks nothing', async () => {
    const hostile = {
      id: 'con_1',
      user: [null, 1, { id: {} }],
      attributes: 'text',
      get blocked() {
        return 1
      },
    }
    const fetch = scripted(json({ data: hostile }))
    const recorder = evidenceRecorder()
    const contact = await makeClient({ fetch, validation: 'off', middleware: recorder.middleware }).contacts.get(
      'con_1',
    )
    expect(contact.id).toBe('con_1')
    expect(recorder.evidence().fields['contact.user']).toEqual({ array: seen(1) })
  })
})

test('onEvidence is called when something new was seen, and not again', async () => {
  const calls: unknown[] = []
  const workspace = await start(evidenceRecorder({ onEvidence: (evidence) => calls.push(evidence) }))
  await workspace.organization.get()
  await workspace.organization.get()
  expect(calls).toEqual([expect.objectContaining({ operations: { 'organization.get': { 200: seen(1) } } })])
})

test('at most 500 facts are kept, without a text, id, key or cursor of the data', async () => {
  const secrets: string[] = []
  const secret = () => {
    secrets.push(`q${randomBytes(8).toString('hex')}`)
    return secrets.at(-1)!
  }
  const fields = Object.fromEntries(Array.from({ length: 800 }, (_, index) => [`field_${index}`, 0]))
  const item = () => ({
    ...fields,
    id: secret(),
    source: secret(),
    attributes: { [secret()]: secret() },
    [secret()]: 1,
  })
  const page = { data: [item(), item()], page_metadata: { after: secret(), before: null } }
  const recorder = evidenceRecorder()
  await makeClient({ fetch: scripted(json(page)), middleware: recorder.middleware }).contacts.list()
  const evidence = recorder.evidence()
  const facts = [evidence.operations, evidence.fields, evidence.traits].flatMap((section) =>
    Object.values(section).flatMap((each) => Object.keys(each)),
  )
  expect(facts).toHaveLength(500)
  const text = JSON.stringify(evidence)
  expect(secrets.filter((each) => text.includes(each.slice(0, 6)))).toEqual([])
  expect(parseEvidence(text)).toEqual(evidence)
  expect(mergeEvidence(evidence, evidence).operations).toEqual({ 'contacts.list': { 200: seen(2) } })
})

test.each([
  [{ onevidence: () => {} }, 'onevidence'],
  [{ onEvidence: 1 }, 'onEvidence'],
  [null, 'options'],
])('rejects the options %j', (options, argument) => {
  const call = () => evidenceRecorder(options as never)
  expect(call).toThrow(InvalidArgumentError)
  expect(call).toThrow(expect.objectContaining({ argument }))
})
