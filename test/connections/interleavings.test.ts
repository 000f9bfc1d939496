import { describe, expect, test } from 'vitest'
import { type ConnectionStorage, ConnectionStoreError } from '../../src/oauth.ts'
import { everyInterleaving } from './helpers/interleave.ts'
import { endOf, oldIsConnected, process } from './helpers/one-connection.ts'
import { mapStorage } from './helpers/storages.ts'

/** A storage that calls a function before each operation. */
function mapCalls(storage: ConnectionStorage, before: () => void): ConnectionStorage {
  const pass = <Value>(operate: () => Value): Value => {
    before()
    return operate()
  }
  return {
    getItem: (name) => pass(() => storage.getItem(name)),
    setItem: (name, value) => pass(() => storage.setItem(name, value)),
    removeItem: (name) => pass(() => storage.removeItem(name)),
    getKeys: (base) => pass(() => storage.getKeys(base)),
  }
}

describe('in every order of storage operations', () => {
  test('connects one of two concurrent logins, and removes the old token', async () => {
    const leftBehind = new Set<number>()
    const orders = await everyInterleaving(async (storage) => {
      await oldIsConnected(storage)
      return {
        actors: {
          one: () => process(storage.as('one')).save('one'),
          two: () => process(storage.as('two')).save('two'),
        },
        check: async () => {
          const { kept, connected } = await endOf(storage)
          expect(kept).toContain(connected)
          expect(kept).not.toContain('old')
          leftBehind.add(kept.length - 1)
        },
      }
    })
    expect(orders).toBeGreaterThan(700)
    // Without compare-and-swap, some orders leave the token of the other login in an unused entry.
    expect([...leftBehind].sort()).toEqual([0, 1])
  })

  test('connects a new login or the old token saved again', async () => {
    await everyInterleaving(async (storage) => {
      await oldIsConnected(storage)
      return {
        actors: {
          again: () => process(storage.as('again')).save('old'),
          login: () => process(storage.as('login')).save('new'),
        },
        check: async () => expect(['old', 'new']).toContain((await endOf(storage)).connected),
      }
    })
  })

  test('keeps a login when the previous token gets a late 401', async () => {
    const orders = await everyInterleaving(async (storage) => {
      await oldIsConnected(storage)
      const one = process(storage.as('one'))
      return {
        actors: {
          login: () => process(storage.as('login')).save('new', 2),
          'a 401': async () => one.refused('old'),
        },
        check: async () => {
          expect(await endOf(storage)).toEqual({ kept: ['new'], connected: 'new' })
          expect(storage.items.size).toBe(2)
          expect(one.revoked.filter((name) => name !== 'connection 1')).toEqual([])
        },
      }
    })
    expect(orders).toBeGreaterThan(1000)
  })

  test.each(Array.from({ length: 12 }, (_, index) => index))(
    'keeps a login when a removal is interrupted after %i steps',
    async (steps) => {
      await everyInterleaving(async (storage) => {
        await oldIsConnected(storage)
        let left = steps
        const dying = process(
          mapCalls(storage.as('dying'), () => {
            left -= 1
            if (left < 0) throw new Error('The process has ended.')
          }),
        )
        return {
          actors: {
            login: () => process(storage.as('login')).save('new', 2),
            'a 401': async () => Promise.resolve(dying.refused('old')).catch(() => {}),
          },
          check: async () => expect((await endOf(storage)).connected).toBe('new'),
        }
      })
    },
  )

  test('keeps a login that is newer than a retried save', async () => {
    const orders = await everyInterleaving(async (storage) => {
      await oldIsConnected(storage)
      const retry = process(storage.as('retry')).retryOf('failed')
      const login = process(storage.as('login')).begin('new')
      return { actors: { retry, login }, check: async () => expect((await endOf(storage)).connected).toBe('new') }
    })
    expect(orders).toBeGreaterThan(100)
  })

  test('neither replaces a login nor restores the old token when an entry is changed', async () => {
    await everyInterleaving(async (storage) => {
      await oldIsConnected(storage)
      const change = process(storage.as('change'))
      return {
        actors: {
          change: () => change.touch(),
          login: () => process(storage.as('login')).save('new', 2),
        },
        check: async () => {
          const { kept, connected } = await endOf(storage)
          expect(connected).toBe('new')
          expect(kept).toEqual(['new'])
        },
      }
    })
  })

  test('removes the connection when an entry is changed during the removal', async () => {
    await everyInterleaving(async (storage) => {
      await oldIsConnected(storage)
      return {
        actors: {
          change: () => process(storage.as('change')).touch(),
          removal: () => process(storage.as('removal')).remove(),
        },
        check: async () => expect((await endOf(storage)).connected).toBeUndefined(),
      }
    })
  })

  test('keeps two logins after a removal has listed the entries', async () => {
    const storage = mapStorage()
    await process(storage).save('old', 1)
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const { promise: held, resolve: isHeld } = Promise.withResolvers<void>()
    const removal = process({
      ...storage,
      removeItem: async (name) => {
        isHeld()
        await released
        storage.removeItem(name)
      },
    }).remove()
    await held
    const login = process(storage)
    await login.save('one', 2)
    await login.save('two', 3)
    release()
    await removal
    expect(await process(storage).read()).toBe('two')
  })

  test('calls onRevoked once, however many calls of a process fail', async () => {
    await everyInterleaving(async (storage) => {
      await oldIsConnected(storage)
      const { refused, revoked } = process(storage.as('process'))
      return {
        actors: {
          calls: () => Promise.all(Array.from({ length: 5 }, async () => refused('old'))),
          later: () => process(storage.as('another')).read(),
        },
        check: async () => {
          await refused('old')
          expect(revoked).toEqual(['connection 1'])
          expect(await endOf(storage)).toEqual({ kept: [], connected: undefined })
        },
      }
    })
  })

  test('ends a removal and a login either removed or connected', async () => {
    const ends = new Set<string>()
    await everyInterleaving(async (storage) => {
      await oldIsConnected(storage)
      return {
        actors: {
          removal: () => process(storage.as('removal')).remove(),
          login: () => process(storage.as('login')).save('new'),
        },
        check: async () => {
          const { kept, connected } = await endOf(storage)
          expect(kept).toEqual(connected === undefined ? [] : ['new'])
          ends.add(String(connected))
        },
      }
    })
    expect([...ends].sort()).toEqual(['new', 'undefined'])
  })

  test('always finds a token when reading during two logins', async () => {
    await everyInterleaving(async (storage) => {
      await oldIsConnected(storage)
      let found: string | undefined
      return {
        actors: {
          reader: async () => {
            found = await process(storage.as('reader')).read()
          },
          logins: async () => {
            await process(storage.as('login')).save('one')
            await process(storage.as('login')).save('two')
          },
        },
        check: () => expect(['old', 'one', 'two']).toContain(found),
      }
    })
  })
})

test.each<[string, (names: string[]) => string[]]>([
  ['in the order of writing', (names) => names],
  ['in reverse order', (names) => names.toReversed()],
])('reads the newest entry without a pointer, if the storage lists them %s', async (_title, order) => {
  const storage = mapStorage()
  await process(storage).save('one', 1)
  const [one] = [...storage.items].filter(([name]) => !name.endsWith(':current'))
  await process(storage).save('two', 2)
  // An interrupted removal has left the entry of the first login.
  const [pointer = ''] = [...storage.items.keys()].filter((name) => name.endsWith(':current'))
  storage.items.delete(pointer)
  storage.items.set(pointer.replace(/current$/, 'removing'), '1')
  storage.items.set(...(one as [string, string]))
  const listing = process({ ...storage, getKeys: () => order([...storage.items.keys()]) })
  expect(await listing.read()).toBe('two')
})

describe('an interrupted save', () => {
  /** Runs one save whose storage fails, or whose process ends, at one step. */
  async function stoppedAt(step: number, how: 'fails' | 'dies') {
    const storage = mapStorage()
    await process(storage).save('old', 1)
    let steps = 0
    const pass = <Value>(operate: () => Value): Value | Promise<Value> => {
      steps += 1
      if (steps < step) return operate()
      if (how === 'dies') return new Promise<never>(() => {})
      if (steps > step) return operate()
      throw new Error('The disk is full.')
    }
    const failing: ConnectionStorage = {
      getItem: (name) => pass(() => storage.getItem(name)),
      setItem: (name, value) => pass(() => storage.setItem(name, value)),
      removeItem: (name) => pass(() => storage.removeItem(name)),
      getKeys: () => pass(() => storage.getKeys()),
    }
    const save = process(failing).save('new')
    const outcome = await Promise.race([
      save.then(
        () => 'saved',
        (error: unknown) => error,
      ),
      new Promise((resolve) => setImmediate(() => resolve('never settled'))),
    ])
    return { storage, outcome, steps }
  }

  const steps = Array.from({ length: 5 }, (_, index) => index + 1)

  test.each(steps)('leaves a connection if the process ends at step %i, and the next login cleans up', async (step) => {
    const { storage, outcome } = await stoppedAt(step, 'dies')
    expect(outcome).toBe('never settled')
    expect(await process(storage).read()).toBe(step <= 3 ? 'old' : 'new')
    await process(storage).save('newer')
    expect(await process(storage).read()).toBe('newer')
    await process(storage).remove()
    expect(storage.items.size).toBe(0)
  })

  test.each(steps)('leaves the old connection or completes if the storage fails at step %i', async (step) => {
    const { storage, outcome } = await stoppedAt(step, 'fails')
    if (step <= 3) expect(outcome).toBeInstanceOf(ConnectionStoreError)
    else expect(outcome).toBe('saved')
    expect(await process(storage).read()).toBe(step <= 3 ? 'old' : 'new')
  })

  test('has exactly five steps', async () => {
    expect(await stoppedAt(6, 'dies')).toMatchObject({ outcome: 'saved', steps: 5 })
  })

  test('after writing its pointer is cleaned up by the next login', async () => {
    const { storage } = await stoppedAt(4, 'dies')
    expect(storage.items.size).toBe(3)
    await process(storage).save('newer')
    expect(storage.items.size).toBe(2)
  })
})
