import { InvalidArgumentError } from '../errors/index.ts'

/** What names a connection: ids only. */
export interface ConnectionIdentity {
  readonly actor: 'app' | 'self'
  readonly application: string
  readonly organization: string
  /** Only for `self`. */
  readonly user?: string | undefined
}

/**
 * Returns the key of a connection: `app.<application>.<organization>` or `self.<application>.<organization>.<user>`. At
 * most 247 characters, so that it can be the name of a file or a folder.
 */
export async function connectionKey({ actor, application, organization, user }: ConnectionIdentity): Promise<string> {
  const ids = [application, organization, ...(user === undefined ? [] : [user])]
  return [actor, ...(await Promise.all(ids.map(keyPart)))].join('.')
}

/** Whether every id that is given is the one in the key. */
export async function keyMatches(
  key: string,
  wanted: { readonly [Name in keyof ConnectionIdentity]?: string | undefined },
): Promise<boolean> {
  const [actor, ...parts] = key.split('.')
  const ids = [wanted.application, wanted.organization, wanted.user]
  const same = await Promise.all(ids.map(async (id, index) => id === undefined || (await keyPart(id)) === parts[index]))
  return (wanted.actor === undefined || wanted.actor === actor) && !same.includes(false)
}

/** Whether the value is the key of a connection, in its one spelling. */
export function isConnectionKey(key: unknown): key is string {
  if (typeof key !== 'string' || !/^(app(\.[a-z0-9=-]+){2}|self(\.[a-z0-9=-]+){3})$/.test(key)) return false
  return key.split('.').every((part) => digestPattern.test(part) || isEncoded(part))
}

/** A key may come from a URL or a cookie: it never becomes part of a storage key unchecked. */
export function checkConnectionKey(key: unknown): asserts key is string {
  if (isConnectionKey(key)) return
  throw new InvalidArgumentError(
    'key',
    '`key` is not the key of a connection.',
    'Pass the `key` of a connection that `save` or `list` returned.',
  )
}

/**
 * An address or id as part of a storage key: every byte but lower-case letters, digits, `-` (and what `keep` names) is
 * `=` and two hex digits. One text, one result, so none can pass for another; and nothing that a storage would change:
 * no upper case (file systems that ignore it), no separators, no `?`, no wildcards.
 */
export function encode(text: string, keep = ''): string {
  const plain = `abcdefghijklmnopqrstuvwxyz0123456789-${keep}`
  return Array.from(new TextEncoder().encode(text), (byte) => {
    const character = String.fromCharCode(byte)
    return plain.includes(character) ? character : `=${byte.toString(16).padStart(2, '0')}`
  }).join('')
}

/** Three of this length, the actor and the dots stay below the 255 bytes that file systems allow for a name. */
const longestPart = 80
/** `==` never begins an encoded id, so a digest cannot pass for one. */
const digestPattern = /^==[0-9a-f]{64}$/

/** An id as part of a key: encoded, or its SHA-256 digest where that is too long. */
async function keyPart(id: string): Promise<string> {
  const encoded = encode(id)
  if (encoded.length <= longestPart) return encoded
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(id)))
  return `==${Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

function isEncoded(part: string): boolean {
  try {
    return part.length <= longestPart && encode(decodeURIComponent(part.replaceAll('=', '%'))) === part
  } catch {
    return false
  }
}
