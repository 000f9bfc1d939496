import { beforeEach, describe, expect, test } from 'vitest'
import type { SandboxConversation as Conversation, Sandbox } from '../../src/sandbox/index.ts'
import { call, type ReceivedResponse, useSandboxes } from './helpers.ts'

const start = useSandboxes()
const v1 = '/api/oauth/v1'

let sandbox: Sandbox

beforeEach(async () => {
  sandbox = await start()
})

/** Sends a request as the owner of the organization. */
async function asOwner(sandbox: Sandbox, method: string, path: string, body?: unknown): Promise<ReceivedResponse> {
  return call(sandbox, sandbox.issueToken({ actor: 'self' }), method, `${v1}${path}`, body)
}

const firstConversation = () => sandbox.state.conversations[0] as Conversation

/** The fields of a value, those of what it embeds included. `null` and an empty array have none. */
function fieldsOf(value: unknown, prefix = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => fieldsOf(each, prefix))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => [prefix + name, ...fieldsOf(inner, `${prefix}${name}.`)])
}

const user = 'user user.id user.name user.email user.instagram_handle user.profile_picture_url'

test.each([
  [
    '/conversations',
    `id inserted_at initial_message is_spam last_message last_message_inserted_at status ${user} pinned unread_count
     summary meta_info guest_submission group_id group group.id group.name group.slug group.color conversation_assignee
     conversation_assignee.id conversation_assignee.conversation_id conversation_assignee.user_id
     conversation_assignee.assignor_id conversation_assignee.assigned_at`,
  ],
  [
    '/conversations/:id/messages',
    `id conversation_id source is_spam inserted_at body_html marked_as_solution_at ${user} meta_info is_ai_message reply_to
     reply_to.id reply_to.body_html ${user.replaceAll('user', 'reply_to.user')} attachments attachments.id
     attachments.presigned_url attachments.original_filename attachments.extension attachments.file_size
     attachments.resource_type attachments.resource_id`,
  ],
  [
    '/contacts',
    `id ${user} source blocked starred active source_info attributes attributes.plan auth_type inserted_at updated_at
     active_at`,
  ],
  ['/users', `id role archived ${user}`],
  ['/organization', 'id name display_name domain created_at'],
  ['/organization/settings', 'allow_guest_submission enable_ai_assistant bot_configuration locale'],
])('%s has every field of the reference', async (path, fields) => {
  sandbox = await start({ conversations: 40, messagesPerConversation: 40, contacts: 40, maxLimit: 40 })
  const { data } = (await asOwner(sandbox, 'GET', `${path.replace(':id', firstConversation().id)}?limit=40`)).body
  expect([...new Set(fieldsOf(data))].sort()).toEqual(fields.split(/\s+/).sort())
})

describe('conversations', () => {
  test('are created at the top of the list, with a customer and a first message', async () => {
    sandbox = await start({ now: () => 1_800_000_000_500 })
    const body = { customer_email: 'new@customer.example', initial_message: 'Hello there' }
    const created = await asOwner(sandbox, 'POST', '/conversations', body)
    expect(created.status).toBe(201)
    const conversation = created.body.data
    expect(conversation).toMatchObject({ initial_message: 'Hello there', last_message: 'Hello there', status: 'open' })
    expect(conversation.inserted_at).toBe(1_800_000_000)
    expect(sandbox.state.conversations[0]).toEqual(conversation)
    expect(sandbox.state.contacts.some((contact) => contact.user.id === conversation.user.id)).toBe(true)
    expect(sandbox.state.messages(conversation.id)).toMatchObject([{ body_html: 'Hello there' }])
  })

  test('are assigned by user id or by membership id, and unassigned', async () => {
    const conversation = firstConversation()
    const [owner, moderator] = sandbox.state.members
    const path = `/conversations/${conversation.id}/assignee`
    for (const user_id of [moderator?.id, moderator?.user.id]) {
      const assigned = await asOwner(sandbox, 'POST', path, { user_id })
      expect(assigned.status).toBe(201)
      expect(assigned.body.data).toEqual({
        id: expect.any(String),
        conversation_id: conversation.id,
        user_id: moderator?.user.id,
        assignor_id: owner?.user.id,
        assigned_at: expect.any(Number),
      })
      expect(firstConversation().conversation_assignee).toEqual(assigned.body.data)
    }
    expect(await asOwner(sandbox, 'DELETE', path)).toMatchObject({ status: 204, body: undefined })
    expect(firstConversation().conversation_assignee).toBeNull()
  })
})

describe('messages and notes', () => {
  test('are sent, edited and deleted by their author', async () => {
    const conversation = firstConversation()
    const path = `/conversations/${conversation.id}/messages`
    const sent = await asOwner(sandbox, 'POST', path, { body_html: '<p>On it,   <b>now</b>.</p>' })
    expect(sent).toMatchObject({ status: 201, body: { data: { user: sandbox.state.members[0]?.user } } })
    expect(sandbox.state.messages(conversation.id)[0]).toEqual(sent.body.data)
    expect(firstConversation().last_message).toBe('On it, now .')

    const { id } = sent.body.data
    const edited = await asOwner(sandbox, 'PATCH', `${path}/${id}`, { body_html: '<p>Done.</p>' })
    expect(edited).toMatchObject({ status: 200, body: { data: { id, body_html: '<p>Done.</p>' } } })
    expect(firstConversation().last_message).toBe('Done.')

    expect(await asOwner(sandbox, 'DELETE', `${path}/${id}`)).toMatchObject({ status: 204, body: undefined })
    expect(sandbox.state.messages(conversation.id)).toHaveLength(3)
    expect(firstConversation().last_message).toBe(conversation.last_message)
    expect((await asOwner(sandbox, 'DELETE', `${path}/${id}`)).status).toBe(404)
  })

  test('of another author cannot be edited or deleted', async () => {
    const conversation = firstConversation()
    const sent = await asOwner(sandbox, 'POST', `/conversations/${conversation.id}/messages`, { body_html: 'Mine' })
    const path = `${v1}/conversations/${conversation.id}/messages/${sent.body.data.id}`
    const agent = sandbox.issueToken({ actor: 'self', role: 'agent' })
    const forbidden = { status: 403, body: { error: 'forbidden' } }
    expect(await call(sandbox, agent, 'PATCH', path, { body_html: 'x' })).toMatchObject(forbidden)
    expect(await call(sandbox, agent, 'DELETE', path)).toMatchObject(forbidden)
    expect(await call(sandbox, sandbox.issueToken(), 'PATCH', path, { body_html: 'x' })).toMatchObject(forbidden)
    expect(sandbox.state.messages(conversation.id)[0]?.body_html).toBe('Mine')
  })

  test('are stored separately', async () => {
    const conversation = firstConversation()
    const path = `/conversations/${conversation.id}`
    const before = sandbox.state.notes(conversation.id).length
    const note = await asOwner(sandbox, 'POST', `${path}/notes`, { body_html: 'Between us' })
    expect(note.status).toBe(201)
    const [message] = sandbox.state.messages(conversation.id)
    expect(Object.keys(note.body.data)).toEqual(Object.keys(message ?? {}))
    const notes = (await asOwner(sandbox, 'GET', `${path}/notes`)).body.data
    expect(notes).toHaveLength(before + 1)
    expect(notes[0]).toEqual(note.body.data)
    expect((await asOwner(sandbox, 'GET', `${path}/messages`)).body.data).toHaveLength(3)
    expect(firstConversation().last_message).toBe(conversation.last_message)
  })
})
describe('team members', () => {
  test('cannot lose their owner', async () => {
    const path = `/users/${sandbox.state.members[0]?.id}`
    for (const change of [{ role: 'agent' }, { archived: true }]) {
      expect(await asOwner(sandbox, 'PATCH', path, change)).toMatchObject({ status: 403, body: { error: 'forbidden' } })
    }
    expect((await asOwner(sandbox, 'DELETE', path)).status).toBe(403)
    expect((await asOwner(sandbox, 'PATCH', path, { role: 'admin', archived: false })).status).toBe(200)
  })
})

test.each([
  ['GET', '/conversations/none'],
  ['POST', '/conversations/none/assignee'],
  ['PATCH', '/conversations/none/messages/none'],
  ['GET', '/contacts/none'],
  ['PATCH', '/users/none'],
  ['DELETE', '/tasks/none'],
  ['PATCH', '/segments/none'],
])('%s %s gets a 404 for an unknown id', async (method, path) => {
  expect(await asOwner(sandbox, method, path)).toMatchObject({ status: 404, body: { error: 'not_found' } })
})

test.each([
  ['POST', '/conversations', { customer_email: 'no address', initial_message: 'Hi' }],
  ['POST', '/conversations', { customer_email: 'a@b.example' }],
  ['POST', '/conversations', { customer_email: 'a@b.example', initial_message: ' ' }],
  ['PATCH', '/conversations/:conversation', { pinned: 'yes' }],
  ['PATCH', '/conversations/:conversation', { status: null }],
  ['POST', '/conversations/:conversation/assignee', { user_id: 'usr_none' }],
  ['POST', '/conversations/:conversation/messages', {}],
  ['POST', '/conversations/:conversation/messages', { body_html: 7 }],
  ['POST', '/conversations/:conversation/notes', { body_html: '' }],
  ['POST', '/contacts', { email: 'nobody' }],
  ['PATCH', '/contacts/:contact', { blocked: 1 }],
  ['POST', '/users', { email: 'kim@team.example', role: 'emperor' }],
  ['PATCH', '/users/:member', { archived: 'no' }],
  ['PATCH', '/organization', { display_name: '' }],
  ['PATCH', '/organization/settings', { bot_configuration: [] }],
])('%s %s rejects %j with a 422 and changes nothing', async (method, path, body) => {
  const { conversations, contacts, members } = sandbox.state
  const actual = path
    .replace(':conversation', conversations[0]?.id ?? '')
    .replace(':contact', contacts[0]?.id ?? '')
    .replace(':member', members[1]?.id ?? '')
  const response = await asOwner(sandbox, method, actual, body)
  expect(response).toMatchObject({ status: 422, body: { error: 'validation_failed' } })
  expect(sandbox.state.writes).toEqual([])
  expect(sandbox.state).toMatchObject({ conversations, contacts, members })
})
