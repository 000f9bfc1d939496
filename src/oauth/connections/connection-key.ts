import { InvalidArgumentError } from '../../errors/index.ts'

/** What names a connection: ids only. */
export interface ConnectionIdentity {
  readonly actor: 'app' | 'self'
  readonly application: string
  readonly organization: string
  /** Only for `self`. */
  readonly user?: string | undefined
}

/** The key of a connection: `app.<application>.<organization>` or `self.<application>.<organization>.<user>`. */
export function connectionKey({ actor, application, organization, user }: ConnectionIdentity): string {
  const parts = [application, organization, ...(user === undefined ? [] : [user])]
  return [actor, ...parts.map((id) => encode(id))].join('.')
}

/** What a key names; undefined for a text that is no key. */
export function parseConnectionKey(key: unknown): ConnectionIdentity | undefined {
  if (typeof key !== 'string' || !/^(app(\.[a-z0-9=-]+){2}|self(\.[a-z0-9=-]+){3})$/.test(key)) return undefined
  const [actor, application, organization, user] = key.split('.').map(decode)
  if ((actor !== 'app' && actor !== 'self') || application === undefined || organization === undefined) return undefined
  const identity = { actor, application, organization, user } as const
  return connectionKey(identity) === key ? identity : undefined
}

/** A key may come from a URL or a cookie: it never becomes part of a storage key unchecked. */
export function checkConnectionKey(key: unknown): asserts key is string {
  if (parseConnectionKey(key) !== undefined) return
  throw new InvalidArgumentError(
    'key',
    '`key` is not the key of a connection.',
    'Pass the `key` of a connection that `save` or `list` gave.',
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

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part.replaceAll('=', '%'))
  } catch {
    return undefined
  }
}
