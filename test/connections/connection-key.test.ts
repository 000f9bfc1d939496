import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { connectionKey, isConnectionKey, keyMatcher } from '../../src/connections/connection-key.ts'

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
  test('matches its ids and no others', async () => {
    await fc.assert(
      fc.asyncProperty(identity, identity, async (one, other) => {
        const key = await connectionKey(one)
        expect(isConnectionKey(key)).toBe(true)
        // No storage changes such a key, not even one that ignores case.
        expect(key).toMatch(/^[a-z0-9.=-]{1,255}$/)
        expect((await keyMatcher(one))(key)).toBe(true)
        const same = JSON.stringify({ user: null, ...one }) === JSON.stringify({ user: null, ...other })
        expect((await connectionKey(other)) === key).toBe(same)
        expect((await keyMatcher({ ...one, organization: `${one.organization}x` }))(key)).toBe(false)
      }),
    )
  })

  test('fits in a file name and stays unique for long ids', async () => {
    const long = (end: string) => `${'Ü'.repeat(5000)}${end}`
    const one = { actor: 'self', application: long('a'), organization: long('o'), user: long('u') } as const
    const key = await connectionKey(one)
    expect(key.length).toBeLessThanOrEqual(255)
    expect(isConnectionKey(key)).toBe(true)
    expect(await connectionKey({ ...one, user: long('v') })).not.toBe(key)
    expect((await keyMatcher({ user: long('u') }))(key)).toBe(true)
    expect((await keyMatcher({ user: long('v') }))(key)).toBe(false)
    // The longest id that is not replaced by its digest.
    const withIdOf = (length: number) =>
      connectionKey({ actor: 'app', application: 'a', organization: 'o'.repeat(length) })
    expect(await withIdOf(80)).toBe(`app.a.${'o'.repeat(80)}`)
    expect(await withIdOf(81)).toMatch(/^app\.a\.==[0-9a-f]{64}$/)
    expect(isConnectionKey(`app.a.${'o'.repeat(80)}`)).toBe(true)
    expect(isConnectionKey(`app.a.${'o'.repeat(81)}`)).toBe(false)
  })

  test('keeps typical ids readable', async () => {
    const identity = { actor: 'self', application: 'desk', organization: '7f3e-11', user: 'usr_9' } as const
    expect(await connectionKey(identity)).toBe('self.desk.7f3e-11.usr=5f9')
  })
})
