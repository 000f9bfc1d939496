import { ConnectionStoreError } from './connection-store-error.ts'
import type { KeyedStorage } from './keyed-storage.ts'

/** What to do with the text of a connection. */
export interface Change<Result> {
  /** The text to write; null to remove the key. Undefined to leave it as it is. */
  readonly write?: string | null
  /** Returned once the write has been made. */
  readonly result: Result
}

const maxAttempts = 100

/**
 * Changes the text of a connection: reads it, decides, and writes only if it is still the text that was read. Otherwise starts
 * again.
 *
 * @param decide called with the text, null if there is none, before each attempt
 * @param known the text, if it has just been read
 * @throws ConnectionStoreError `storage_failed`
 */
export async function update<Result>(
  storage: KeyedStorage,
  key: string,
  decide: (text: string | null) => Promise<Change<Result>>,
  known?: string,
): Promise<Result> {
  const sent = new Map<string, Result>()
  let failure: unknown
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const text = attempt === 1 && known !== undefined ? known : await read()
    // Drivers send a command again when its response is lost, and the second one finds the text of the first.
    if (text !== null && sent.has(text)) return sent.get(text) as Result
    const { write = text, result } = await decide(text)
    if (write === text) return result
    if (failure !== undefined) throw failure
    try {
      if (await storage.compareAndSet(key, text, write)) return result
    } catch (thrown) {
      // The write may have been applied. The next read shows whether it was.
      failure = thrown
    }
    if (write !== null) sent.set(write, result)
  }
  throw new ConnectionStoreError(`The storage refused ${maxAttempts} changes of the connection "${key}" in a row.`, {
    reason: 'storage_failed',
    key,
    hint: 'Check the `compareAndSet` of your storage with `storageTests`.',
  })

  async function read(): Promise<string | null> {
    try {
      return await storage.get(key)
    } catch (thrown) {
      throw failure ?? thrown
    }
  }
}
