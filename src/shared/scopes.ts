/** The scopes of the service ([reference](docs/service.md#scopes)). */
export const knownScopes = [
  'conversations:read',
  'conversations:write',
  'messages:read',
  'messages:write',
  'notes:read',
  'notes:write',
  'contacts:read',
  'contacts:write',
  'segments:read',
  'segments:write',
  'tasks:read',
  'tasks:write',
  'users:read',
  'users:write',
  'organization:read',
  'organization:write',
] as const

/** One of the documented scopes. */
export type KnownScope = (typeof knownScopes)[number]

/** A scope, `<resource>:<read|write>`. Scopes that this package does not know are accepted. */
export type Scope = KnownScope | (`${string}:${'read' | 'write'}` & {})

/** Parses scopes that are separated by spaces or commas, and removes duplicates. */
export function parseScopes(list: string): Scope[] {
  return [...new Set(list.split(/[\s,]+/).filter((scope) => scope !== ''))] as Scope[]
}

/** Returns the scopes in a value that the service sent, which should be a list. Undefined if it is no list or text. */
export function scopesIn(value: unknown): string[] | undefined {
  const list = typeof value === 'string' ? [value] : value
  return Array.isArray(list) ? parseScopes(list.filter((scope) => typeof scope === 'string').join(' ')) : undefined
}
