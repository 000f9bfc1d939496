import { randomId } from './bytes.ts'
import { parseObject } from './json.ts'
import { createSealer, type SealSecret } from './seal.ts'

/** Writes and reads values as the texts of a storage. Each text is different, so that it can be recognized. */
export interface SealedEntries {
  write(key: string, value: unknown): Promise<string>
  read(key: string, text: string): Promise<{ readonly value: unknown } | { readonly problem: string }>
}

/**
 * Creates a format of texts for one purpose. With a secret, they are encrypted and belong to their key, so that a text
 * that was copied to another key is rejected. Without one, they are JSON.
 *
 * @throws InvalidArgumentError when a secret is shorter than 32 characters
 */
export function createSealedEntries(purpose: string, secret: SealSecret | undefined): SealedEntries {
  // Some drivers would parse a text that begins like JSON.
  const start = `${purpose}:`
  if (secret === undefined) {
    return {
      write: async (_, value) => start + JSON.stringify({ nonce: randomId(), value }),
      async read(_, text) {
        const entry = text.startsWith(start) ? parseObject(text.slice(start.length)) : undefined
        return entry === undefined ? { problem: 'is encrypted or damaged' } : { value: entry.value }
      },
    }
  }
  const sealer = createSealer(secret, purpose)
  return {
    write: (key, value) => sealer.seal({ key, value }),
    async read(key, text) {
      // Anyone who can write to the storage could have put it there.
      if (text.startsWith(start)) return { problem: 'is not encrypted, although there is a secret' }
      const opened = await sealer.open(text)
      if (!opened.ok) return { problem: opened.failure === 'unknown-key' ? 'has another secret' : 'was changed' }
      const entry = parseObject(opened.value) ?? {}
      return entry.key === key ? { value: entry.value } : { problem: 'belongs to another key' }
    },
  }
}
