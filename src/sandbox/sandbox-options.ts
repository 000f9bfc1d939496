import { isIPv6 } from 'node:net'
import * as z from 'zod/mini'
import { allScopes, type Scope, type ScopeName } from './data/scope-catalog.ts'
import type { RecordedRequest } from './request-log.ts'
import {
  callback,
  integer,
  isPlainObject,
  mustBe,
  mustBeSecret,
  nonEmptyText,
  oneOf,
  readOptions,
  text,
} from './schema.ts'

/** Options of {@link startSandbox} and {@link createSandbox}. */
export interface SandboxOptions {
  /**
   * Port to listen on; 0 picks a free one. Only used by `startSandbox`.
   * @default 0
   */
  port?: number
  /**
   * Address to listen on. Other machines cannot reach the default. Only used by `startSandbox`.
   * @default '127.0.0.1'
   */
  host?: string
  /**
   * Names and addresses that other machines reach the sandbox at, without a port, such as `'sandbox.example'`. A
   * request to any other host than this machine, `host` and these gets a 403, so that no website can read from the
   * sandbox through a domain that resolves to it. Required if `host` is `0.0.0.0` or `::`. Only used by `startSandbox`.
   * @default []
   */
  allowedHosts?: readonly string[]
  /**
   * Number of organizations that a person can choose from on the consent page. Each has the counts below. Each count
   * can be up to 100,000, and all organizations together can have up to 1,000,000 records.
   * @default 2
   */
  organizations?: number
  /**
   * Number of conversations in each organization.
   * @default 120
   */
  conversations?: number
  /**
   * Number of messages in each conversation.
   * @default 3
   */
  messagesPerConversation?: number
  /**
   * Number of contacts in each organization.
   * @default 40
   */
  contacts?: number
  /**
   * Number of team members in each organization: the owner, a moderator, an agent, a second admin, then agents.
   * @default 6
   */
  members?: number
  /**
   * Number of tasks in each organization.
   * @default 5
   */
  tasks?: number
  /**
   * Number of segments in each organization.
   * @default 3
   */
  segments?: number
  /**
   * Seed of the sample data, from 0 to 4294967295. The same seed and counts produce the same ids, names and texts.
   * @default 24301
   */
  seed?: number
  /**
   * Access tokens that are valid from the start, so that they can be in a configuration file such as `.env`. Each token
   * must start with `swot_` and has every scope of the app.
   * @default none
   */
  tokens?: {
    /** Token that acts as the first organization's owner, for example `swot_self`. */
    readonly self?: string
    /** Token that acts as the app, for example `swot_app`. */
    readonly app?: string
  }
  /** The registered OAuth app. Fields that are left out keep their defaults. */
  app?: Partial<SandboxApp>
  /**
   * The sandbox's clock. Returns the time in milliseconds since the epoch.
   * @default Date.now
   */
  now?: () => number
  /**
   * Skips the consent page and allows or denies access as the first organization's owner. By default a person decides.
   *
   * A single request can do the same with the query parameter `auto=allow` or `auto=deny`. In both cases the query
   * parameters `organization` (an id) and `role` (`admin`, `moderator` or `agent`) select who decides. These three
   * parameters exist only in the sandbox.
   */
  autoConsent?: 'allow' | 'deny'
  /**
   * Browser origins that are allowed to read responses. `true` allows all origins, an array allows the listed origins,
   * and `false` allows none. The default allows pages on this machine, at `localhost`, its subdomains, `127.*` and
   * `[::1]`, on any port. With `true` any page that you open can log in to the sandbox. The service's documents do not
   * mention CORS, so a page that works with the sandbox can fail with the service.
   * @default loopback origins
   */
  cors?: boolean | readonly string[]
  /**
   * Maximum page size; a larger `limit` is reduced to it. Without `limit`, a page has up to 20 items. The service's
   * documents specify neither.
   * @default 100
   */
  maxLimit?: number
  /**
   * Number of requests that the API allows per second (`s`), minute (`min`) or hour (`h`), such as `'100/min'`. A token
   * bucket: the whole number is available at once and refills evenly. Above it, the sandbox responds with 429 and
   * `Retry-After`. The service's documents do not specify its limits.
   *
   * Text is one limit for all requests. A function sets a separate limit for each organization: the sandbox calls the
   * function once with each organization's id. Return `undefined` for an organization without a limit. With a function,
   * requests without a valid token are not limited.
   * @default no limit
   */
  rateLimit?: RequestRate | ((organizationId: string) => RequestRate | undefined)
  /**
   * Called after each request to the service was handled. An error that it throws is reported as an uncaught exception.
   */
  onRequest?: (request: RecordedRequest) => void
}

/** A number of requests per second, minute or hour, such as `'100/min'`. */
export type RequestRate = `${number}/${'s' | 'min' | 'h'}`

/** The OAuth app that is registered with the sandbox. */
export interface SandboxApp {
  /**
   * Client id of the app.
   * @default 'app_sandbox'
   */
  clientId: string
  /**
   * Client secret of the app.
   * @default 'secret_sandbox'
   */
  clientSecret: string
  /**
   * Registered redirect URIs: absolute URLs of printable ASCII characters, without a fragment. A request must send
   * exactly one of these, character for character ([reference](docs/service.md#login)).
   * @default ['http://localhost:3000/callback', 'http://127.0.0.1:3000/callback']
   */
  redirectUris: readonly string[]
  /**
   * Name of the app, shown on the consent page.
   * @default 'Sandbox app'
   */
  name: string
  /**
   * Description of the app, shown on the consent page.
   * @default 'The app that you are developing.'
   */
  description: string
  /**
   * Scopes that the app declares. An authorization can grant only these.
   * @default all 16 scopes
   */
  scopes: readonly ScopeName[]
}

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
  z.string().check(z.refine((host) => /^[\w.-]+$/.test(host) || isIPv6(host.replace(/^\[(.*)\]$/, '$1')))),
)

// The `Origin` header ends after the port, so a path or a trailing slash is an error. In a sandboxed frame the header
// is `null`.
const originSchema = z.string().check(z.regex(/^(null|[a-z][a-z\d+.-]*:\/\/[^\s/?#*]+)$/))
const rateText = 'a number of requests per s, min or h, such as "100/min"'
export const rateSchema = mustBe(
  rateText,
  z.custom<RequestRate>((value) => typeof value === 'string' && /^[1-9]\d{0,8}\/(s|min|h)$/.test(value)),
)
const maxCount = 100_000
/** Fields that hold secrets. Each is checked separately. */
const secretFields = mustBeSecret('an object', z.custom<object>(isPlainObject))

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
  tokens: z.optional(secretFields),
  app: z.optional(secretFields),
  now: z._default(
    callback<() => number>('a function that returns milliseconds'),
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
  maxLimit: z._default(integer(1), 100),
  rateLimit: z.optional(
    mustBe(rateText, z.union([rateSchema, callback<(organizationId: string) => RequestRate | undefined>()])),
  ),
  onRequest: z.optional(callback<(request: RecordedRequest) => void>()),
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
  const app = readOptions('`app` field', appShape, settings.app ?? {})
  const tokens = readOptions('`tokens` field', tokensShape, settings.tokens ?? {})
  if (tokens.self !== undefined && tokens.self === tokens.app) {
    throw new TypeError('The `tokens` fields `self` and `app` must be two different tokens.')
  }
  return { ...settings, cors: settings.cors ?? ('loopback' as const), app, tokens }
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
