import { operations } from '../client/index.ts'
import {
  type Actor,
  ActorSelfRequiredError,
  AuthenticationError,
  type ChangeableOptions,
  type Hooks,
  InsufficientScopeError,
  isSupportWorkspaceError,
  type Me,
  SupportWorkspace,
} from '../index.ts'
import type { Connection } from '../oauth/index.ts'
import { isLoopback, parseBaseUrl } from '../shared/credentials.ts'
import { CommandError, commandOf, usage } from './errors.ts'
import { findLogin, givenName, type Login, Logins } from './logins.ts'
import type { Io, Terminal } from './terminal.ts'

const defaultUrl = 'https://api.supportwire.app'

/** Where a token comes from. */
export interface Origin {
  readonly source: 'environment' | 'login'
  /** The name of the stored login. */
  readonly profile?: string
  /** The file or the variable that has the token. */
  readonly storedIn: string
  /** The only service that the token is sent to. */
  readonly baseUrl: string
}

/** Whose token it is, as `/me` and a stored login say it. */
export type Identity = Pick<Connection, 'organization' | 'actor' | 'user' | 'scopes'>

/** Whose data a command reads or writes. */
export interface Session {
  readonly origin: Origin
  readonly workspace: SupportWorkspace
  /** Returns what the login has stored, or asks the service. */
  identify(): Promise<Identity>
  readToken(): Promise<string>
}

/** The options of every command that needs a token. */
export interface SessionFlags {
  readonly profile?: string | undefined
}

/** Returns the base URL of the service that an option or the environment names, as it is stored and compared. */
export function serviceUrl({ env }: Io, option?: string): string {
  const url = parseBaseUrl(option ?? (env.SUPPORT_WORKSPACE_URL || defaultUrl), true)
  if (url.protocol === 'http:' && !isLoopback(url)) {
    const problem = `The address of the service is plain http on ${url.host}, which would show the token to the network.`
    throw usage(problem, 'Use https. Only an address of this machine can be http.')
  }
  return url.href.replace(/\/$/, '')
}

/** Runs a function with a client for the token that the environment or a login has. */
export async function withSession<Result>(
  terminal: Terminal,
  { profile }: SessionFlags,
  use: (session: Session) => Promise<Result>,
  given: ChangeableOptions = {},
): Promise<Result> {
  const { io } = terminal
  const token = io.env.SUPPORT_WORKSPACE_TOKEN
  const client = { ...given, logger: terminal.logger, hooks: tellingWaits(terminal) }
  if (token && profile !== undefined)
    terminal.note(`SUPPORT_WORKSPACE_TOKEN is set, but --profile ${profile} wins.`, { profile })
  if (token && profile === undefined) {
    const baseUrl = serviceUrl(io)
    const workspace = new SupportWorkspace({ ...client, baseUrl, accessToken: token })
    const origin: Origin = { source: 'environment', storedIn: 'SUPPORT_WORKSPACE_TOKEN', baseUrl }
    try {
      return await use({
        origin,
        workspace,
        identify: async () => identityOf(await workspace.me({ signal: io.signal })),
        readToken: async () => token,
      })
    } catch (thrown) {
      adviseVariable(thrown, origin)
      throw thrown
    }
  }
  using logins = await Logins.openExisting(terminal)
  const url = io.env.SUPPORT_WORKSPACE_URL ? serviceUrl(io) : undefined
  const name = givenName(io, profile)
  const login = logins && chooseLogin(await logins.list(), name, url)
  if (logins === undefined || login === undefined) throw new NotLoggedInError(url)
  const { name: profileName, baseUrl, connection } = login
  const origin: Origin = { source: 'login', profile: profileName, storedIn: logins.file, baseUrl }
  try {
    return await use({
      origin,
      workspace: await logins.storeOf(baseUrl, client).workspace(connection.key),
      identify: async () => connection,
      readToken: () => logins.tokenOf(login),
    })
  } catch (thrown) {
    suggestLogin(thrown, origin, connection)
    throw thrown
  }
}

/** Waits that are shorter than this are not worth a line, in milliseconds. */
const longWait = 2_000

/** Returns hooks that tell of a wait for the rate limit: one line for all calls that wait for the same moment. */
function tellingWaits(terminal: Terminal): Hooks {
  let told = 0
  const onWait = ({ wait }: { readonly wait: number }) => {
    const until = performance.now() + wait
    if (wait < longWait || until < told + longWait) return
    told = until
    const seconds = Math.ceil(wait / 1_000)
    terminal.note(`Waiting ${seconds} s for the rate limit of the service.`, { wait: seconds })
  }
  return { onWait, onRetry: (event) => event.reason === 429 && onWait(event) }
}

/** Returns the identity of a token that `/me` describes. */
export function identityOf({ organization, actor, user, scopes }: Me): Identity {
  const party = (given: { id: string; name?: unknown; display_name?: unknown } | null | undefined) => {
    const name = given?.display_name ?? given?.name
    return { id: typeof given?.id === 'string' ? given.id : '', ...(typeof name === 'string' && { name }) }
  }
  // The service could send anything.
  const known = Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === 'string') : undefined
  if (party(organization).id === '' || (actor !== 'app' && actor !== 'self')) {
    const hint = 'Check that SUPPORT_WORKSPACE_URL is the address of the service.'
    throw new CommandError(70, 'The service does not say whose token it is.', hint)
  }
  return { organization: party(organization), actor, scopes: known, ...(user && { user: party(user) }) } as Identity
}

/** A URL only selects among its own logins, so that no other service sees a token. */
function chooseLogin(logins: readonly Login[], name: string | undefined, url: string | undefined): Login | undefined {
  const fits = ({ baseUrl }: Login) => url === undefined || baseUrl === url
  if (name === undefined) return logins.find(fits)
  const login = findLogin(logins, name)
  if (fits(login)) return login
  throw new CommandError(
    77,
    `The login "${name}" is for ${login.baseUrl}, and SUPPORT_WORKSPACE_URL is ${url}.`,
    'Its token is sent nowhere else. Unset the variable, or log in to that service.',
  )
}

/** There is no token for the service. */
export class NotLoggedInError extends CommandError {
  constructor(url: string | undefined) {
    const where = url === undefined ? '' : ` for ${url}`
    const hint = 'Log in, or set SUPPORT_WORKSPACE_TOKEN. Choose the operations that you need with --for.'
    super(77, `There is no login${where}.`, hint, firstLogin(url, 'conversations.list'))
  }
}

/** Returns the command for a login of which nothing is known but the service and an operation that it is for. */
function firstLogin(url: string | undefined, operation: string, actor: readonly string[] = []): readonly string[] {
  return commandOf('login', ...(url === undefined ? [] : ['--base-url', url]), ...actor, '--for', operation)
}

/** Adds to the error of a token in the environment where it came from, and a login as the next command. */
export function adviseVariable(thrown: unknown, { source, baseUrl }: Origin): void {
  if (source !== 'environment' || !(thrown instanceof AuthenticationError)) return
  const failed = operations.find(({ id }) => id === thrown.operation)
  const { id, actor } = failed?.scope === undefined ? { id: 'conversations.list', actor: undefined } : failed
  const advice =
    'The token is in SUPPORT_WORKSPACE_TOKEN. Set another one, or unset the variable and log in. Choose the operations that you need with --for.'
  Object.assign(thrown, { advice, next: firstLogin(baseUrl, id, actor === 'self' ? ['--actor', 'self'] : []) })
}

/** Returns the command for another login of the same name, at the same service. */
export function loginAgain({ profile, baseUrl }: Origin, actor: Actor, scopes: readonly string[]): readonly string[] {
  const name = profile === undefined ? [] : ['--profile', profile]
  const where = baseUrl === defaultUrl ? [] : ['--base-url', baseUrl]
  return commandOf('login', ...name, ...where, '--actor', actor, '--scope', [...new Set(scopes)].join(','))
}

/** Adds a new login to an error as the next command, with the scopes of the last login and the scopes that were missing. */
function suggestLogin(thrown: unknown, origin: Origin, { actor, scopes = [] }: Connection): void {
  if (!isSupportWorkspaceError(thrown) || (thrown instanceof CommandError && thrown.next !== undefined)) return
  const needsSelf = thrown instanceof ActorSelfRequiredError
  const scope = needsSelf ? operations.find(({ id }) => id === thrown.operation)?.scope : undefined
  const missing = thrown instanceof InsufficientScopeError ? thrown.scopesToRequest : scope === undefined ? [] : [scope]
  if (thrown.remedy !== 'reconnect' && !needsSelf && missing.length === 0) return
  Object.assign(thrown, { next: loginAgain(origin, needsSelf ? 'self' : actor, [...scopes, ...missing]) })
}
