import { InvalidArgumentError } from '../errors/index.ts'
import { sha256, toHex } from '../shared/bytes.ts'
import type { ConnectionFilter } from './method-options.ts'

/** The ids that identify a connection. */
export interface ConnectionKeyParts {
  /** Who the token acts as. */
  readonly actor: 'app' | 'self'
  /** Id of the app, from `/me`. */
  readonly application: string
  /** Id of the organization, from `/me`. */
  readonly organization: string
  /** Id of the user. Only for `self`. */
  readonly user?: string | undefined
}

/**
 * Returns the key of a connection: `app.<application>.<organization>` or `self.<application>.<organization>.<user>`. At
 * most 247 characters, so that it is a valid name of a file or a folder.
 */
export async function connectionKey({ actor, application, organization, user }: ConnectionKeyParts): Promise<string> {
  const ids = [application, organization, ...(user === undefined ? [] : [user])]
  return [actor, ...(await Promise.all(ids.map(keyPart)))].join('.')
}

/** Returns a function that says whether a key contains every given id. */
export async function keyMatcher(filter: ConnectionFilter): Promise<(key: string) => boolean> {
  const { actor, application, organization, user } = filter
  const ids = [application, organization, user]
  const wanted = [actor, ...(await Promise.all(ids.map((id) => (id === undefined ? undefined : keyPart(id)))))]
  return (key) => {
    const parts = key.split('.')
    return wanted.every((part, index) => part === undefined || part === parts[index])
  }
}

/** Whether the value has the form of a connection key. */
export function isConnectionKey(key: unknown): key is string {
  return typeof key === 'string' && /^(app(\.[a-z0-9=-]{1,80}){2}|self(\.[a-z0-9=-]{1,80}){3})$/.test(key)
}

/** A key can come from a URL or a cookie, so it is checked before it becomes part of a storage key. */
export function checkConnectionKey(key: unknown): asserts key is string {
  if (isConnectionKey(key)) return
  throw new InvalidArgumentError(
    'key',
    '`key` must be the key of a connection.',
    'Pass the `key` of a connection returned by `save` or `list`.',
  )
}

/**
 * Encodes a URL or id for a storage key. Lower-case letters, digits, `-` and the characters of `keep` stay, and every
 * other byte becomes `=` and two hexadecimal digits. The encoding is unique. A storage keeps it unchanged, because it
 * is free of upper case (which case-insensitive file systems ignore), separators, `?` and wildcards.
 */
export function encode(text: string, keep = ''): string {
  const plain = `abcdefghijklmnopqrstuvwxyz0123456789-${keep}`
  return Array.from(new TextEncoder().encode(text), (byte) => {
    const character = String.fromCharCode(byte)
    return plain.includes(character) ? character : `=${toHex([byte])}`
  }).join('')
}

/**
 * Longest encoded id. Three ids of this length, the actor and the dots stay below the 255 bytes that file systems allow
 * for a name.
 */
const maxPartLength = 80

/**
 * Returns an id as part of a key: encoded, or its SHA-256 digest if the encoded id is too long. An encoded id never
 * starts with `==`.
 */
async function keyPart(id: string): Promise<string> {
  const encoded = encode(id)
  return encoded.length <= maxPartLength ? encoded : `==${await sha256(id)}`
}
