import {
  type Call,
  type CallOptions,
  type ChangeableOptions,
  type CheckedClientOptions,
  type ClientOptions,
  type Core,
  callOperation,
  changeOptions,
  checkClientOptions,
  createCore,
  type InputOf,
  type Method,
  type Operation,
  type OperationInput,
  type OptionsOf,
  type ResultOf,
  settingsOf,
} from '../core/index.ts'
import { UnexpectedResponseError } from '../errors/index.ts'
import type { Actor } from '../shared/actor.ts'
import { scopesIn } from '../shared/scopes.ts'
import type { WebFetch } from '../shared/web-types.ts'
import { checkOwnOptions, readEnvironment } from './from-environment.ts'
import type { Me } from './generated/models.ts'
import { meOperations } from './generated/operations.ts'
import { Contacts } from './resources/contacts.ts'
import { Conversations } from './resources/conversations.ts'
import { Members } from './resources/members.ts'
import { Messages } from './resources/messages.ts'
import { Notes } from './resources/notes.ts'
import { OrganizationResource } from './resources/organization.ts'
import { detached, type SelfOnly } from './resources/resource.ts'
import { Segments } from './resources/segments.ts'
import { Tasks } from './resources/tasks.ts'

/** A client returned by `SupportWorkspace.connect`, with the actor and identity of its token. */
export type ConnectedWorkspace<A extends Actor = Actor> = SupportWorkspace<A> & {
  /** The actor of the token, from `/me`. */
  readonly actor: A
  /** The response of `/me`. */
  readonly identity: Me
}

/**
 * Requires the `actor` option for a client of one actor. Otherwise the compiler would infer the actor from where the
 * client is used.
 */
type NamedActor<A extends Actor> = [Actor] extends [A] ? unknown : { readonly actor: A }

/** The arguments of `workspace.call` after the operation: its input, if it has any, and the options. */
export type CallArguments<Definition extends Operation> =
  Record<never, never> extends InputOf<Definition>
    ? [input?: InputOf<Definition>, options?: OptionsOf<Definition>]
    : [input: InputOf<Definition>, options?: OptionsOf<Definition>]

/**
 * The client of a support workspace. As the type of a parameter, `SupportWorkspace` accepts any client. Functions that
 * author content need `SupportWorkspace<'self'>`.
 *
 * @example
 * const workspace = new SupportWorkspace({ baseUrl, accessToken, actor: 'self' })
 * for await (const conversation of workspace.conversations.list()) console.log(conversation.id)
 */
export class SupportWorkspace<out A extends Actor = Actor> {
  /** The actor mode of the token, or undefined if unknown. */
  readonly actor!: A | undefined
  /** The identity of the token, if the client was created with `connect`. */
  readonly identity!: Me | undefined
  /** Lists, starts, assigns and updates conversations. */
  readonly conversations!: Conversations<A>
  /** Lists, sends, edits and deletes the messages of a conversation. */
  readonly messages!: Messages<A>
  /** Lists and adds internal notes. */
  readonly notes!: Notes<A>
  /** Lists, creates and updates contacts. */
  readonly contacts!: Contacts<A>
  /** Lists, invites, updates and removes team members. */
  readonly members!: Members<A>
  /** Reads and updates the organization and its settings. */
  readonly organization!: OrganizationResource<A>
  /** Lists, creates, updates and deletes tasks. Experimental: paths and fields are inferred. */
  readonly tasks!: Tasks<A>
  /** Lists, creates, updates and deletes segments. Experimental: paths and fields are inferred. */
  readonly segments!: Segments<A>

  /** @throws InvalidArgumentError if an option is invalid. */
  constructor(options: ClientOptions<A> & NamedActor<A>) {
    equip(this, createCore(settingsOf(checkClientOptions(options))), undefined)
  }

  /**
   * Creates a client for the token in the environment variable `SUPPORT_WORKSPACE_TOKEN`, for scripts and jobs. Sends it to
   * `SUPPORT_WORKSPACE_URL`, or to `https://api.supportwire.app` if that is not set. The command reads the same
   * variables, and `support-workspace-sdk sandbox` prints both for a sandbox.
   *
   * @example
   * const workspace = SupportWorkspace.fromEnvironment({ actor: 'self' })
   * const { data } = await workspace.conversations.list({ limit: 3 })
   *
   * @throws InvalidArgumentError if the token is not set, if an option is invalid, or in a browser.
   */
  static fromEnvironment<const A extends Actor = Actor>(
    options: Omit<ClientOptions<A>, 'baseUrl' | 'accessToken'> = {},
  ): SupportWorkspace<A> {
    if (typeof this !== 'function') throw detached('fromEnvironment', 'SupportWorkspace')
    return new this<Actor>({
      ...checkOwnOptions(options),
      ...readEnvironment(),
    } as ClientOptions) as SupportWorkspace<A>
  }

  /**
   * Requests `/me` once and returns a client that knows the actor, scopes and `identity` of its token.
   *
   * @example
   * const workspace = await SupportWorkspace.connect({ baseUrl, accessToken })
   * if (workspace.actor === 'self') await workspace.messages.create(id, { body_html: '<p>On it.</p>' })
   *
   * @throws UnexpectedResponseError if the service does not name a known actor.
   */
  static async connect(
    options: Omit<ClientOptions, 'actor' | 'scopes'>,
    callOptions?: CallOptions,
  ): Promise<ConnectedWorkspace<'app'> | ConnectedWorkspace<'self'>> {
    if (typeof this !== 'function') throw detached('connect', 'SupportWorkspace')
    const unknown = new this<Actor>(options)
    const { data: identity, response } = await unknown.withOptions({ fresh: true }).me(callOptions).withResponse()
    const { actor, scopes } = identity
    if (actor !== 'app' && actor !== 'self') {
      throw new UnexpectedResponseError('The service did not say whether the token acts as "app" or "self".', {
        operation: meOperations.me.id,
        outcome: 'no-effect',
        remedy: 'fix',
        reason: 'envelope',
        response,
        hint: 'Create the client with `new SupportWorkspace` and pass the `actor` of the token.',
      })
    }
    const changes = { scopes: scopesIn(scopes) }
    const known = { ...changeOptions(coreOf(unknown).settings, changes), actor: actor as Actor }
    return derive(unknown, known, identity) as ConnectedWorkspace<'app'> | ConnectedWorkspace<'self'>
  }

  /**
   * Returns a client with other options for the same token, for example a longer `timeout` for an export. Both clients
   * share the rate limiter, unless you pass another one. Other options keep their values.
   *
   * @example
   * const patient = workspace.withOptions({ timeout: 60_000, maxRetries: 5 })
   * await patient.me()
   *
   * @throws InvalidArgumentError if an option is invalid, or is `baseUrl`, `accessToken` or `actor`.
   */
  withOptions(options: ChangeableOptions): this {
    return derive(this, changeOptions(ownCore(this, 'withOptions').settings, options), this.identity)
  }

  /**
   * Gets the identity of the token: app, organization, actor, scopes and user
   * ([specification](docs/service.md#identity)).
   */
  me(options?: CallOptions): Call<Me> {
    return callOperation(ownCore(this, 'me'), meOperations.me, {}, options)
  }

  /**
   * Calls an operation made with `defineOperation`. In a generic function, pass the type of the operation:
   * `workspace.call<Definition>(operation, ...args)`.
   *
   * @param args the input (`path`, `query`, `body`) and the options of the call
   */
  call<const Definition extends Operation>(
    this: Definition extends { readonly actor: 'self' } ? SelfOnly<A, SupportWorkspace> : SupportWorkspace,
    // Inferred from the known properties only, so that an object literal with a misspelled property causes a compiler
    // error.
    operation: Operation & { readonly [Name in keyof Definition & keyof Operation]?: Definition[Name] },
    ...args: CallArguments<Definition>
  ): ResultOf<Definition>
  call<const Definition extends Operation>(
    operation: Definition,
    ...[input, options]: CallArguments<Definition>
  ): ResultOf<Definition> {
    // A copy, which the caller cannot change. An operation without evidence is one of the caller's.
    const copy = { ...operation, evidence: undefined } as unknown as Definition
    return callOperation(ownCore(this, 'call'), copy, input ?? {}, options)
  }

  /**
   * Sends a request to a path below the base URL and returns the JSON body. Use it for one-off calls without a
   * definition. `path` appears in errors and hook events, so keep ids out of it: `request('GET', '/tags/{id}', { path:
   * { id } })`.
   *
   * @example
   * const tags = await workspace.request('GET', '/api/oauth/v1/tags', { query: { limit: 5 } })
   *
   * @throws InvalidArgumentError if the path is not a plain path below the base URL.
   */
  request(method: Method, path: `/${string}`, input: OperationInput = {}, options?: CallOptions): Call<unknown> {
    // JavaScript can pass anything.
    const id = [method, path].filter((part) => typeof part === 'string').join(' ')
    const operation: Operation = { id, method, path, envelope: 'any' }
    return callOperation(ownCore(this, 'request'), operation, input, options)
  }

  /**
   * Returns a client with any other options, also those that `withOptions` cannot change.
   *
   * @internal
   * @param change gets the options, with the limiter of this client
   */
  replaceOptions(change: (options: UsedOptions) => Partial<ClientOptions>): this {
    const { given, rateLimiter, findRateLimitKey } = ownCore(this, 'replaceOptions').settings
    const options = { ...given, rateLimiter, findRateLimitKey } as UsedOptions
    return derive(this, { ...options, ...change(options) } as typeof given, this.identity)
  }

  /**
   * Calls an operation as it is, also a built-in one that a storage has kept without its schemas.
   *
   * @internal
   */
  callAgain(operation: Operation, input: OperationInput, options?: CallOptions): Call<unknown> {
    return callOperation(ownCore(this, 'callAgain'), operation, input, options) as Call<unknown>
  }

  /** @hidden */
  get [Symbol.toStringTag](): string {
    return 'SupportWorkspace'
  }
}

/** The options of a client, with the limiter that it uses. */
type UsedOptions = ClientOptions & { readonly rateLimiter: NonNullable<ClientOptions['rateLimiter']> }

/**
 * The key of a function that returns the core of a client. A private field could not be read through a proxy, which a
 * reactive framework puts around objects, and nothing prints the settings behind a function.
 */
const core = Symbol('core')

function coreOf(workspace: SupportWorkspace): Core {
  return (workspace as unknown as { readonly [core]: () => Core })[core]()
}

/** @throws InvalidArgumentError if the method was taken from its client */
function ownCore(workspace: SupportWorkspace | undefined, method: string): Core {
  if (Reflect.get(Object(workspace), core) === undefined) throw detached(method)
  return coreOf(workspace as SupportWorkspace)
}

/** Returns the `fetch` of a client, to put another function around it. Not part of the public API. */
export function fetchOf(workspace: SupportWorkspace): WebFetch {
  return coreOf(workspace).settings.fetch ?? ((url, init) => (globalThis.fetch as WebFetch)(url, init))
}

/** Gives a client its core, and its resources. */
function equip(workspace: SupportWorkspace, own: Core, identity: Me | undefined): void {
  Object.defineProperty(workspace, core, { value: () => own })
  Object.assign(workspace, {
    actor: own.settings.actor,
    identity,
    conversations: new Conversations(own),
    messages: new Messages(own),
    notes: new Notes(own),
    contacts: new Contacts(own),
    members: new Members(own),
    organization: new OrganizationResource(own),
    tasks: new Tasks(own),
    segments: new Segments(own),
  })
}

/**
 * Returns a copy of a client with other options. The copy keeps the class and the fields of the client, without calling
 * the constructor of a subclass.
 */
function derive<Client extends SupportWorkspace>(
  workspace: Client,
  options: CheckedClientOptions,
  identity: Me | undefined,
): Client {
  const copy = Object.assign(Object.create(Object.getPrototypeOf(workspace)), workspace) as Client
  equip(copy, createCore(settingsOf(options)), identity)
  return copy
}
