import { describe, expect, test } from 'vitest'
import { call, useSandboxes } from './helpers.ts'

const start = useSandboxes()
const v1 = '/api/oauth/v1'

/** Sends a request, and returns the names that it says were ignored: those of the header, and of the log. */
async function ignoredBy(method: string, path: string, body?: unknown) {
  const sandbox = await start()
  const id = sandbox.state.conversations[0]?.id ?? ''
  const token = sandbox.issueToken({ actor: 'self' })
  const { headers } = await call(sandbox, token, method, `${v1}${path.replace(':id', id)}`, body)
  return { header: headers.get('x-sandbox-ignored'), log: sandbox.requests.at(-1)?.ignored }
}

describe('names that no document has are marked', () => {
  test.each<[string, string, unknown, string[]]>([
    ['GET', '/conversations?status=closed&limit=2', undefined, ['status']],
    ['GET', '/conversations?after=&Limit=2', undefined, ['Limit']],
    ['GET', '/me?limit=1', undefined, ['limit']],
    ['GET', '/contacts?limit=1&q=ada', undefined, ['q']],
    ['PATCH', '/conversations/:id', { status: 'open', priority: 1, tags: [] }, ['priority', 'tags']],
    ['POST', '/contacts?notify=1', { email: 'ada@example.com', phone: '1' }, ['notify', 'phone']],
    ['POST', '/contacts', { phone: 'but no email' }, ['phone']],
    ['DELETE', '/conversations/:id/assignee?soft=1', undefined, ['soft']],
  ])('%s %s', async (method, path, body, names) => {
    expect(await ignoredBy(method, path, body)).toEqual({ header: names.join(', '), log: names })
  })
})

describe('names that the operation reads are not', () => {
  test.each<[string, string, unknown?]>([
    ['GET', '/conversations?limit=2'],
    ['GET', '/conversations'],
    ['PATCH', '/conversations/:id', { status: 'open', is_spam: false, pinned: true }],
    [
      'PATCH',
      '/organization/settings',
      { allow_guest_submission: true, enable_ai_assistant: true, bot_configuration: {}, locale: 'de' },
    ],
    ['POST', '/contacts', { email: 'ada@example.com', name: 'Ada' }],
    ['POST', '/users', { email: 'ada@example.com', name: 'Ada', role: 'agent' }],
    ['POST', '/tasks', { any_field: 'of any name' }],
    ['POST', '/contacts', ['a list']],
  ])('%s %s', async (method, path, body) => {
    expect(await ignoredBy(method, path, body)).toEqual({ header: null, log: [] })
  })
})
