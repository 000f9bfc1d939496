import { expect, test } from 'vitest'
import type { Sandbox } from '../../src/sandbox/index.ts'
import { call, type ReceivedResponse, useSandboxes } from './helpers.ts'

const start = useSandboxes()
const conversations = '/api/oauth/v1/conversations'

function list(sandbox: Sandbox, query: Record<string, string | number>, path = conversations) {
  const parameters = new URLSearchParams(query as Record<string, string>)
  return call(sandbox, sandbox.issueToken(), 'GET', `${path}?${parameters}`)
}

const idsOf = ({ body }: ReceivedResponse): string[] => body.data.map(({ id }: { id: string }) => id)

test.each([
  [0, 5],
  [5, 5],
  [6, 5],
  [23, 7],
])('a list of %i in pages of %i is complete and in order, forward and backward', async (count, limit) => {
  const sandbox = await start({ conversations: count })
  const expected = sandbox.state.conversations.map(({ id }) => id)
  let page = await list(sandbox, { limit })
  expect(page.body.page_metadata.before).toBeNull()
  const forward = idsOf(page)
  while (page.body.page_metadata.after !== null) {
    page = await list(sandbox, { limit, after: page.body.page_metadata.after })
    expect(idsOf(page).length).toBeGreaterThan(0)
    forward.push(...idsOf(page))
  }
  expect(forward).toEqual(expected)
  const backward = [idsOf(page)]
  while (page.body.page_metadata.before !== null) {
    page = await list(sandbox, { limit, before: page.body.page_metadata.before })
    backward.unshift(idsOf(page))
  }
  expect(backward.flat()).toEqual(expected)
})

test('returns 20 items by default and at most 100', async () => {
  const sandbox = await start({ conversations: 150 })
  expect(idsOf(await list(sandbox, {}))).toHaveLength(20)
  expect(idsOf(await list(sandbox, { limit: 5_000 }))).toHaveLength(100)
  const other = await start({ conversations: 30, maxLimit: 7 })
  expect(idsOf(await list(other, {}))).toHaveLength(7)
  expect(idsOf(await list(other, { limit: 8 }))).toHaveLength(7)
})

test('rejects a cursor that was not percent-encoded in the query', async () => {
  const sandbox = await start()
  const { after } = (await list(sandbox, { limit: 2 })).body.page_metadata
  for (const character of ['+', '/', '=']) expect(after).toContain(character)
  const raw = await call(sandbox, sandbox.issueToken(), 'GET', `${conversations}?after=${after}`)
  expect(raw).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
})

test('keeps a cursor’s position while items are added and removed', async () => {
  const sandbox = await start({ conversations: 1, messagesPerConversation: 0 })
  const self = sandbox.issueToken({ actor: 'self' })
  const path = `${conversations}/${sandbox.state.conversations[0]?.id}/messages`
  const ids: string[] = []
  for (const body_html of ['1', '2', '3', '4', '5']) {
    ids.unshift((await call(sandbox, self, 'POST', path, { body_html })).body.data.id)
  }
  const { after } = (await list(sandbox, { limit: 2 }, path)).body.page_metadata
  await call(sandbox, self, 'POST', path, { body_html: '6' })
  await call(sandbox, self, 'DELETE', `${path}/${ids[1]}`)
  expect(idsOf(await list(sandbox, { after }, path))).toEqual(ids.slice(2))
})

test.each([
  ['limit', 'abc'],
  ['limit', '0'],
  ['limit', '-1'],
  ['limit', '1.5'],
  ['limit', ''],
  ['after', 'made-up'],
  ['after', ''],
  ['before', '+/+/AAAAAAAAAAAAAAAAAAAAAAAAAA=='],
  ['after', '+/+/ICAgICAgICAgICAgIDMgMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMA=='],
])('rejects %s=%s with a 400', async (name, value) => {
  const sandbox = await start()
  expect(await list(sandbox, { [name]: value })).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
})

test('rejects a cursor of another list, both cursors, and a repeated parameter with a 400', async () => {
  const sandbox = await start()
  const { after } = (await list(sandbox, { limit: 2 })).body.page_metadata
  expect((await list(sandbox, { after }, '/api/oauth/v1/contacts')).status).toBe(400)
  expect((await list(sandbox, { after, before: after })).status).toBe(400)
  expect((await call(sandbox, sandbox.issueToken(), 'GET', `${conversations}?limit=1&limit=2`)).status).toBe(400)
})
