import { describe, expect, test } from 'vitest'
import { readStoreSettings } from '../../src/connections/store-options.ts'
import { mapStorage, watched } from './helpers/storages.ts'

const key = 'app.a.o'
const start = `connections:https.service.example:${key}:`
const idAt = (time: number) => `${time.toString(16).padStart(12, '0')}-${'0'.repeat(20)}`
const pointerTo = (current: string, previous?: string) => JSON.stringify({ current, previous })
const mark = '{"removing":true}'

/** The entries of one connection in a storage with the given places. Each entry's value is its time. */
function entriesWith(places: Record<string, string | undefined>) {
  const storage = mapStorage()
  for (const [place, value] of Object.entries(places)) if (value !== undefined) storage.items.set(start + place, value)
  const watch = watched(storage)
  const { entries } = readStoreSettings({ baseUrl: 'https://service.example', storage: watch.storage })
  const now = () => Object.fromEntries([...storage.items].map(([name, value]) => [name.slice(start.length), value]))
  return {
    entries,
    storage,
    watch,
    now,
    set: (place: string, value: string) => storage.items.set(start + place, value),
  }
}

const saveAt = (startedAt: number, isRetry = false) => ({ startedAt, tried: [] as string[], isRetry })
const [one, two, three] = [idAt(1), idAt(2), idAt(3)]

describe('reading', () => {
  test.each<[string, Record<string, string | undefined>, string | undefined]>([
    [
      'the entry of the pointer, even if there is a newer one',
      { current: pointerTo(one), [one]: '1', [two]: '2' },
      '1',
    ],
    ['the newest entry if that of the pointer is missing', { current: pointerTo(three), [one]: '1', [two]: '2' }, '2'],
    ['the newest entry if there is a mark instead of a pointer', { removing: mark, [two]: '2', [one]: '1' }, '2'],
    ['nothing without a pointer and a mark', { [one]: '1' }, undefined],
    ['nothing if there is only a mark', { removing: mark }, undefined],
  ])('returns %s', async (_title, places, value) => {
    expect((await entriesWith(places).entries.read(key))?.value).toBe(value)
  })

  test('skips an entry that is listed but missing', async () => {
    const { entries, storage, watch } = entriesWith({ removing: mark, [one]: '1' })
    watch.storage.getKeys = () => [...storage.items.keys(), start + two]
    expect(await entries.read(key)).toEqual({ id: one, value: '1' })
  })

  test('follows a pointer that is replaced while it is read', async () => {
    const { entries, storage, watch, set } = entriesWith({ current: pointerTo(one), [one]: '1' })
    watch.before = ({ number }) => {
      if (number !== 2) return
      storage.items.delete(start + one)
      set(two, '2')
      set('current', pointerTo(two, one))
    }
    expect(await entries.read(key)).toEqual({ id: two, value: '2' })
    expect(watch.count('getKeys')).toBe(0)
  })

  test('returns nothing if the connection is removed while it is read', async () => {
    const { entries, storage, watch } = entriesWith({ current: pointerTo(one), [one]: '1' })
    watch.before = ({ number }) => {
      if (number === 2) storage.items.clear()
    }
    expect(await entries.read(key)).toBeUndefined()
    expect(watch.calls.filter(({ key: name }) => name.endsWith('undefined'))).toEqual([])
  })

  test('finds a pointer that a removal restores between the two reads', async () => {
    const { entries, watch, set } = entriesWith({ [one]: '1' })
    watch.before = ({ number }) => {
      if (number === 2) set('current', pointerTo(one))
    }
    expect(await entries.read(key)).toEqual({ id: one, value: '1' })
  })
})

describe('changing an entry', () => {
  test.each<[string, Record<string, string | undefined>, boolean]>([
    ['keeps it if it is current', { current: pointerTo(one) }, true],
    ['keeps it if the pointer is damaged', { current: 'spoiled' }, true],
    ['keeps it if there is a mark instead of a pointer, because the removal decides', { removing: mark }, true],
    ['removes it if it was replaced', { current: pointerTo(two) }, false],
    ['removes it if it was replaced during a removal', { current: pointerTo(two), removing: mark }, false],
    ['removes it if the connection was removed', {}, false],
  ])('%s', async (_title, places, isKept) => {
    const { entries, now } = entriesWith(places)
    await entries.rewrite(key, one, 'changed')
    expect(now()).toEqual({ ...places, ...(isKept && { [one]: 'changed' }) })
  })
})

describe('saving an entry', () => {
  /** Saves an entry of time 2, and returns what was returned, and the storage without the random part of the new id. */
  async function saved(
    places: Record<string, string>,
    save: Parameters<ReturnType<typeof entriesWith>['entries']['write']>[2],
  ) {
    const { entries, now } = entriesWith(places)
    const newer = await entries.write(key, 'mine', save)
    const mine = save.tried.at(-1) ?? ''
    return { newer, mine, now: now() }
  }

  test('replaces the current entry, and removes it and the one before', async () => {
    const { newer, mine, now } = await saved({ current: pointerTo(two, one), [one]: '1', [two]: '2' }, saveAt(3))
    expect(newer).toBeUndefined()
    expect(now).toEqual({ current: pointerTo(mine, two), [mine]: 'mine' })
  })

  test('replaces a newer entry if it is not a retry', async () => {
    const { newer, mine, now } = await saved({ current: pointerTo(three), [three]: '3' }, saveAt(2))
    expect(newer).toBeUndefined()
    expect(now).toEqual({ current: pointerTo(mine, three), [mine]: 'mine' })
  })

  test.each<[string, Record<string, string>]>([
    ['is current', { current: pointerTo(three), [three]: '3' }],
    ['lost its pointer to this retry', { current: pointerTo(one), [one]: '1', [three]: '3' }],
    ['is the newest of several', { current: pointerTo(one), [one]: '1', [idAt(5)]: '5', [three]: '3' }],
  ])('keeps a newer login in a retry if it %s', async (_title, places) => {
    const { newer, mine, now } = await saved(places, saveAt(2, true))
    const newest = places[idAt(5)] === undefined ? { id: three, value: '3' } : { id: idAt(5), value: '5' }
    expect(newer).toEqual(newest)
    expect(JSON.parse(now.current ?? '')).toEqual({ current: newest.id })
    expect(now).not.toHaveProperty(mine)
  })

  test.each<[string, Record<string, string>, Parameters<typeof saved>[1]]>([
    ['of the same time', { current: pointerTo(two), [two]: '2' }, saveAt(2, true)],
    [
      'that the first attempt already replaced',
      { current: pointerTo(three), [three]: '3' },
      { ...saveAt(2, true), replaces: { id: three } },
    ],
    ['whose value is missing', { current: pointerTo(three) }, saveAt(2, true)],
  ])('replaces an entry in a retry %s', async (_title, places, save) => {
    const { newer, mine, now } = await saved(places, save)
    expect(newer).toBeUndefined()
    expect(now.current).toBe(pointerTo(mine, Object.keys(places).find((place) => place === two) ?? three))
    expect(now[mine]).toBe('mine')
  })

  test('replaces an entry that is newer but not current if it is not a retry', async () => {
    const { newer, mine, now } = await saved({ current: pointerTo(one), [one]: '1', [three]: '3' }, saveAt(2))
    expect(newer).toBeUndefined()
    expect(now.current).toBe(pointerTo(mine, one))
  })

  test('replaces in a retry the entry that the failed attempt was about to replace', async () => {
    const { entries, watch, now } = entriesWith({ current: pointerTo(three), [three]: '3' })
    watch.before = ({ method, key: name }) => {
      if (method === 'setItem' && name.endsWith('current')) throw new Error('The disk is full.')
    }
    const save = saveAt(2)
    await expect(entries.write(key, 'mine', save)).rejects.toThrow('The disk is full.')
    watch.before = () => undefined
    save.isRetry = true
    expect(await entries.write(key, 'mine', save)).toBeUndefined()
    expect(now()).toEqual({ current: pointerTo(save.tried[1] ?? '', three), [save.tried[1] ?? '']: 'mine' })
  })

  test('ignores in a retry a newer entry that is listed but missing', async () => {
    const { entries, storage, watch, now } = entriesWith({})
    watch.storage.getKeys = () => [...storage.items.keys(), start + three]
    const save = saveAt(2, true)
    expect(await entries.write(key, 'mine', save)).toBeUndefined()
    expect(now()).toEqual({ current: pointerTo(save.tried[0] ?? ''), [save.tried[0] ?? '']: 'mine' })
  })

  test.each<[string, string | undefined, boolean]>([
    ['removes its entry if a newer login replaced the pointer', pointerTo(idAt(9)), false],
    ['keeps its entry if the pointer was removed', undefined, true],
    ['keeps its entry if an older login replaced the pointer', pointerTo(two), true],
  ])('%s in the meantime', async (_title, pointer, isKept) => {
    const { entries, storage, watch, now, set } = entriesWith({ current: pointerTo(one), [one]: '1' })
    watch.before = ({ method }) => {
      if (method !== 'removeItem') return
      if (pointer === undefined) storage.items.delete(`${start}current`)
      else set('current', pointer)
    }
    const save = saveAt(3)
    await entries.write(key, 'mine', save)
    expect((save.tried[0] as string) in now()).toBe(isKept)
  })
})

describe('removing', () => {
  test('a connection marks the removal before it removes the pointer', async () => {
    const { entries, watch, now } = entriesWith({ current: pointerTo(one), [one]: '1' })
    await entries.removeAll(key)
    expect(now()).toEqual({})
    const changes = watch.calls.filter(({ method }) => method === 'setItem' || method === 'removeItem')
    expect(changes.map(({ method, key: name }) => `${method} ${name.slice(start.length)}`)).toEqual([
      `removeItem ${one}`,
      'setItem removing',
      'removeItem current',
      'removeItem removing',
    ])
  })

  test('a connection removes a pointer to a missing entry', async () => {
    const { entries, now } = entriesWith({ current: pointerTo(one) })
    await entries.removeAll(key)
    expect(now()).toEqual({})
  })

  test('an entry that is not current keeps the pointer and writes no mark', async () => {
    const { entries, watch, now } = entriesWith({ current: pointerTo(two), [one]: '1', [two]: '2' })
    await entries.removeEntry(key, one)
    expect(now()).toEqual({ current: pointerTo(two), [two]: '2' })
    expect(watch.count('setItem')).toBe(0)
  })

  test('an entry removes a damaged pointer, and restores it to the newest remaining entries', async () => {
    const places = { current: 'spoiled', [one]: '1', [two]: '2', [three]: '3', [idAt(4)]: '4' }
    const { entries, now } = entriesWith(places)
    await entries.removeEntry(key, idAt(4))
    expect(now()).toEqual({ [one]: '1', [two]: '2', [three]: '3', current: pointerTo(three, two) })
  })

  test('an entry keeps the pointer of a login that is saved while the mark is written', async () => {
    const { entries, watch, now, set } = entriesWith({ current: pointerTo(one), [one]: '1' })
    watch.before = ({ method }) => {
      if (method !== 'setItem') return
      set(two, '2')
      set('current', pointerTo(two, one))
    }
    await entries.removeEntry(key, one)
    expect(now()).toEqual({ current: pointerTo(two, one), [two]: '2' })
  })

  test('an entry that reappears during the removal is removed again', async () => {
    const { entries, watch, now, set } = entriesWith({ current: pointerTo(one), [one]: '1' })
    watch.before = ({ method, key: name }) => {
      if (method === 'removeItem' && name.endsWith('current')) set(one, 'changed')
    }
    await entries.removeEntry(key, one)
    expect(now()).toEqual({})
  })
})
