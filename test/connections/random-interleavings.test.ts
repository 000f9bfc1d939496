import { describe, expect, test } from 'vitest'
import { someInterleavings } from './helpers/interleave.ts'
import { endOf, oldIsConnected, process } from './helpers/one-connection.ts'

describe('in many orders of storage operations', () => {
  test('keeps a login when the previous token gets a late 401 in two processes', async () => {
    const reactions = new Set<number>()
    await someInterleavings(10_000, async (storage) => {
      await oldIsConnected(storage)
      const [one, two] = [process(storage.as('one')), process(storage.as('two'))]
      return {
        actors: {
          login: () => process(storage.as('login')).save('new', 2),
          'first 401': async () => one.refused('old'),
          'second 401': async () => two.refused('old'),
        },
        check: async () => {
          expect(await endOf(storage)).toEqual({ kept: ['new'], connected: 'new' })
          const revoked = [...one.revoked, ...two.revoked]
          expect(revoked.filter((name) => name !== 'connection 1')).toEqual([])
          reactions.add(revoked.length)
        },
      }
    })
    // None if the login was first; one each if both processes noticed the revocation before either removed the entry.
    expect([...reactions].sort()).toEqual([0, 1, 2])
  })

  test('keeps the later of two logins when the previous token gets a late 401', async () => {
    await someInterleavings(10_000, async (storage) => {
      await oldIsConnected(storage)
      const login = process(storage.as('login'))
      return {
        actors: {
          logins: async () => {
            await login.save('one', 2)
            await login.save('two', 3)
          },
          'a 401': async () => process(storage.as('late')).refused('old'),
        },
        check: async () => expect((await endOf(storage)).connected).toBe('two'),
      }
    })
  })

  test('removes every key after a revocation in two processes', async () => {
    await someInterleavings(3000, async (storage) => {
      await oldIsConnected(storage)
      return {
        actors: {
          one: async () => process(storage.as('one')).refused('old'),
          two: async () => process(storage.as('two')).refused('old'),
        },
        check: () => expect([...storage.items]).toEqual([]),
      }
    })
  })

  test('connects or removes the later of two logins during a removal', async () => {
    const ends = new Set<string>()
    await someInterleavings(10_000, async (storage) => {
      await oldIsConnected(storage)
      const login = process(storage.as('login'))
      return {
        actors: {
          removal: () => process(storage.as('removal')).remove(),
          logins: async () => {
            await login.save('one', 2)
            await login.save('two', 3)
          },
        },
        check: async () => {
          const { kept, connected } = await endOf(storage)
          if (connected === undefined) expect(kept).toEqual([])
          else expect(kept).toContain('two')
          ends.add(String(connected))
          // The next removal clears the remains of the removal and the logins.
          await login.remove()
          expect(storage.items.size).toBe(0)
        },
      }
    })
    expect([...ends].sort()).toEqual(['two', 'undefined'])
  })
})
