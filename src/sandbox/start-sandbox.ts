import type { Hono } from 'hono'
import type { AsyncDisposal } from '../shared/web-types.ts'
import type { AppEnv } from './app-env.ts'
import { text } from './checks.ts'
import { createConsole } from './console/console.ts'
import type { OrganizationData } from './data/organization-data.ts'
import type {
  Contact,
  Conversation,
  LooseRecord,
  Member,
  Message,
  Organization,
  OrganizationSettings,
} from './data/shapes.ts'
import { checkFault, type Fault, type Faults } from './faults/fault.ts'
import { Delays, FaultList } from './faults/inject-faults.ts'
import { type RecordedRequest, RequestLog } from './request-log.ts'
import {
  type AnswerOptions,
  type ConversationChanges,
  type EffectiveWrite,
  SandboxData,
  type TokenOptions,
} from './sandbox-data.ts'
import { checkRedirectUri, readSandboxOptions, type SandboxApp, type SandboxOptions } from './sandbox-options.ts'
import { createApp } from './server/app.ts'
import { createMswHandlers, createSandboxFetch } from './server/in-process.ts'
import { listen, type RunningServer } from './server/listen.ts'
import type { AppParts } from './server/record.ts'

/** The stored data of one organization. Every value is a copy. */
export interface OrganizationState {
  /** The organization, as `GET /organization` returns it. */
  readonly organization: Organization
  /** The settings of the organization. */
  readonly settings: OrganizationSettings
  /** All conversations, in the order of the service's list. */
  readonly conversations: Conversation[]
  /** All contacts, in the order of the service's list. */
  readonly contacts: Contact[]
  /** All team members, archived ones included, in the order of the service's list. */
  readonly members: Member[]
  /** All tasks, in the order of the service's list. */
  readonly tasks: LooseRecord[]
  /** All segments, in the order of the service's list. */
  readonly segments: LooseRecord[]
  /** Returns the messages of a conversation, most recent first. Returns an empty array for an unknown id. */
  messages(conversationId: string): Message[]
  /** Returns the notes of a conversation, most recent first. Returns an empty array for an unknown id. */
  notes(conversationId: string): Message[]
}

/**
 * The stored data of the first organization, read without the API. {@link SandboxState.of} returns other organizations.
 */
export interface SandboxState extends OrganizationState {
  /** All organizations of the sandbox. */
  readonly organizations: Organization[]
  /** The last 100,000 writes that took effect, oldest first, to compare with what a client reported. */
  readonly writes: EffectiveWrite[]
  /** Number of valid access tokens. */
  readonly tokens: number
  /** Returns the state of another organization. Throws `InvalidArgumentError` for an unknown id. */
  of(organizationId: string): OrganizationState
}

/** A running local imitation of the service, with controls for tests. */
export interface Sandbox extends AsyncDisposal {
  /** Base URL, without a trailing slash. */
  readonly url: string
  /** The registered OAuth app. */
  readonly app: SandboxApp
  /** The stored data, read without the API. */
  readonly state: SandboxState
  /** Faults to inject into responses. */
  readonly faults: Faults
  /**
   * The last 10,000 received requests, oldest first. Fewer are kept if their bodies have more than 16 MiB.
   */
  readonly requests: readonly RecordedRequest[]
  /**
   * Handles a request in process, with the signature of `fetch`. It does not depend on `this`. The origin of the URL is
   * ignored. A redirect is returned as a response, or rejected with `redirect: 'error'`.
   */
  readonly fetch: typeof globalThis.fetch
  /**
   * Returns a new access token (`swot_…`) without a login. Throws `InvalidArgumentError` for an invalid option, such as an
   * unknown scope, organization or member.
   */
  issueToken(options?: TokenOptions): string
  /**
   * Revokes a token, as an admin does in the dashboard ([specification](docs/service.md#tokens)). Returns whether it
   * was valid. Throws `InvalidArgumentError` if it is not a string.
   */
  revoke(token: string): boolean
  /**
   * Revokes every valid token and returns their number. A test of an app can revoke the app's connection with it,
   * without knowing the token.
   */
  revokeAll(): number
  /**
   * Adds a message from the customer of a conversation, as if it had arrived by email. Returns its id. Throws a
   * `InvalidArgumentError` if there is no such conversation, or the text is empty.
   */
  receiveMessage(conversationId: string, bodyHtml: string): string
  /**
   * Adds a message that a team member wrote in the dashboard, so `requests` and `state.writes` stay the same. Returns
   * its id. Throws `InvalidArgumentError` if there is no such conversation or member, or the text is empty.
   *
   * @example
   * sandbox.answer(conversation.id, '<p>Refunded.</p>', { member: sandbox.state.members[1]?.id })
   */
  answer(conversationId: string, bodyHtml: string, options?: AnswerOptions): string
  /**
   * Changes a conversation as a colleague does in the dashboard, so `requests` and `state.writes` stay the same. Throws
   * `InvalidArgumentError` for an invalid field, or an unknown conversation or team member.
   */
  updateConversation(conversationId: string, changes: ConversationChanges): void
  /**
   * Removes the conversation, contact, team member, task, segment, message or note with this id, as a colleague does in
   * the dashboard. Throws `InvalidArgumentError` if there is none.
   */
  removeItem(id: string): void
  /**
   * Registers another redirect URI. The URI must be an absolute URL of printable ASCII characters, without a fragment
   * (RFC 6749, 3.1.2). Throws `InvalidArgumentError` otherwise.
   */
  registerRedirectUri(uri: string): void
  /**
   * Injects a fault into the next request below `/api`. Short for `faults.add` with that path. Throws `InvalidArgumentError` for
   * an invalid fault.
   */
  failNext(fault: Fault): void
  /** Removes the recorded requests. */
  clearRequests(): void
  /**
   * Returns request handlers for msw 2 or later that respond from this sandbox:
   * `setupServer(...sandbox.handlers())`. They handle requests to `baseUrl`, which defaults to the sandbox's own URL.
   * Throws an `Error` if msw is missing, and `InvalidArgumentError` if `baseUrl` is not an absolute URL. Pass a type argument
   * to name the handlers' type, such as msw's `RequestHandler`.
   */
  handlers<Handler = never>(baseUrl?: string): Handler[]
  /** Stops the server, closes every connection and ends pending delays. */
  close(): Promise<void>
}

/**
 * Starts the service on a local port, with a console for browsers at its address.
 *
 * Rejects with an `Error` if it cannot listen on the port, and with `InvalidArgumentError` for an invalid option.
 *
 * @example
 * await using sandbox = await startSandbox({ conversations: 1000 })
 * const response = await fetch(`${sandbox.url}/api/oauth/v1/conversations`, {
 *   headers: { authorization: `Bearer ${sandbox.issueToken()}` },
 * })
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const parts = createParts(options, true)
  const { sandbox, log } = parts
  const app = createApp(parts)
  const server = await listen(app, (addresses) => createConsole({ sandbox, log, addresses }), sandbox.settings)
  return sandboxOf(app, parts, server)
}

/**
 * Creates the same service without a port. Send requests through `sandbox.fetch`, or through msw with
 * `sandbox.handlers()`. Its `url` is the placeholder `http://sandbox.localhost`; nothing listens there.
 *
 * Throws `InvalidArgumentError` for an invalid option.
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  const noServer = { url: 'http://sandbox.localhost', close: () => Promise.resolve() }
  const parts = createParts(options, false)
  return sandboxOf(createApp(parts), parts, noServer)
}

function createParts(options: SandboxOptions, captureBodies: boolean): AppParts {
  if (typeof Map.groupBy !== 'function') {
    throw new Error('This runtime is too old for the sandbox. Use Node 22 or later.')
  }
  const settings = readSandboxOptions(options)
  const log = new RequestLog({ requests: 10_000, bodyBytes: 16 * 1024 * 1024 })
  const { onRequest } = settings
  // In a microtask, an error that the function throws cannot break the response.
  if (onRequest !== undefined) log.onFinish((request) => queueMicrotask(() => onRequest(request)))
  return { sandbox: new SandboxData(settings), faults: new FaultList(), log, delays: new Delays(), captureBodies }
}

function sandboxOf(hono: Hono<AppEnv>, { sandbox, faults, log, delays }: AppParts, server: RunningServer): Sandbox {
  const { app } = sandbox.settings
  const close = async (): Promise<void> => {
    delays.endAll()
    await server.close()
  }
  return {
    url: server.url,
    app,
    state: createState(sandbox),
    faults,
    requests: log.requests,
    fetch: createSandboxFetch(hono, server.url),
    issueToken: (options) => sandbox.issueToken(options),
    revoke(token) {
      text('token', token)
      return sandbox.grants.revoke(token)
    },
    revokeAll: () => sandbox.grants.revokeAll(),
    receiveMessage: (conversationId, bodyHtml) => sandbox.receiveMessage(conversationId, bodyHtml),
    answer: (conversationId, bodyHtml, options) => sandbox.answer(conversationId, bodyHtml, options),
    updateConversation: (conversationId, changes) => sandbox.updateConversation(conversationId, changes),
    removeItem: (id) => sandbox.removeItem(id),
    registerRedirectUri(uri) {
      checkRedirectUri('uri', uri)
      app.redirectUris.push(uri)
    },
    failNext(fault) {
      checkFault(fault)
      faults.add({ ...fault, path: /^\/api\// })
    },
    clearRequests: () => log.clear(),
    handlers: (baseUrl = server.url) => createMswHandlers(hono, baseUrl),
    close,
    [Symbol.asyncDispose]: close,
  }
}

function createState(sandbox: SandboxData): SandboxState {
  const state = organizationState(sandbox.firstOrganization)
  return Object.defineProperties(state, {
    organizations: getter(() => [...sandbox.organizations.values()].map(({ organization }) => organization)),
    writes: getter(() => sandbox.writes),
    tokens: getter(() => sandbox.grants.issuedTokens().length),
    of: { value: (id: string) => organizationState(sandbox.dataOf(id)) },
  }) as SandboxState
}

function organizationState(data: OrganizationData): OrganizationState {
  return Object.defineProperties({} as OrganizationState, {
    organization: getter(() => data.organization),
    settings: getter(() => data.settings),
    conversations: getter(() => data.conversations.all()),
    contacts: getter(() => data.contacts.all()),
    members: getter(() => data.members.all()),
    tasks: getter(() => data.tasks.all()),
    segments: getter(() => data.segments.all()),
    messages: { value: (conversationId: string) => structuredClone(data.messages(conversationId).all()) },
    notes: { value: (conversationId: string) => structuredClone(data.notes(conversationId).all()) },
  })
}

function getter<Value>(read: () => Value): PropertyDescriptor {
  return { enumerable: true, get: () => structuredClone(read()) }
}
