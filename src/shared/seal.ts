import { InvalidArgumentError, SupportWorkspaceError } from '../errors/index.ts'
import { safeCause } from '../errors/redact.ts'
import { toHex } from './bytes.ts'

/**
 * A secret of at least 32 characters. For rotation, a list of secrets: the first encrypts, and each of them can
 * decrypt.
 */
export type SealSecret = string | readonly string[]

/** Why an encrypted text cannot be decrypted. */
export type SealFailure = 'malformed' | 'unknown-key' | 'tampered' | 'expired'

/** The result of decrypting a text. A failure is returned instead of thrown, because untrusted text often fails. */
export type Opened =
  /** `outdated` is whether the text was encrypted with a secret other than the first. */
  | { readonly ok: true; readonly value: unknown; readonly outdated: boolean }
  | { readonly ok: false; readonly failure: SealFailure }

/** Encrypts and authenticates values as text, and decrypts them. */
export interface Sealer {
  /**
   * Encrypts a JSON value. `expiresAt` is in milliseconds since the Unix epoch. By default, the text does not expire.
   */
  seal(value: unknown, expiresAt?: number): Promise<string>
  open(sealed: string): Promise<Opened>
}

/** The content of an encrypted text. */
interface Sealed {
  readonly value: unknown
  readonly expiresAt?: number
}

interface SealKey {
  readonly id: string
  readonly key: CryptoKey
}

/**
 * Creates a sealer for one purpose, with JWE (RFC 7516), `dir` and `A256GCM`. Each purpose has separate keys, derived
 * from the secrets by HKDF with SHA-256 (RFC 5869). So a text that was encrypted for one purpose cannot be decrypted
 * for another.
 *
 * @throws InvalidArgumentError when a secret is shorter than 32 characters
 */
export function createSealer(secret: SealSecret | undefined, purpose: string): Sealer {
  const secrets = checkSecrets(secret)
  let derived: Promise<readonly SealKey[]> | undefined
  const keys = () => {
    derived ??= Promise.all(secrets.map((text) => deriveKey(text, purpose)))
    return derived
  }
  return {
    async seal(value, expiresAt) {
      // Before the first await, so that later changes by the caller don't affect it.
      const plaintext = new TextEncoder().encode(JSON.stringify({ value, expiresAt }))
      const { encrypt } = await loadJwe()
      const [first] = (await keys()) as readonly [SealKey]
      return encrypt(plaintext, first.id, first.key)
    },
    async open(sealed) {
      const { decrypt, keyIdOf } = await loadJwe()
      const id = keyIdOf(sealed)
      if (id === undefined) return { ok: false, failure: 'malformed' }
      const index = (await keys()).findIndex((candidate) => candidate.id === id)
      const known = (await keys())[index]
      if (known === undefined) return { ok: false, failure: 'unknown-key' }
      try {
        const text = new TextDecoder().decode(await decrypt(sealed, known.key))
        const { value, expiresAt = Number.POSITIVE_INFINITY } = JSON.parse(text) as Sealed
        if (Date.now() >= expiresAt) return { ok: false, failure: 'expired' }
        return { ok: true, value, outdated: index > 0 }
      } catch {
        return { ok: false, failure: 'tampered' }
      }
    },
  }
}

async function loadJwe(): Promise<typeof import('./jwe.ts')> {
  try {
    return await import('./jwe.ts')
  } catch (cause) {
    throw new SupportWorkspaceError('The encryption of this package could not be loaded.', {
      cause: safeCause(cause),
      remedy: 'retry',
      hint: 'It is a separate file. Check that your build contains every file of this package, then try again.',
    })
  }
}

function checkSecrets(secret: unknown): readonly string[] {
  const secrets: unknown[] = Array.isArray(secret) ? [...secret] : [secret]
  const isLongEnough = (text: unknown): text is string => typeof text === 'string' && text.length >= 32
  if (secrets.length > 0 && secrets.every(isLongEnough)) return secrets
  throw new InvalidArgumentError(
    'secret',
    '`secret` must be a string of at least 32 characters, or a list of such strings.',
    'Generate one with `openssl rand -base64 32`, and store it with your other secrets.',
  )
}

/** Derives a key and its id. The id is derived separately from the key, so it reveals nothing about the key. */
async function deriveKey(secret: string, purpose: string): Promise<SealKey> {
  const material = await crypto.subtle.importKey('raw', new TextEncoder().encode(secret), 'HKDF', false, [
    'deriveKey',
    'deriveBits',
  ])
  const parameters = (label: string) => ({
    name: 'HKDF',
    hash: 'SHA-256',
    salt: new Uint8Array(),
    info: new TextEncoder().encode(`support-workspace-sdk ${purpose} ${label}`),
  })
  const aes = { name: 'AES-GCM', length: 256 }
  const key = await crypto.subtle.deriveKey(parameters('key'), material, aes, false, ['encrypt', 'decrypt'])
  const id = new Uint8Array(await crypto.subtle.deriveBits(parameters('key id'), material, 64))
  return { key, id: toHex(id) }
}
