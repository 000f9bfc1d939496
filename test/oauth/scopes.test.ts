import { expect, test } from 'vitest'
import { scopesFor } from '../../src/oauth/index.ts'

test('returns the scopes of operations, each once and in order', () => {
  expect(scopesFor('messages.create', 'conversations.list', 'conversations.get', 'messages.list')).toEqual([
    'messages:write',
    'conversations:read',
    'messages:read',
  ])
  expect(scopesFor('me')).toEqual([])
})

test('rejects an unknown operation id', () => {
  const refused = expect.objectContaining({ name: 'InvalidArgumentError', argument: 'operationIds' })
  for (const id of ['conversations', 'messages:write', '']) expect(() => scopesFor(id as never)).toThrow(refused)
})
