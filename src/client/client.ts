import {
  type Call,
  type CallOptions,
  type ChangeableOptions,
  type ClientOptions,
  checkOperation,
  type InputOf,
  type Intercept,
  type Locate,
  type Method,
  type Operation,
  type OperationInput,
  readClientSettings,
  rememberCaller,
  Transport,
} from '../core/index.ts'
import type { Actor } from '../shared/actor.ts'
import { UnexpectedResponseError } from '../shared/errors/index.ts'
import type { Me } from './models/me.ts'
import { Contacts } from './resources/contacts.ts'
import { Conversations } from './resources/conversations.ts'
import { meOperation } from './resources/me.ts'
import { Members } from './resources/members.ts'
import { Messages } from './resources/messages.ts'
import { Notes } from './resources/notes.ts'
import { OrganizationResource } from './resources/organization.ts'
import { callOperation, type OptionsOf, type ResultOf, type SelfOnly } from './resources/resource.ts'
import { Segments } from './resources/segments.ts'
import { Tasks } from './resources/tasks.ts'

/** A client returned by `SupportWorkspace.connect`, with the actor and identity of its token. */
export type ConnectedWorkspace<A extends Actor = Actor> = SupportWorkspace<A> & {
  readonly actor: A
  readonly identity: Me
}

/**
 * Requires the `actor` option for a client of one actor. Otherwise the compiler would infer the actor from where the client
 * is used.
 */
type NamedActor<A extends Actor> = [Actor] extends [A] ? unknown : { readonly actor: A }

/** The arguments of `workspace.call` after the operation: its input, if it has any, and the options. */
export type CallArguments<Definition extends Operation> =
  Record<never, never> extends InputOf<Definition>
    ? [input?: InputOf<Definition>, options?: OptionsOf<Definition>]
    : [input: InputOf<Definition>, options?: OptionsOf<Definition>]

/** Registered, so that the journal finds it on a client of the other build, ESM or CommonJS. */
export const intercepted: unique symbol = Symbol.for('support-workspace-sdk.intercepted') as never

/**
 * The client of a support workspace. As a parameter type, `SupportWorkspace` accepts any client. Require
 * `SupportWorkspace<'self'>` in functions that author content.
 *
 * @example
 * const workspace = new SupportWorkspace({ baseUrl, accessToken, actor: 'self' })
 * for await (const conversation of workspace.conversations.list()) console.log(conversation.id)
 */
export class SupportWorkspace<out A extends Actor = Actor> {
  /** The actor mode of the token, or undefined if unknown. */
  readonly actor: A | undefined
  /** The identity of the token, if the client was created with `connect`. */
  readonly identity: Me | undefined
  /** Lists, starts, assigns and updates conversations. */
  readonly conversations: Conversations<A>
  /** Lists, sends, edits and deletes the messages of a conversation. */
  readonly messages: Messages<A>
  /** Lists and adds internal notes. */
  readonly notes: Notes<A>
  /** Lists, creates and updates contacts. */
  readonly contacts: Contacts<A>
  /** Lists, invites, updates and removes team members. */
  readonly members: Members<A>
  /** Reads and updates the organization and its settings. */
  readonly organization: OrganizationResource<A>
  /** Experimental: the paths are inferred. */
  readonly tasks: Tasks<A>
  /** Experimental: the paths are inferred. */
  readonly segments: Segments<A>
  /** @internal Returns a client whose calls pass through a function. */
  declare readonly [intercepted]: (intercept: Intercept) => SupportWorkspace<A>
  readonly #transport: Transport

  /** @throws InvalidArgumentError if an option is invalid. */
  constructor(options: ClientOptions<A> & NamedActor<A>) {
    // `withOptions` passes a transport.
    const transport = options instanceof Transport ? options : new Transport(readClientSettings(options))
    this.#transport = transport
    this.actor = transport.settings.actor as A | undefined
    this.identity = undefined
    this.conversations = new Conversations(transport)
    this.messages = new Messages(transport)
    this.notes = new Notes(transport)
    this.contacts = new Contacts(transport)
    this.members = new Members(transport)
    this.organization = new OrganizationResource(transport)
    this.tasks = new Tasks(transport)
    this.segments = new Segments(transport)
    // Bundlers would keep a class with a computed name, also where it is not used.
    Object.defineProperty(this, intercepted, { value: (intercept: Intercept) => this.#intercepted(intercept) })
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
    // Bundlers rename a class that refers to itself by name, and the new name shows when it is printed.
    return new this<Actor>(options).#identify(callOptions, rememberCaller(this.connect, 0))
  }

  /**
   * Returns a client with other options for the same token, for example a longer `timeout` for an export. It shares the rate
   * limiter, unless you pass another one. Options that are not given stay as they are.
   *
   * @example
   * const patient = workspace.withOptions({ timeout: 60_000, maxRetries: 5 })
   * await patient.me()
   *
   * @throws InvalidArgumentError if an option is invalid, or is `baseUrl`, `accessToken` or `actor`.
   */
  withOptions(options: ChangeableOptions): SupportWorkspace<A> & Pick<this, 'actor' | 'identity'> {
    const { actor, identity } = this
    return Object.assign(createClient<A>(this.#transport.with(options)), { actor, identity })
  }

  /**
   * Gets the identity of the token: app, organization, actor, scopes and user
   * ([specification](docs/service.md#identity)).
   */
  me(options?: CallOptions): Call<Me> {
    return callOperation(this.#transport, meOperation, {}, options, { locate: rememberCaller(this.me, 0) })
  }

  /**
   * Calls an operation made with `defineOperation`. In a generic function, pass the type of the operation:
   * `workspace.call<Definition>(operation, ...args)`.
   *
   * @param args the input (`path`, `query`, `body`) and the options of the call
   */
  call<const Definition extends Operation>(
    this: Definition extends { readonly actor: 'self' } ? SelfOnly<A, SupportWorkspace> : SupportWorkspace,
    // Inferred from the known properties only, so that an object literal with a misspelled one does not compile.
    operation: Operation & { readonly [Name in keyof Definition & keyof Operation]?: Definition[Name] },
    ...args: CallArguments<Definition>
  ): ResultOf<Definition>
  call<const Definition extends Operation>(
    operation: Definition,
    ...[input, options]: CallArguments<Definition>
  ): ResultOf<Definition> {
    const locate = rememberCaller(this.call, 0)
    return callOperation(this.#transport, operation, input ?? {}, options, { locate, check: checkOperation })
  }

  /**
   * Sends a request to a path below the base URL and returns the JSON body. Use it for one-off calls without a
   * definition. Pass ids in `input.path` rather than in the path, which identifies the call in errors and hooks.
   *
   * @example
   * const tags = await workspace.request('GET', '/api/oauth/v1/tags', { query: { limit: 5 } })
   *
   * @throws InvalidArgumentError if the path is not a plain path below the base URL.
   */
  request(method: Method, path: `/${string}`, input: OperationInput = {}, options?: CallOptions): Call<unknown> {
    // JavaScript may pass anything.
    const id = [method, path].filter((part) => typeof part === 'string').join(' ')
    return callOperation<Operation>(this.#transport, { id, method, path, envelope: 'any' }, input, options, {
      locate: rememberCaller(this.request, 0),
      check: checkOperation,
    })
  }

  #intercepted(intercept: Intercept): SupportWorkspace<A> {
    const { actor, identity } = this
    return Object.assign(createClient<A>(new Transport(this.#transport.settings, intercept)), { actor, identity })
  }

  async #identify(
    options: CallOptions | undefined,
    locate: Locate,
  ): Promise<ConnectedWorkspace<'app'> | ConnectedWorkspace<'self'>> {
    const call: Call<Me> = callOperation(this.#transport, meOperation, {}, options, { locate })
    const { data: identity, response } = await call.withResponse()
    const { actor, scopes } = identity
    if (actor !== 'app' && actor !== 'self') {
      const error = new UnexpectedResponseError('The service did not say whether the token acts as "app" or "self".', {
        operation: meOperation.id,
        outcome: 'no-effect',
        remedy: 'fix',
        reason: 'envelope',
        response,
        hint: 'Create the client with `new SupportWorkspace` and pass the `actor` of the token.',
      })
      throw locate(error)
    }
    this.#transport.identify(actor as Actor, Array.isArray(scopes) ? scopes.map(String) : undefined)
    return Object.assign(this, { actor, identity }) as unknown as ConnectedWorkspace<'app'> | ConnectedWorkspace<'self'>
  }

  /** @hidden */
  get [Symbol.toStringTag](): string {
    return 'SupportWorkspace'
  }
}

/** Outside the class, because bundlers rename a class that refers to itself by name. */
function createClient<A extends Actor>(transport: Transport): SupportWorkspace<A> {
  return new SupportWorkspace<A>(transport as never)
}
