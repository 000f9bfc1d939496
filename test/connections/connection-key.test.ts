import fc from 'fast-check'
import { createStorage } from 'unstorage'
import { describe, expect, test } from 'vitest'
import { connectionKey, encode, parseConnectionKey } from '../../src/oauth/connections/connection-key.ts'

const id = fc.oneof(
  fc.string({ minLength: 1, unit: 'grapheme' }),
  fc.string({
    minLength: 1,
    unit: fc.constantFrom('a', 'A', '.', ':', '/', '\\', '?', '=', '%', '*', '_', '$', '-', '6', '1'),
  }),
  fc.constantFrom('..', '.', 'app', 'self', 'current', 'a.b', 'a:b', '=61', '%61', 'Ünïcode', 'con', ' '),
)
const identity = fc.oneof(
  fc.record({ actor: fc.constant('app' as const), application: id, organization: id }),
  fc.record({ actor: fc.constant('self' as const), application: id, organization: id, user: id }),
)

describe('a connection key', () => {
  test('gives its ids back, so no two connections share one', () => {
    fc.assert(
      fc.property(identity, (one) => {
        expect(parseConnectionKey(connectionKey(one))).toEqual({ user: undefined, ...one })
      }),
    )
  })

  test('is in every storage what it was, also in one that ignores upper and lower case', async () => {
    await fc.assert(
      fc.asyncProperty(identity, async (one) => {
        const key = connectionKey(one)
        expect(key).toMatch(/^[a-z0-9.=-]+$/)
        const storage = createStorage()
        await storage.setItem(`base:${key}:current`, 'x')
        expect(await storage.getKeys()).toEqual([`base:${key}:current`])
      }),
    )
  })

  test('reads well for ids as services make them', () => {
    const identity = { actor: 'self', application: 'desk', organization: '7f3e-11', user: 'usr_9' } as const
    expect(connectionKey(identity)).toBe('self.desk.7f3e-11.usr=5f9')
  })
})

test('what is kept by name is not encoded', () => {
  expect(encode('https.api.example:8443/base', '.')).toBe('https.api.example=3a8443=2fbase')
})
