import type { ScopeName } from './data/scope-catalog.ts'
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
   * Names and addresses that other machines reach the sandbox at, without a port, such as `'sandbox.example'`. A request to
   * any other host than this machine, `host` and these gets a 403, so that no website can read from the sandbox through a
   * domain that resolves to it. Required if `host` is `0.0.0.0` or `::`. Only used by `startSandbox`.
   * @default []
   */
  allowedHosts?: readonly string[]
  /**
   * Number of organizations that a person can choose from on the consent page. Each has the counts below. Each count can be
   * up to 100,000, and all organizations together can have up to 1,000,000 records.
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
   * Selects the sample data, from 0 to 4294967295. The same seed and counts produce the same ids, names and texts.
   * @default 24301
   */
  seed?: number
  /**
   * Access tokens that are valid from the start, so that they can be in a configuration file such as `.env`. Each starts
   * with `swot_` and has every scope of the app. `self` acts as the first organization's owner.
   */
  tokens?: { readonly self?: string; readonly app?: string }
  /** The registered OAuth app. Fields that are left out keep their defaults. */
  app?: Partial<SandboxApp>
  /**
   * Lifetime of an authorization code, in milliseconds. The service's documents do not specify it.
   * @default 60_000
   */
  codeLifetime?: number
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
   * Browser origins that may read responses: all (`true`), only those listed, or none (`false`). By default pages on this
   * machine may: `localhost`, its subdomains, `127.*` and `[::1]`, on any port. With `true` any page that you open can log
   * in to the sandbox. The service's documents do not mention CORS, so a page that works with the sandbox may not work
   * with the service.
   * @default loopback origins
   */
  cors?: boolean | readonly string[]
  /**
   * Which lists are paginated. With `'all'` every list is, as the [specification](docs/service.md#conventions) says.
   * With `'conversations-only'` the other lists return all items without `page_metadata`, as in the reference's samples.
   * @default 'all'
   */
  pagination?: 'all' | 'conversations-only'
  /**
   * Page size of a request without `limit`. The service's documents do not specify it.
   * @default 20
   */
  defaultLimit?: number
  /**
   * Maximum page size; a larger `limit` is reduced to it. The service's documents do not specify it.
   * @default 100
   */
  maxLimit?: number
  /**
   * Number of requests that the API allows per second (`s`), minute (`min`) or hour (`h`), such as `'100/min'`. A token
   * bucket: the whole number is available at once and refills evenly. Above it, the sandbox responds with 429 and
   * `Retry-After`. The service's documents do not specify its limits.
   *
   * Text is one limit for all requests. A function gives each organization a limit of its own: it is called once with each
   * organization's id and returns that limit, or `undefined` for none. It does not limit requests without a valid token.
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
  /** @default 'app_sandbox' */
  clientId: string
  /** @default 'secret_sandbox' */
  clientSecret: string
  /**
   * Registered redirect URIs: absolute URLs of printable ASCII characters, without a fragment. A request must send exactly
   * one of these, character for character ([reference](docs/service.md#login)).
   * @default ['http://localhost:3000/callback', 'http://127.0.0.1:3000/callback']
   */
  redirectUris: readonly string[]
  /** @default 'Sandbox app' */
  name: string
  /** Description of the app, shown on the consent page. */
  description: string
  /**
   * Scopes that the app declares. An authorization can grant only these.
   * @default all 16 scopes
   */
  scopes: readonly ScopeName[]
}
