import type { AsyncDisposal, PlatformFetch } from '../web-types.ts'
import type { Member } from './data/shapes.ts'
import type { Workspace } from './data/workspace.ts'
import type { Fault, Faults } from './faults/fault.ts'
import { FaultList } from './faults/fault-list.ts'
import type { RecordedRequest } from './incoming-request.ts'
import {
  checkRedirectUri,
  checkScopes,
  readSandboxOptions,
  type SandboxApp,
  type SandboxOptions,
  type SandboxSettings,
} from './options.ts'
import { createRequestHandler, Delays, type RequestHandler, type RequestHandlerParts } from './server/handle-request.ts'
import { createMswHandlers, createSandboxFetch } from './server/in-process.ts'
import { listen, type RunningServer } from './server/listen.ts'
import { Service } from './service.ts'
import { createState, type SandboxState, workspaceOf } from './state.ts'

/** A running local copy of the service, and the view behind its API that tests need. */
export interface Sandbox extends AsyncDisposal {
  /** The service's base address, without a slash at the end. */
  readonly url: string
  /** The OAuth app that is registered with the service. */
  readonly app: SandboxApp
  /** What the service keeps. */
  readonly state: SandboxState
  /** What goes wrong on purpose. */
  readonly faults: Faults
  /** What was received, oldest first: the last 10000 requests. */
  readonly requests: readonly RecordedRequest[]
  /**
   * The service in process, with the shape of `fetch`; it can be passed on by itself. Only the path of an address
   * matters. A redirect is given back rather than followed, or is an error with `redirect: 'error'`.
   */
  readonly fetch: PlatformFetch
  /** Makes an access token without the login (`swot_…`). Throws a `TypeError` for scopes, organizations and people that do not exist. */
  issueToken(options?: TokenOptions): string
  /** Revokes a token, as an admin does in the dashboard (specification, section 5). Says whether it was good until now. */
  revoke(token: string): boolean
  /** Registers one more redirect URI. Throws a `TypeError` unless it is absolute and without a fragment (RFC 6749, 3.1.2). */
  registerRedirectUri(uri: string): void
  /** Lets the next request below `/api` go wrong; short for `faults.add` with that path. */
  failNext(fault: Fault): void
  /** Forgets the requests received so far. */
  clearRequests(): void
  /**
   * Request handlers for msw, version 2 or later, which answer from this sandbox: `setupServer(...(await sandbox.handlers()))`.
   * They stand for `baseUrl`, by default the sandbox's own. Rejects when msw is not installed.
   * The type argument is only for code that wants to name the handlers' type, such as msw's `RequestHandler`.
   */
  handlers<Handler = never>(baseUrl?: string): Promise<Handler[]>
  /** Stops listening, closes every connection and ends what still waits. */
  close(): Promise<void>
}

/**
 * Starts the service on a local port.
 *
 * Rejects with an `Error` when the port cannot be had, and with a `TypeError` for an option that makes no sense.
 *
 * @example
 * await using sandbox = await startSandbox({ conversations: 1000 })
 * const response = await fetch(`${sandbox.url}/api/oauth/v1/conversations`, {
 *   headers: { authorization: `Bearer ${sandbox.issueToken()}` },
 * })
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = readSandboxOptions(options)
  const parts = assemble(settings)
  return present(parts, await listen(parts.receive, settings.host, settings.port))
}

/**
 * Makes the same service without a port: ask it through `sandbox.fetch` or through msw with `sandbox.handlers()`.
 * Its `url` is a placeholder, `http://localhost:4010`, at which nothing listens.
 *
 * Throws a `TypeError` for an option that makes no sense.
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  return present(assemble(readSandboxOptions(options)), {
    url: 'http://localhost:4010',
    close: () => Promise.resolve(),
  })
}

interface Parts extends RequestHandlerParts {
  receive: RequestHandler
}

function assemble(settings: SandboxSettings): Parts {
  const parts: RequestHandlerParts = {
    service: new Service(settings),
    faults: new FaultList(),
    requests: [],
    keptRequests: 10_000,
    waits: new Delays(),
  }
  return { ...parts, receive: createRequestHandler(parts) }
}

function present({ service, faults, requests, waits, receive }: Parts, server: RunningServer): Sandbox {
  const { app } = service.settings
  const fetch = createSandboxFetch(receive)
  const close = async (): Promise<void> => {
    waits.end()
    await server.close()
  }
  return {
    url: server.url,
    app,
    state: createState(service),
    faults,
    requests,
    fetch,
    issueToken: (options) => issueToken(service, options),
    revoke: (token) => service.grants.revoke(token),
    registerRedirectUri: (uri) => void app.redirectUris.push(checkRedirectUri(uri)),
    failNext: (fault) => void faults.add({ ...fault, path: /^\/api\// }),
    clearRequests: () => void requests.splice(0),
    handlers: (baseUrl = server.url) => createMswHandlers(fetch, baseUrl),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** What a token is to be bound to. */
export interface TokenOptions {
  /** Default: `'app'`. */
  actor?: 'app' | 'self'
  /** Granted scopes; for `self` less what the person's role may not have. Default: all that the app declares. */
  scopes?: readonly string[]
  /** Organization id. Default: the first organization. */
  organization?: string
  /** Membership id of the person that a `self` token acts as. Default: the first member with `role`. */
  member?: string
  /** Role of the person that a `self` token acts as, `'admin'` being the owner. Default: `'admin'`. */
  role?: 'admin' | 'moderator' | 'agent'
}

export function issueToken(service: Service, options: TokenOptions = {}): string {
  const { actor = 'app', scopes = service.settings.app.scopes, organization, member, role = 'admin' } = options
  const workspace = organization === undefined ? service.firstWorkspace : workspaceOf(service, organization)
  return service.grants.addToken({
    actor,
    scopes: checkScopes(scopes),
    organizationId: workspace.organization.id,
    memberId: actor === 'self' ? personFor(workspace, member, role).id : undefined,
  })
}

function personFor(workspace: Workspace, membershipId: string | undefined, role: string): Member {
  const person = membershipId === undefined ? workspace.memberWithRole(role) : workspace.members.get(membershipId)
  if (person !== undefined) return person
  const wanted = membershipId === undefined ? `with the role ${role}` : `with the membership id ${membershipId}`
  throw new TypeError(`The organization ${workspace.organization.id} has no member ${wanted}.`)
}
