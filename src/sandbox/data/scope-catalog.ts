import type { Role } from './shapes.ts'

/**
 * The 16 scopes (docs/service.md#scopes), each with what it allows, for the consent page. Some operations need an
 * `actor=self` token (docs/service.md#actors): the second text leaves them out for an app, and is `null` if nothing is
 * left.
 */
const descriptions = {
  'conversations:read': ['Read conversations'],
  'conversations:write': ['Create, update and assign conversations', 'Update conversations'],
  'messages:read': ['Read messages'],
  'messages:write': ['Send, edit and delete messages', null],
  'notes:read': ['Read internal notes'],
  'notes:write': ['Add internal notes', null],
  'contacts:read': ['Read contacts and their attributes'],
  'contacts:write': ['Create and update contacts', 'Update contacts'],
  'segments:read': ['Read segments'],
  'segments:write': ['Create, update and delete segments'],
  'tasks:read': ['Read tasks'],
  'tasks:write': ['Create, update and delete tasks'],
  'users:read': ['Read team members'],
  'users:write': ['Invite, update and remove team members', null],
  'organization:read': ['Read the organization’s details and settings'],
  'organization:write': ['Update the organization’s details and settings', 'Update the organization’s settings'],
} satisfies Record<string, [self: string, app?: string | null]>

export type Scope = keyof typeof descriptions

/** The name of a scope. Editors complete the documented ones, and a value of type `string` is accepted. */
export type ScopeName = Scope | (string & {})

/** Returns what a scope allows a token with this actor to do, or `null` if it allows nothing. */
export function describeScope(scope: Scope, actor: 'app' | 'self'): string | null {
  const [self, app = self]: [string, (string | null)?] = descriptions[scope]
  return actor === 'self' ? self : app
}

export const allScopes = Object.keys(descriptions) as readonly Scope[]

export function isScope(name: string): name is Scope {
  return Object.hasOwn(descriptions, name)
}

/** Splits a list of scopes at spaces and commas (docs/service.md#login), without duplicates. */
export function splitScope(scope: string): string[] {
  return [...new Set(scope.split(/[ ,]+/).filter((name) => name !== ''))]
}

/** Returns the scopes that a person with this role can use. */
export function limitScopesToRole(scopes: readonly Scope[], role: Role): Scope[] {
  return scopes.filter((scope) => role === 'admin' || !adminScopes.includes(scope))
}

// The documents do not say which `:write` scopes need an admin. The sandbox chose these two: only an admin can invite a
// member, and only the owner can rename the organization (docs/service.md#organization).
const adminScopes: readonly Scope[] = ['users:write', 'organization:write']
