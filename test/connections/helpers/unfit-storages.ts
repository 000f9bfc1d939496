import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Turns } from '../../../src/storage/turns.ts'
import type { OpenStorage } from '../../storage/contract.ts'
import { mapStorage } from './storages.ts'

/** A storage of which each handle changes something. */
function changed(change: (storage: ReturnType<typeof mapStorage>) => Partial<OpenStorage>): () => OpenStorage {
  const storage = mapStorage()
  return () => ({ ...storage, ...change(storage) })
}

const immediate = () => new Promise((resolve) => setImmediate(resolve))

/** Drivers that must fail: what is wrong, a function that opens handles of the same data, and the test that finds it. */
export const unfitStorages: readonly { fault: string; open: () => OpenStorage; foundBy: RegExp }[] = [
  {
    fault: 'a cache in each process',
    open: changed((storage) => {
      const cache = new Map<string, string>()
      return {
        get(key) {
          const text = cache.get(key) ?? storage.get(key)
          if (text !== undefined) cache.set(key, text)
          return text
        },
        compareAndSet(key, expected, value) {
          cache.delete(key)
          return storage.compareAndSet(key, expected, value)
        },
      }
    }),
    foundBy: /shows every write to another handle/,
  },
  {
    fault: 'a delete and an insert in place of an update',
    open: changed((storage) => ({
      async compareAndSet(key, expected, value) {
        if (expected === null || value === null) return storage.compareAndSet(key, expected, value)
        if (!storage.compareAndSet(key, expected, null)) return false
        await immediate()
        return storage.compareAndSet(key, null, value)
      },
    })),
    foundBy: /shows either the old or the new text/,
  },
  {
    fault: 'a list that ends after 1,000 keys',
    open: changed((storage) => ({
      async *list() {
        yield [...storage.items].slice(0, 1000)
      },
    })),
    foundBy: /lists 2,500 keys/,
  },
  {
    fault: 'texts that are cut off at 65,535 characters',
    open: changed((storage) => ({
      compareAndSet: (key, expected, value) =>
        storage.compareAndSet(key, expected?.slice(0, 65_535) ?? null, value?.slice(0, 65_535) ?? null),
    })),
    foundBy: /returns the text that was written/,
  },
  {
    fault: 'keys that are cut off at 255 characters',
    open: changed((storage) => ({
      get: (key) => storage.get(key.slice(0, 255)),
      compareAndSet: (key, expected, value) => storage.compareAndSet(key.slice(0, 255), expected, value),
    })),
    foundBy: /keys of 500 characters/,
  },
  {
    fault: 'a comparison that ignores case',
    open: changed((storage) => ({
      compareAndSet(key, expected, value) {
        const text = storage.get(key) ?? null
        return text?.toLowerCase() === expected?.toLowerCase() && storage.compareAndSet(key, text, value)
      },
    })),
    foundBy: /only if the text is as expected/,
  },
  {
    fault: 'a read, a comparison and a write in three steps',
    open: changed((storage) => ({
      async compareAndSet(key, expected, value) {
        const text = storage.get(key) ?? null
        await immediate()
        return text === expected && storage.compareAndSet(key, storage.get(key) ?? null, value)
      },
    })),
    foundBy: /one of many concurrent writes win/,
  },
  {
    fault: 'wildcards in prefixes',
    open: changed((storage) => ({
      async *list(prefix) {
        const pattern = new RegExp(`^${prefix.replaceAll('_', '.')}`)
        yield [...storage.items].filter(([key]) => pattern.test(key))
      },
    })),
    foundBy: /nothing is a wildcard/,
  },
  { fault: 'data that handles do not share', open: () => mapStorage(), foundBy: /shows every write to another handle/ },
]

const turns = new Turns()

/** Keeps each text in a file, which `replace` writes. It compares before that, which is correct within one process. */
function filesIn(folder: string, replace: (path: string, text: string) => Promise<void>): OpenStorage {
  const pathOf = (key: string) => join(folder, encodeURIComponent(key))
  const get = (key: string) => readFile(pathOf(key), 'utf8').catch(() => null)
  return {
    get,
    compareAndSet: (key, expected, value) =>
      turns.run(key, async () => {
        if ((await get(key)) !== expected) return false
        if (value === null) await rm(pathOf(key), { force: true })
        else await replace(pathOf(key), value)
        return true
      }),
    async *list(prefix) {
      for (const name of await readdir(folder)) {
        const key = decodeURIComponent(name)
        const text = key.startsWith(prefix) ? await get(key) : null
        if (text !== null) yield [[key, text]]
      }
    },
  }
}

/** Drivers of files that other processes open as well. */
export const unfitFiles = {
  /** Does what `writeFile` does, in two steps that a kill separates more often. */
  truncating: (folder: string) =>
    filesIn(folder, async (path, text) => {
      await writeFile(path, '')
      await writeFile(path, text)
    }),
  /** Replaces a file in one step. */
  comparing: (folder: string) =>
    filesIn(folder, async (path, text) => {
      const temporary = `${path}.${process.pid}`
      await writeFile(temporary, text)
      await rename(temporary, path)
    }),
}

/** Returns the URL of this module that opens the files of a folder. */
export function moduleFor(kind: keyof typeof unfitFiles, folder: string): string {
  return `${import.meta.url.replace(/\?.*/, '')}?${new URLSearchParams({ [kind]: folder })}`
}

/**
 * Opens the files that the query of this module's URL names.
 *
 * @public
 */
export function open(): OpenStorage {
  const [[kind, folder] = ['', '']] = new URL(import.meta.url).searchParams
  return unfitFiles[kind === 'comparing' ? kind : 'truncating'](folder)
}
