import { CompactEncrypt, compactDecrypt, decodeProtectedHeader } from 'jose'
import { InvalidArgumentError } from '../errors/index.ts'

/** One secret, or several for rotation: the first seals, every one opens. Each of at least 32 characters. */
export type SealSecret = string | readonly string[]

/** Why a sealed text does not open. */
export type SealFailure = 'malformed' | 'unknown-key' | 'tampered' | 'expired'

/** What opening a sealed text came to. Text from outside is often bad, so that is no exception. */
export type Opened =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly failure: SealFailure }

/** Seals values as text that nobody else can read or change, and opens them again. */
export interface Sealer {
  /** Seals a JSON value. `expiresAt` is in ms since the epoch; without it the text opens for ever. */
  seal(value: unknown, expiresAt?: number): Promise<string>
  open(sealed: string): Promise<Opened>
}

interface SealKey {
  readonly id: string
  readonly key: CryptoKey
}

/**
 * A sealer for one purpose: JWE (RFC 7516) with `dir` and `A256GCM`. What was sealed for one purpose does not open for
 * another, as each has keys of its own, derived from the same secrets by HKDF with SHA-256 (RFC 5869).
 *
 * @throws InvalidArgumentError when a secret is too short
 */
export function createSealer(secret: SealSecret, purpose: string): Sealer {
  const secrets = checkSecrets(secret)
  let derived: Promise<readonly SealKey[]> | undefined
  const keys = () => {
    derived ??= Promise.all(secrets.map((text) => deriveKey(text, purpose)))
    return derived
  }
  return {
    async seal(value, expiresAt) {
      const [first] = await keys()
      if (first === undefined) throw new TypeError('A sealer has at least one key.')
      const plaintext = new TextEncoder().encode(JSON.stringify({ value, expiresAt }))
      return new CompactEncrypt(plaintext)
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid: first.id })
        .encrypt(first.key)
    },
    async open(sealed) {
      const id = keyIdOf(sealed)
      if (id === undefined) return { ok: false, failure: 'malformed' }
      const known = (await keys()).find((candidate) => candidate.id === id)
      if (known === undefined) return { ok: false, failure: 'unknown-key' }
      return decrypt(sealed, known.key)
    },
  }
}

function checkSecrets(secret: unknown): readonly string[] {
  const secrets: unknown[] = Array.isArray(secret) ? [...secret] : [secret]
  const usable = (text: unknown): text is string => typeof text === 'string' && text.length >= 32
  if (secrets.length > 0 && secrets.every(usable)) return secrets
  throw new InvalidArgumentError(
    'secret',
    '`secret` is not a text of at least 32 characters, or a list of such.',
    'Make one with `openssl rand -base64 32`, and keep it with your other secrets.',
  )
}

/** The id is derived beside the key, not from it, so that it tells nothing of the key. */
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
  return { key, id: Array.from(id, (byte) => byte.toString(16).padStart(2, '0')).join('') }
}

function keyIdOf(sealed: string): string | undefined {
  try {
    const { kid } = decodeProtectedHeader(sealed)
    return typeof kid === 'string' ? kid : undefined
  } catch {
    return undefined
  }
}

async function decrypt(sealed: string, key: CryptoKey): Promise<Opened> {
  try {
    const { plaintext } = await compactDecrypt(sealed, key, {
      keyManagementAlgorithms: ['dir'],
      contentEncryptionAlgorithms: ['A256GCM'],
      maxDecompressedLength: 0,
    })
    const { value, expiresAt } = JSON.parse(new TextDecoder().decode(plaintext)) as Record<string, unknown>
    if (typeof expiresAt === 'number' && Date.now() >= expiresAt) return { ok: false, failure: 'expired' }
    return { ok: true, value }
  } catch {
    return { ok: false, failure: 'tampered' }
  }
}
