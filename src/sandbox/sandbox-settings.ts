import {
  arrayOf,
  type Check,
  type Checks,
  checkOptions,
  integer,
  mustBe,
  nonEmptyText,
  object,
  oneOf,
  text,
} from './check-values.ts'
import { allScopes, isScope, type Scope } from './data/scope-catalog.ts'
import type { SeedCounts } from './data/seed.ts'
import type { SandboxApp, SandboxOptions } from './sandbox-options.ts'

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
  checkOptions('sandbox option', options, optionChecks)
  return {
    port: options.port ?? 0,
    host: options.host ?? '127.0.0.1',
    counts: {
      organizations: options.organizations ?? 2,
      conversations: options.conversations ?? 120,
      messagesPerConversation: options.messagesPerConversation ?? 3,
      contacts: options.contacts ?? 40,
      members: options.members ?? 6,
      tasks: options.tasks ?? 5,
      segments: options.segments ?? 3,
    },
    app: readApp(options.app ?? {}),
    codeLifetime: options.codeLifetime ?? 60_000,
    // Reads `Date.now` at each call, so that a test can fake the clock after the sandbox was started.
    now: options.now ?? (() => Date.now()),
    autoConsent: options.autoConsent,
    cors: options.cors ?? true,
    pagination: options.pagination ?? 'all',
    defaultLimit: options.defaultLimit ?? 20,
    maxLimit: options.maxLimit ?? 100,
  }
}

function readApp(app: Partial<SandboxApp>): SandboxSettings['app'] {
  checkOptions('`app` field', app, appChecks)
  return {
    clientId: app.clientId ?? 'app_sandbox',
    clientSecret: app.clientSecret ?? 'secret_sandbox',
    redirectUris: [...(app.redirectUris ?? defaultRedirectUris)],
    name: app.name ?? 'Sandbox app',
    description: app.description ?? 'The app that you are developing.',
    scopes: [...(app.scopes ?? allScopes)] as Scope[],
  }
}

/** An absolute URI without a fragment (RFC 6749, 3.1.2). */
export const redirectUriCheck: Check = mustBe(
  `an absolute URL without a fragment, such as ${defaultRedirectUris[0]}`,
  (uri) => typeof uri === 'string' && URL.canParse(uri) && !uri.includes('#'),
)

export const scopesCheck: Check = arrayOf(
  'scopes',
  mustBe(`one of ${allScopes.join(', ')}`, (name) => typeof name === 'string' && isScope(name)),
)

const corsKind: Check = mustBe('true, false or an array of origins', (value) => typeof value === 'boolean')

// The `Origin` header has neither a path nor a trailing slash, and is `null` in a sandboxed frame.
const originsCheck: Check = arrayOf(
  'origins',
  mustBe(
    'an origin without a path, such as "http://localhost:3000"',
    (origin) => typeof origin === 'string' && /^(null|[a-z][a-z\d+.-]*:\/\/[^\s/?#*]+)$/.test(origin),
  ),
)

const corsCheck: Check = (value) => (Array.isArray(value) ? originsCheck(value) : corsKind(value))

const optionChecks: Checks<SandboxOptions> = {
  port: integer(0, 65_535),
  host: nonEmptyText,
  organizations: integer(1),
  conversations: integer(0),
  messagesPerConversation: integer(0),
  contacts: integer(0),
  members: integer(1),
  tasks: integer(0),
  segments: integer(0),
  app: object,
  codeLifetime: integer(1),
  now: mustBe('a function that returns milliseconds', (value) => typeof value === 'function'),
  autoConsent: oneOf('allow', 'deny'),
  cors: corsCheck,
  pagination: oneOf('all', 'conversations-only'),
  defaultLimit: integer(1),
  maxLimit: integer(1),
}

const appChecks: Checks<SandboxApp> = {
  clientId: nonEmptyText,
  clientSecret: nonEmptyText,
  redirectUris: arrayOf('redirect URIs', redirectUriCheck),
  name: nonEmptyText,
  description: text,
  scopes: scopesCheck,
}
