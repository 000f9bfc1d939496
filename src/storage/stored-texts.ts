import * as base64url from 'jose/base64url'
import { SupportWorkspaceError } from '../errors/index.ts'
import { randomId } from '../shared/bytes.ts'
import { isObject, type JsonObject, parseObject } from '../shared/json.ts'
import { createSealer, type Sealer, type SealSecret } from '../shared/seal.ts'

/** The start of a text that is not encrypted. `failureOf` removes such texts from the errors of drivers. */
const plain = 'plain:'

/** What a text contains, or why it cannot be read. `outdated` is whether its secret is not the first. */
export type OpenedText =
  | { readonly content: JsonObject; readonly outdated: boolean }
  | { readonly failure: 'damaged' | 'secret_unknown'; readonly problem: string }

/**
 * Writes JSON objects as texts for a storage, and reads them. The texts are encrypted if there is a sealer, and encoded
 * otherwise. Each text is different, so a compare-and-set of texts compares versions. A text contains its key, so a text
 * that is copied to another key is rejected there.
 */
export class StoredTexts {
  readonly #sealer: Sealer | undefined

  constructor(sealer?: Sealer) {
    this.#sealer = sealer
  }

  async write(key: string, content: JsonObject): Promise<string> {
    // An encrypted text has a random initialization vector.
    if (this.#sealer !== undefined) return this.#sealer.seal({ key, content })
    // Errors of drivers can quote base64 without showing the text. It protects no secrets.
    return plain + base64url.encode(JSON.stringify({ nonce: randomId(), key, content }))
  }

  /** @throws SupportWorkspaceError with the remedy `fix` if the text is damaged, or encrypted with another secret */
  async read(key: string, text: string): Promise<JsonObject> {
    const opened = await this.open(key, text)
    if ('content' in opened) return opened.content
    if (opened.failure === 'damaged') throw damaged(key, opened.problem)
    throw new SupportWorkspaceError(`The entry "${key}" ${opened.problem}.`, {
      hint: 'Add its secret to the list of `secret`, after the newest one.',
    })
  }

  async open(key: string, text: string): Promise<OpenedText> {
    const isPlain = text.startsWith(plain)
    // Anyone who can write to the storage could have put it there.
    if (isPlain && this.#sealer !== undefined) {
      return { failure: 'damaged', problem: 'is not encrypted, although there is a `secret`' }
    }
    const isEncrypted = !isPlain && text.split('.').length === 5
    const opened = isEncrypted ? await this.#sealer?.open(text) : undefined
    if (isEncrypted && (opened === undefined || (!opened.ok && opened.failure === 'unknown-key'))) {
      return { failure: 'secret_unknown', problem: 'is encrypted with an unknown secret' }
    }
    const value = isPlain ? parseObject(decode(text.slice(plain.length))) : opened?.ok && opened.value
    if (!isObject(value) || !isObject(value.content)) return { failure: 'damaged', problem: 'is damaged' }
    if (value.key !== key) return { failure: 'damaged', problem: 'belongs to another key' }
    return { content: value.content, outdated: opened?.ok === true && opened.outdated }
  }
}

/**
 * Returns the texts of one purpose, which are encrypted if there is a secret.
 *
 * @throws InvalidArgumentError when a secret is shorter than 32 characters
 */
export function storedTexts(secret: SealSecret | undefined, purpose: string): StoredTexts {
  return new StoredTexts(secret === undefined ? undefined : createSealer(secret, purpose))
}

/** Returns the error for an entry that cannot be used. */
export function damaged(key: string, problem: string): SupportWorkspaceError {
  return new SupportWorkspaceError(`The entry "${key}" ${problem}.`, {
    hint: 'Find out what has changed the entry before you remove it. An older one from a backup can repeat what was done since.',
  })
}

/** Returns undefined for what is no base64url. */
function decode(text: string): string | undefined {
  try {
    return new TextDecoder().decode(base64url.decode(text))
  } catch {
    return undefined
  }
}
