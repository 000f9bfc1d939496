import { isIPv6 } from 'node:net'
import { InvalidArgumentError } from '../errors/index.ts'
import { type Check, checkPlain, readOptions } from '../shared/check-options.ts'
import { accepts, callback, integer, listOf, nonEmptyText, oneOf, text, textThat, valid } from './checks.ts'
import { allScopes, type ScopeName } from './data/scope-catalog.ts'
import type { RecordedRequest } from './request-log.ts'

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
export const checkRedirectUri = textThat(
  `an absolute URL of printable ASCII characters without a fragment, such as ${defaultRedirectUris[0]}`,
  (uri) => /^[!-~]+$/.test(uri) && URL.canParse(uri) && !uri.includes('#'),
)

export const checkScopes: Check<readonly ScopeName[]> = listOf(
  `an array of scopes, each one of ${allScopes.join(', ')}`,
  oneOf(...allScopes),
)

const checkToken = textThat(
  'a token of letters, digits and "_", "-" or "." that starts with "swot_", such as "swot_local"',
  (token) => /^swot_[\w.-]+$/.test(token),
)

/** A name or an address, as it is in the `Host` header without the port. */
const checkHost = textThat(
  'a host name or an IP address without a port, such as "sandbox.example"',
  (host) => /^[\w.-]+$/.test(host) || isIPv6(host.replace(/^\[(.*)\]$/, '$1')),
)

// The `Origin` header ends after the port, so a path or a trailing slash is an error. In a sandboxed frame the header
// is `null`.
const checkOrigin = textThat('an origin', (origin) => /^(null|[a-z][a-z\d+.-]*:\/\/[^\s/?#*]+)$/.test(origin))
const checkOrigins = listOf('an array of origins', checkOrigin)

export const checkRate = textThat<RequestRate>('a number of requests per s, min or h, such as "100/min"', (rate) =>
  /^[1-9]\d{0,8}\/(s|min|h)$/.test(rate),
)
const maxCount = 100_000

/** The check of each option. */
const optionChecks = {
  port: integer(0, 65_535),
  host: nonEmptyText,
  allowedHosts: listOf('an array of host names without a port', checkHost),
  organizations: integer(1, maxCount),
  conversations: integer(0, maxCount),
  messagesPerConversation: integer(0, maxCount),
  contacts: integer(0, maxCount),
  members: integer(1, maxCount),
  tasks: integer(0, maxCount),
  segments: integer(0, maxCount),
  seed: integer(0, 0xffff_ffff),
  tokens: (name, value) => readOptions(checkPlain(name, value), tokenChecks, '`tokens`', name),
  app: (name, value) => readOptions(checkPlain(name, value), appChecks, '`app`', name),
  now: callback<() => number>(),
  autoConsent: oneOf('allow', 'deny'),
  cors: valid<boolean | readonly string[]>(
    'true, false or an array of origins without a path, such as "http://localhost:3000"',
    (value) => typeof value === 'boolean' || accepts(checkOrigins, value),
  ),
  maxLimit: integer(1),
  rateLimit: (name, value) =>
    typeof value === 'function'
      ? (value as (organizationId: string) => RequestRate | undefined)
      : checkRate(name, value),
  onRequest: callback<(request: RecordedRequest) => void>(),
} satisfies Record<keyof SandboxOptions, Check<unknown>>

const tokenChecks = {
  self: checkToken,
  app: checkToken,
} satisfies Record<keyof NonNullable<SandboxOptions['tokens']>, Check<unknown>>

const appChecks = {
  clientId: nonEmptyText,
  clientSecret: nonEmptyText,
  redirectUris: listOf(
    'an array of redirect URIs, each an absolute URL of printable ASCII characters without a fragment',
    checkRedirectUri,
  ),
  name: nonEmptyText,
  description: text,
  scopes: checkScopes,
} satisfies Record<keyof SandboxApp, Check<unknown>>

const defaults = {
  port: 0,
  host: '127.0.0.1',
  allowedHosts: [] as readonly string[],
  organizations: 2,
  conversations: 120,
  messagesPerConversation: 3,
  contacts: 40,
  members: 6,
  tasks: 5,
  segments: 3,
  seed: 0x5eed,
  // Reads `Date.now` at each call, so that a test can fake the clock after the sandbox was started.
  now: () => Date.now(),
  cors: 'loopback' as const,
  maxLimit: 100,
}

const defaultApp = {
  clientId: 'app_sandbox',
  clientSecret: 'secret_sandbox',
  redirectUris: defaultRedirectUris,
  name: 'Sandbox app',
  description: 'The app that you are developing.',
  scopes: allScopes as readonly ScopeName[],
}

/** More would not fit into the memory that Node uses by default. */
const maxRecords = 1_000_000

/** The address of every interface, in each spelling that the platform resolves: `0.0.0.0`, `0`, `0x0`, `::`, `::0%lo`. */
const everyAddress = /^(?:::ffff:)?[0:][0x.:]*(?:%.*)?$/i

/** Checked {@link SandboxOptions} with every default filled in. */
export type SandboxSettings = ReturnType<typeof readSandboxOptions>

/** Throws `InvalidArgumentError` for an invalid option. */
export function readSandboxOptions(options: SandboxOptions) {
  const read = readOptions(options, optionChecks, 'the sandbox')
  const settings = withDefaults(read, defaults)
  const { host, allowedHosts, tokens = { self: undefined, app: undefined }, app } = settings
  if (everyAddress.test(host) && allowedHosts.length === 0) {
    throw new InvalidArgumentError(
      'host',
      `\`host\` is "${host}", which other machines reach, and \`allowedHosts\` is empty.`,
      'Name the hosts that they use in `allowedHosts`.',
    )
  }
  if (tokens.self !== undefined && tokens.self === tokens.app) {
    throw new InvalidArgumentError('tokens', '`self` and `app` must be two different tokens.', 'Change one of them.')
  }
  const { organizations, conversations, messagesPerConversation, contacts, members, tasks, segments } = settings
  const inEach = 1 + conversations * (1 + messagesPerConversation) + contacts + members + tasks + segments
  if (organizations * inEach > maxRecords) {
    const problem = `The sandbox can hold up to ${maxRecords} records, not ${organizations * inEach}.`
    throw new InvalidArgumentError('conversations', problem, 'Reduce the counts in the options.')
  }
  const { redirectUris, ...ownApp } = withDefaults(app ?? {}, defaultApp)
  return { ...settings, tokens, app: { ...ownApp, redirectUris: [...redirectUris] } }
}

/** Returns options with the defaults of those that are undefined. */
function withDefaults<Read extends object, Defaults extends object>(read: Read, defaults: Defaults) {
  const given = Object.entries(read).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(given) } as Omit<Read, keyof Defaults> & {
    [Name in keyof Defaults]: Defaults[Name] | (Name extends keyof Read ? Exclude<Read[Name], undefined> : never)
  }
}
