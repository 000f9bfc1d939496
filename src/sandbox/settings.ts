import * as z from 'zod/mini'
import { allScopes, type Scope } from './data/scope-catalog.ts'
import type { RecordedRequest } from './request-log.ts'
import type { RequestRate, SandboxApp, SandboxOptions } from './sandbox-options.ts'
import { integer, mustBe, mustBeSecret, nonEmptyText, oneOf, plainObject, readOptions, text } from './schema.ts'

export const defaultRedirectUris: readonly string[] = [
  'http://localhost:3000/callback',
  'http://127.0.0.1:3000/callback',
]

/** An absolute URI without a fragment (RFC 6749, 3.1.2). Other characters could not be in a `Location` header. */
export const redirectUriSchema = mustBe(
  `an absolute URL of printable ASCII characters without a fragment, such as ${defaultRedirectUris[0]}`,
  z.string().check(z.refine((uri) => /^[!-~]+$/.test(uri) && URL.canParse(uri) && !uri.includes('#'))),
)

export const scopesSchema = mustBe(
  `an array of scopes, each one of ${allScopes.join(', ')}`,
  z.array(z.enum(allScopes as [Scope, ...Scope[]])),
)

export const tokenSchema = mustBeSecret(
  'a token of letters, digits and "_", "-" or "." that starts with "swot_", such as "swot_local"',
  z.string().check(z.regex(/^swot_[\w.-]+$/)),
)

/** A name or an address, as it is in the `Host` header without the port. */
export const hostNameSchema = mustBe(
  'a host name or an IP address without a port, such as "sandbox.example"',
  z.string().check(z.refine((host) => /^([\w.-]+|\[?[\da-f:.]+\]?)$/i.test(host))),
)

// The `Origin` header has neither a path nor a trailing slash, and is `null` in a sandboxed frame.
const originSchema = z.string().check(z.regex(/^(null|[a-z][a-z\d+.-]*:\/\/[^\s/?#*]+)$/))
const rateText = 'a number of requests per s, min or h, such as "100/min"'
export const rateSchema = mustBe(
  rateText,
  z.custom<RequestRate>((value) => typeof value === 'string' && /^[1-9]\d{0,8}\/(s|min|h)$/.test(value)),
)
const maxCount = 100_000

/** The schema and the default of each option. */
export const optionShape = {
  port: z._default(integer(0, 65_535), 0),
  host: z._default(nonEmptyText, '127.0.0.1'),
  allowedHosts: z._default(mustBe('an array of host names without a port', z.array(hostNameSchema)), []),
  organizations: z._default(integer(1, maxCount), 2),
  conversations: z._default(integer(0, maxCount), 120),
  messagesPerConversation: z._default(integer(0, maxCount), 3),
  contacts: z._default(integer(0, maxCount), 40),
  members: z._default(integer(1, maxCount), 6),
  tasks: z._default(integer(0, maxCount), 5),
  segments: z._default(integer(0, maxCount), 3),
  seed: z._default(integer(0, 0xffff_ffff), 0x5eed),
  tokens: z.optional(plainObject),
  app: z.optional(plainObject),
  codeLifetime: z._default(integer(1), 60_000),
  now: z._default(
    mustBe('a function that returns milliseconds', z.custom<() => number>(isFunction)),
    // Reads `Date.now` at each call, so that a test can fake the clock after the sandbox was started.
    () => () => Date.now(),
  ),
  autoConsent: z.optional(oneOf('allow', 'deny')),
  cors: z.optional(
    mustBe(
      'true, false or an array of origins without a path, such as "http://localhost:3000"',
      z.union([z.boolean(), z.array(originSchema)]),
    ),
  ),
  pagination: z._default(oneOf('all', 'conversations-only'), 'all'),
  defaultLimit: z._default(integer(1), 20),
  maxLimit: z._default(integer(1), 100),
  rateLimit: z.optional(
    mustBe(rateText, z.union([rateSchema, z.custom<(organizationId: string) => RequestRate | undefined>(isFunction)])),
  ),
  onRequest: z.optional(mustBe('a function', z.custom<(request: RecordedRequest) => void>(isFunction))),
} satisfies Record<keyof SandboxOptions, z.ZodMiniType>

const tokensShape = {
  self: z.optional(tokenSchema),
  app: z.optional(tokenSchema),
} satisfies Record<keyof NonNullable<SandboxOptions['tokens']>, z.ZodMiniType>

export const appShape = {
  clientId: z._default(nonEmptyText, 'app_sandbox'),
  clientSecret: z._default(mustBeSecret('a non-empty string', z.string().check(z.minLength(1))), 'secret_sandbox'),
  redirectUris: z._default(
    mustBe(
      'an array of redirect URIs, each an absolute URL of printable ASCII characters without a fragment',
      z.array(redirectUriSchema),
    ),
    [...defaultRedirectUris],
  ),
  name: z._default(nonEmptyText, 'Sandbox app'),
  description: z._default(text, 'The app that you are developing.'),
  scopes: z._default(scopesSchema, [...allScopes]),
} satisfies Record<keyof SandboxApp, z.ZodMiniType>

/** Checked {@link SandboxOptions} with every default filled in. */
export type SandboxSettings = ReturnType<typeof readSandboxOptions>

/** Throws a `TypeError` for an invalid option. */
export function readSandboxOptions(options: SandboxOptions) {
  const settings = readOptions('sandbox option', optionShape, options)
  const { host, allowedHosts } = settings
  if ((host === '0.0.0.0' || host === '::') && allowedHosts.length === 0) {
    throw new TypeError(
      `The sandbox option \`host\` is "${host}", so \`allowedHosts\` (--allowed-host) must name the hosts that other machines use.`,
    )
  }
  checkTotal(settings)
  return {
    ...settings,
    cors: settings.cors ?? ('loopback' as const),
    app: readOptions('`app` field', appShape, settings.app ?? {}),
    tokens: readTokens(settings.tokens ?? {}),
  }
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

// More would not fit into the memory that Node uses by default.
const maxRecords = 1_000_000

function checkTotal(counts: z.output<z.ZodMiniObject<typeof optionShape>>): void {
  const { organizations, conversations, messagesPerConversation, contacts, members, tasks, segments } = counts
  const perOrganization = conversations * (1 + messagesPerConversation) + contacts + members + tasks + segments
  const total = organizations * (1 + perOrganization)
  if (total > maxRecords) {
    throw new TypeError(
      `The sandbox can hold up to ${maxRecords} records, not ${total}. Reduce the counts in the options.`,
    )
  }
}

function readTokens(options: object): { self?: string | undefined; app?: string | undefined } {
  const tokens = readOptions('`tokens` field', tokensShape, options)
  if (tokens.self !== undefined && tokens.self === tokens.app) {
    throw new TypeError('The `tokens` fields `self` and `app` must be two different tokens.')
  }
  return tokens
}
