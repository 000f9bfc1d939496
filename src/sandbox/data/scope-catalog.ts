import type { Role } from './shapes.ts'

/** The 16 scopes and what each grants, in words (reference, section 5.2). */
const scopeDescriptions = {
  'conversations:read': 'Read conversations',
  'conversations:write': 'Create, update and assign conversations',
  'messages:read': 'Read messages',
  'messages:write': 'Send, edit and delete messages',
  'notes:read': 'Read internal notes',
  'notes:write': 'Add internal notes',
  'contacts:read': 'Read contacts and their attributes',
  'contacts:write': 'Create and update contacts',
  'segments:read': 'Read segments',
  'segments:write': 'Create, update and delete segments',
  'tasks:read': 'Read tasks',
  'tasks:write': 'Create, update and delete tasks',
  'users:read': 'Read team members',
  'users:write': 'Invite, update and remove team members',
  'organization:read': 'Read the organization’s details and settings',
  'organization:write': 'Update the organization’s details and settings',
} as const

export type Scope = keyof typeof scopeDescriptions

// What is left of the `:write` scopes whose operations need a token of `self` (reference, section 1), some in whole.
const appScopeDescriptions: Partial<Record<Scope, string | null>> = {
  'conversations:write': 'Update conversations',
  'messages:write': null,
  'notes:write': null,
  'contacts:write': 'Update contacts',
  'users:write': null,
  'organization:write': 'Update the organization’s settings',
}

/** What a scope allows a token with this actor to do, in words; `null` when every operation of the scope needs `self`. */
export function describeScope(scope: Scope, actor: 'app' | 'self'): string | null {
  const ofApp = appScopeDescriptions[scope]
  return actor === 'self' || ofApp === undefined ? scopeDescriptions[scope] : ofApp
}

export const allScopes = Object.keys(scopeDescriptions) as readonly Scope[]

export function isScope(name: string): name is Scope {
  return Object.hasOwn(scopeDescriptions, name)
}

/** Scope names apart by spaces or commas (reference, section 3.1), without repeats. */
export function splitScope(scope: string): string[] {
  return [...new Set(scope.split(/[ ,]+/).filter((name) => name !== ''))]
}

/** What a token of this person may do: the granted scopes less those that its role may not have. */
export function limitScopesToRole(scopes: readonly Scope[], role: Role): Scope[] {
  return scopes.filter((scope) => role === 'admin' || !adminScopes.includes(scope))
}

// Which `:write` scopes need an admin is not documented. These two are the sandbox's own choice: inviting a member
// takes an admin and renaming the organization takes its owner (reference, section 1, rows 16 and 20).
const adminScopes: readonly Scope[] = ['users:write', 'organization:write']
