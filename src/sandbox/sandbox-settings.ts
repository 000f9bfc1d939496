import {
  arrayOf,
  type Check,
  type Checks,
  checkOptions,
  checkValue,
  integer,
  mustBe,
  mustBeSecret,
  nonEmptyText,
  object,
  oneOf,
  text,
} from './check-values.ts'
import { allScopes, isScope, type Scope } from './data/scope-catalog.ts'
import type { SeedCounts } from './data/seed.ts'
import type { RecordedRequest } from './request-log.ts'
import type { SandboxApp, SandboxOptions } from './sandbox-options.ts'

/** Checked {@link SandboxOptions} with every default filled in. */
export interface SandboxSettings {
  port: number
  host: string
  allowedHosts: readonly string[]
  counts: SeedCounts
  seed: number
  tokens: { readonly self?: string; readonly app?: string }
  app: { -readonly [Key in keyof SandboxApp]: SandboxApp[Key] } & { redirectUris: string[]; scopes: readonly Scope[] }
  codeLifetime: number
  now: () => number
  autoConsent: 'allow' | 'deny' | undefined
  cors: boolean | 'loopback' | readonly string[]
  pagination: 'all' | 'conversations-only'
  defaultLimit: number
  maxLimit: number
  rateLimit: RateLimit | ((organizationId: string) => RateLimit | undefined) | undefined
  onRequest: ((request: RecordedRequest) => void) | undefined
}

/** How many requests are allowed at once, and the time in milliseconds in which as many become available. */
export interface RateLimit {
  requests: number
  interval: number
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
    allowedHosts: [],
    counts: readCounts(options),
    seed: options.seed ?? 0x5eed,
    tokens: readTokens(options.tokens ?? {}),
    app: readApp(options.app ?? {}),
    codeLifetime: options.codeLifetime ?? 60_000,
    // Reads `Date.now` at each call, so that a test can fake the clock after the sandbox was started.
    now: options.now ?? (() => Date.now()),
    autoConsent: options.autoConsent,
    cors: options.cors ?? 'loopback',
    pagination: options.pagination ?? 'all',
    defaultLimit: options.defaultLimit ?? 20,
    maxLimit: options.maxLimit ?? 100,
    rateLimit: readRateLimitOption(options.rateLimit),
    onRequest: options.onRequest,
  }
}

function readCounts(options: SandboxOptions): SeedCounts {
  const counts = {
    organizations: options.organizations ?? 2,
    conversations: options.conversations ?? 120,
    messagesPerConversation: options.messagesPerConversation ?? 3,
    contacts: options.contacts ?? 40,
    members: options.members ?? 6,
    tasks: options.tasks ?? 5,
    segments: options.segments ?? 3,
  }
  const { organizations, conversations, messagesPerConversation, contacts, members, tasks, segments } = counts
  const perOrganization = conversations * (1 + messagesPerConversation) + contacts + members + tasks + segments
  const total = organizations * (1 + perOrganization)
  if (total > maxRecords) {
    throw new TypeError(
      `The sandbox can hold up to ${maxRecords} records, not ${total}. Reduce the counts in the options.`,
    )
  }
  return counts
}

// More would not fit into the memory that Node uses by default.
const maxRecords = 1_000_000
const maxCount = 100_000

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

function readTokens(tokens: NonNullable<SandboxOptions['tokens']>): SandboxSettings['tokens'] {
  checkOptions('`tokens` field', tokens, tokenChecks)
  if (tokens.self !== undefined && tokens.self === tokens.app) {
    throw new TypeError('The `tokens` fields `self` and `app` must be two different tokens.')
  }
  return { ...tokens }
}

const rateLimitSyntax = /^([1-9]\d{0,8})\/(s|min|h)$/

function readRateLimitOption(rateLimit: SandboxOptions['rateLimit']): SandboxSettings['rateLimit'] {
  if (typeof rateLimit !== 'function') return readRateLimit(rateLimit)
  return (organizationId) => {
    const rate = rateLimit(organizationId)
    if (rate !== undefined) checkValue(`The \`rateLimit\` of ${organizationId}`, rate, rateCheck)
    return readRateLimit(rate)
  }
}

const rateCheck: Check = mustBe(
  'a number of requests per s, min or h, such as "100/min"',
  (value) => typeof value === 'string' && rateLimitSyntax.test(value),
)

function readRateLimit(text: string | undefined): RateLimit | undefined {
  const [, requests, unit] = rateLimitSyntax.exec(text ?? '') ?? []
  if (requests === undefined) return undefined
  return { requests: Number(requests), interval: unit === 's' ? 1_000 : unit === 'min' ? 60_000 : 3_600_000 }
}

/** An absolute URI without a fragment (RFC 6749, 3.1.2). Other characters could not be in a `Location` header. */
export const redirectUriCheck: Check = mustBe(
  `an absolute URL of printable ASCII characters without a fragment, such as ${defaultRedirectUris[0]}`,
  (uri) => typeof uri === 'string' && /^[!-~]+$/.test(uri) && URL.canParse(uri) && !uri.includes('#'),
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

/** Returns whether pages of this origin may read responses. */
export function allowsOrigin(cors: SandboxSettings['cors'], origin: string): boolean {
  if (typeof cors === 'boolean') return cors
  return cors === 'loopback' ? isLoopbackOrigin(origin) : cors.includes(origin)
}

/** Returns whether a page of this origin was served by this machine. */
export function isLoopbackOrigin(origin: string): boolean {
  return /^https?:\/\/(([a-z\d-]+\.)*localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/.test(origin)
}

export const optionChecks: Checks<SandboxOptions> = {
  port: integer(0, 65_535),
  host: nonEmptyText,
  organizations: integer(1, maxCount),
  conversations: integer(0, maxCount),
  messagesPerConversation: integer(0, maxCount),
  contacts: integer(0, maxCount),
  members: integer(1, maxCount),
  tasks: integer(0, maxCount),
  segments: integer(0, maxCount),
  seed: integer(0, 0xffff_ffff),
  tokens: object,
  app: object,
  codeLifetime: integer(1),
  now: mustBe('a function that returns milliseconds', (value) => typeof value === 'function'),
  autoConsent: oneOf('allow', 'deny'),
  cors: corsCheck,
  pagination: oneOf('all', 'conversations-only'),
  defaultLimit: integer(1),
  maxLimit: integer(1),
  rateLimit: (value) => (typeof value === 'function' ? undefined : rateCheck(value)),
  onRequest: mustBe('a function', (value) => typeof value === 'function'),
}

export const tokenCheck: Check = mustBeSecret(
  'a token of letters, digits and "_", "-" or "." that starts with "swot_", such as "swot_local"',
  (value) => typeof value === 'string' && /^swot_[\w.-]+$/.test(value),
)

const tokenChecks: Checks<NonNullable<SandboxOptions['tokens']>> = { self: tokenCheck, app: tokenCheck }

const appChecks: Checks<SandboxApp> = {
  clientId: nonEmptyText,
  clientSecret: mustBeSecret('a non-empty string', (value) => nonEmptyText(value) === undefined),
  redirectUris: arrayOf('redirect URIs', redirectUriCheck),
  name: nonEmptyText,
  description: text,
  scopes: scopesCheck,
}
