import { allScopes, isScope, type Scope } from './data/scope-catalog.ts'
import type { SeedCounts } from './data/seed.ts'

/** What {@link startSandbox} and {@link createSandbox} take; every option has a default. */
export interface SandboxOptions {
  /** Port to listen on; 0 takes any free one. Only for `startSandbox`. Default: 0. */
  port?: number
  /** Address to listen on. Only for `startSandbox`. Default: `'127.0.0.1'`, which other machines cannot reach. */
  host?: string
  /** How many organizations to offer at consent. Default: 2. Each has the counts below. */
  organizations?: number
  /** Conversations of each organization. Default: 120. */
  conversations?: number
  /** Messages of each conversation. Default: 3. */
  messagesPerConversation?: number
  /** Contacts of each organization. Default: 40. */
  contacts?: number
  /** Team members of each organization: the owner, a moderator, an agent, a second admin, then agents. Default: 6. */
  members?: number
  /** Tasks of each organization. Default: 5. */
  tasks?: number
  /** Segments of each organization. Default: 3. */
  segments?: number
  /** Overrides for the OAuth app that is registered with the service. */
  app?: Partial<SandboxApp>
  /** Lifetime of an authorization code in milliseconds. Default: 60000. The documents give no figure. */
  codeLifetime?: number
  /** The sandbox's clock, in milliseconds since the epoch. Default: `Date.now`. */
  now?: () => number
  /**
   * Answers the consent screen by itself, as the first organization's owner. Default: a person decides.
   * One request can ask for the same with the query parameter `auto`, the sandbox's own, set to `allow` or `deny`; with
   * it or with this option, `organization` (an id) and `role` (`admin`, `moderator` or `agent`) choose who consents.
   */
  autoConsent?: 'allow' | 'deny'
  /**
   * Which browser origins may read answers: every one (`true`), the listed ones, or none (`false`). Default: `true`.
   * The service's documents say nothing about CORS, so that a page works here is no sign that it will work there.
   */
  cors?: boolean | readonly string[]
  /**
   * Which lists are paginated. `'all'`: every list, as the specification's section 1 says. `'conversations-only'`:
   * the others answer everything without `page_metadata`, as the reference's samples show. Default: `'all'`.
   */
  pagination?: 'all' | 'conversations-only'
  /** Items of a page when `limit` is not sent. Default: 20. The documents give no figure. */
  defaultLimit?: number
  /** A larger `limit` is treated as this one. Default: 100. The documents give no figure. */
  maxLimit?: number
}

/** The OAuth app that is registered with the sandbox. */
export interface SandboxApp {
  /** Default: `'app_sandbox'`. */
  clientId: string
  /** Default: `'secret_sandbox'`. */
  clientSecret: string
  /** Compared exactly, character for character (reference, section 3.1). Default: `/callback` on port 3000 of `localhost` and `127.0.0.1`. */
  redirectUris: readonly string[]
  /** Default: `'Sandbox app'`. */
  name: string
  /** Shown on the consent screen. */
  description: string
  /** The scopes that the app declares: a superset of what an authorization can grant. Default: all 16. */
  scopes: readonly string[]
}

export const defaultRedirectUris: readonly string[] = [
  'http://localhost:3000/callback',
  'http://127.0.0.1:3000/callback',
]

/** The options with every default filled in. */
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

export function readSandboxOptions(options: SandboxOptions): SandboxSettings {
  return {
    port: checkInteger('port', options.port, 0, 0, 65_535),
    host: options.host ?? '127.0.0.1',
    counts: {
      organizations: checkInteger('organizations', options.organizations, 2, 1),
      conversations: checkInteger('conversations', options.conversations, 120, 0),
      messagesPerConversation: checkInteger('messagesPerConversation', options.messagesPerConversation, 3, 0),
      contacts: checkInteger('contacts', options.contacts, 40, 0),
      members: checkInteger('members', options.members, 6, 1),
      tasks: checkInteger('tasks', options.tasks, 5, 0),
      segments: checkInteger('segments', options.segments, 3, 0),
    },
    app: readApp(options.app ?? {}),
    codeLifetime: checkInteger('codeLifetime', options.codeLifetime, 60_000, 1),
    // Looked up at each call, so that a test which fakes the clock after the start is heard.
    now: options.now ?? (() => Date.now()),
    autoConsent: options.autoConsent,
    cors: options.cors ?? true,
    pagination: options.pagination ?? 'all',
    defaultLimit: checkInteger('defaultLimit', options.defaultLimit, 20, 1),
    maxLimit: checkInteger('maxLimit', options.maxLimit, 100, 1),
  }
}

/** Throws a `TypeError` unless this can be registered: an absolute URI without a fragment (RFC 6749, 3.1.2). */
export function checkRedirectUri(uri: string): string {
  if (!URL.canParse(uri) || uri.includes('#')) {
    throw new TypeError(`A redirect URI is an absolute URL without a fragment, which ${JSON.stringify(uri)} is not.`)
  }
  return uri
}

/** Throws a `TypeError` that names the first of these which is not a scope of the service. */
export function checkScopes(names: readonly string[]): Scope[] {
  return names.map((name) => {
    if (!isScope(name)) throw new TypeError(`The service has no scope ${JSON.stringify(name)}.`)
    return name
  })
}

function readApp(app: Partial<SandboxApp>): SandboxSettings['app'] {
  const redirectUris = app.redirectUris ?? defaultRedirectUris
  return {
    clientId: app.clientId ?? 'app_sandbox',
    clientSecret: app.clientSecret ?? 'secret_sandbox',
    redirectUris: redirectUris.map(checkRedirectUri),
    name: app.name ?? 'Sandbox app',
    description: app.description ?? 'The app that you are developing, as the sandbox knows it.',
    scopes: checkScopes(app.scopes ?? allScopes),
  }
}

function checkInteger(
  name: string,
  value: number | undefined,
  otherwise: number,
  lowest: number,
  highest: number = Number.MAX_SAFE_INTEGER,
): number {
  const number = value ?? otherwise
  if (!Number.isSafeInteger(number) || number < lowest || number > highest) {
    const range = highest === Number.MAX_SAFE_INTEGER ? `of at least ${lowest}` : `from ${lowest} to ${highest}`
    throw new TypeError(`The sandbox option \`${name}\` is a whole number ${range}, not ${number}.`)
  }
  return number
}
