import { allScopes, isScope, type Scope } from './data/scope-catalog.ts'
import type { SeedCounts } from './data/seed.ts'
import type { SandboxApp, SandboxOptions } from './sandbox-options.ts'
import { rejectUnknownKeys } from './unknown-keys.ts'

/** Checked {@link SandboxOptions} with every default filled in. */
export interface SandboxSettings {
  port: number
  host: string
  counts: SeedCounts
  app: { -readonly [Key in keyof SandboxApp]: SandboxApp[Key] } & { redirectUris: string[]; scopes: readonly Scope[] }
  codeLifetime: number
  now: () => number
  autoConsent: 'allow' | 'deny' | undefined
  cors: boolean | readonly string[]
  pagination: 'all' | 'conversations-only'
  defaultLimit: number
  maxLimit: number
}

export const defaultRedirectUris: readonly string[] = [
  'http://localhost:3000/callback',
  'http://127.0.0.1:3000/callback',
]

export function readSandboxOptions(options: SandboxOptions): SandboxSettings {
  rejectUnknownKeys('sandbox option', options, Object.keys(optionNames))
  return {
    port: checkInteger('port', options.port ?? 0, 0, 65_535),
    host: options.host ?? '127.0.0.1',
    counts: {
      organizations: checkInteger('organizations', options.organizations ?? 2, 1),
      conversations: checkInteger('conversations', options.conversations ?? 120, 0),
      messagesPerConversation: checkInteger('messagesPerConversation', options.messagesPerConversation ?? 3, 0),
      contacts: checkInteger('contacts', options.contacts ?? 40, 0),
      members: checkInteger('members', options.members ?? 6, 1),
      tasks: checkInteger('tasks', options.tasks ?? 5, 0),
      segments: checkInteger('segments', options.segments ?? 3, 0),
    },
    app: readApp(options.app ?? {}),
    codeLifetime: checkInteger('codeLifetime', options.codeLifetime ?? 60_000, 1),
    // Reads `Date.now` at each call, so that a test can fake the clock after the sandbox was started.
    now: options.now ?? (() => Date.now()),
    autoConsent: options.autoConsent,
    cors: options.cors ?? true,
    pagination: options.pagination ?? 'all',
    defaultLimit: checkInteger('defaultLimit', options.defaultLimit ?? 20, 1),
    maxLimit: checkInteger('maxLimit', options.maxLimit ?? 100, 1),
  }
}

/** Returns the URI. Throws a `TypeError` unless it is absolute and has no fragment (RFC 6749, 3.1.2). */
export function checkRedirectUri(uri: string): string {
  if (!URL.canParse(uri) || uri.includes('#')) {
    throw new TypeError(
      `The redirect URI ${JSON.stringify(uri)} cannot be registered. Use an absolute URL without a fragment, such as ${defaultRedirectUris[0]}.`,
    )
  }
  return uri
}

/** Returns the scopes. Throws a `TypeError` that names the first unknown one and lists the valid ones. */
export function checkScopes(names: readonly string[]): Scope[] {
  return names.map((name) => {
    if (isScope(name)) return name
    throw new TypeError(`The service has no scope ${JSON.stringify(name)}. Use any of: ${allScopes.join(', ')}.`)
  })
}

function readApp(app: Partial<SandboxApp>): SandboxSettings['app'] {
  rejectUnknownKeys('field of the sandbox option `app`:', app, Object.keys(appFieldNames))
  const redirectUris = app.redirectUris ?? defaultRedirectUris
  return {
    clientId: app.clientId ?? 'app_sandbox',
    clientSecret: app.clientSecret ?? 'secret_sandbox',
    redirectUris: redirectUris.map(checkRedirectUri),
    name: app.name ?? 'Sandbox app',
    description: app.description ?? 'The app that you are developing.',
    scopes: checkScopes(app.scopes ?? allScopes),
  }
}

function checkInteger(name: string, value: number, lowest: number, highest?: number): number {
  if (!Number.isSafeInteger(value) || value < lowest || value > (highest ?? value)) {
    const range = highest === undefined ? `of at least ${lowest}` : `from ${lowest} to ${highest}`
    throw new TypeError(`The sandbox option \`${name}\` must be an integer ${range}, not ${value}.`)
  }
  return value
}

// Records, so that the compiler reports an option that is missing here.
const optionNames: Record<keyof SandboxOptions, true> = {
  port: true,
  host: true,
  organizations: true,
  conversations: true,
  messagesPerConversation: true,
  contacts: true,
  members: true,
  tasks: true,
  segments: true,
  app: true,
  codeLifetime: true,
  now: true,
  autoConsent: true,
  cors: true,
  pagination: true,
  defaultLimit: true,
  maxLimit: true,
}

const appFieldNames: Record<keyof SandboxApp, true> = {
  clientId: true,
  clientSecret: true,
  redirectUris: true,
  name: true,
  description: true,
  scopes: true,
}
