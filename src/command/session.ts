import type { Command } from 'commander'
import { operations } from '../client/index.ts'
import {
  ActorSelfRequiredError,
  type ChangeableOptions,
  InsufficientScopeError,
  isSupportWorkspaceError,
  SupportWorkspace,
} from '../index.ts'
import { parseBaseUrl } from '../shared/credentials.ts'
import { CommandError, commandOf, suggest } from './errors.ts'
import { checkName, findLogin, type Login, Logins, newest, type Register } from './logins.ts'
import type { Io, Terminal } from './terminal.ts'

const defaultUrl = 'https://api.supportwire.app'

/** Whose data a command reads or writes. */
export interface Session {
  /** Where the token comes from. */
  readonly source: 'environment' | 'login'
  /** The file or the variable that has the token. */
  readonly storedIn: string
  /** The only service that the token is sent to. */
  readonly baseUrl: string
  /** The stored login; undefined if the token comes from the environment. */
  readonly login: Login | undefined
  readonly workspace: SupportWorkspace
  readToken(): Promise<string>
}

/** The options of every command that needs a token. */
export interface SessionFlags {
  readonly profile?: string
}

/** Adds the options of every command that needs a token. */
export function withSessionOptions(command: Command): Command {
  return command
    .option('--profile <name>', 'use this login (default: $SUPPORT_WORKSPACE_PROFILE, or the current login)')
    .option('--json', 'print JSON lines, and errors as JSON')
}

/** Returns the base URL that the environment names, if any. */
export function givenUrl({ env }: Io): string | undefined {
  const { SUPPORT_WORKSPACE_URL: url } = env
  return url === undefined || url === '' ? undefined : readBaseUrl(url)
}

/** Returns a base URL as it is stored and compared. */
export function readBaseUrl(url = defaultUrl): string {
  return parseBaseUrl(url, false).href.replace(/\/$/, '')
}

/** Runs a function with a client for the token that the environment or a login has. */
export async function withSession<Result>(
  terminal: Terminal,
  { profile }: SessionFlags,
  use: (session: Session) => Promise<Result>,
  client: ChangeableOptions = {},
): Promise<Result> {
  const { io } = terminal
  const token = io.env.SUPPORT_WORKSPACE_TOKEN
  if (token !== undefined && token !== '') {
    if (profile !== undefined) terminal.note('SUPPORT_WORKSPACE_TOKEN is set, and wins over --profile.')
    const baseUrl = givenUrl(io) ?? readBaseUrl()
    const workspace = new SupportWorkspace({ ...client, baseUrl, accessToken: token })
    const storedIn = 'SUPPORT_WORKSPACE_TOKEN'
    return use({ source: 'environment', storedIn, baseUrl, login: undefined, workspace, readToken: async () => token })
  }
  const logins = await Logins.openExisting(io)
  try {
    const url = givenUrl(io)
    const name = checkName(profile ?? (io.env.SUPPORT_WORKSPACE_PROFILE || undefined))
    const login = logins && chooseLogin(await logins.read(), name, url)
    if (logins === undefined || login === undefined) throw new NotLoggedInError(url)
    for (const repair of logins.repairs) terminal.note(repair)
    const { baseUrl, connection } = login
    try {
      const workspace = await logins.storeOf(baseUrl, client).workspace(connection.key)
      const storedIn = logins.file
      return await use({ source: 'login', storedIn, baseUrl, login, workspace, readToken: () => logins.tokenOf(login) })
    } catch (thrown) {
      suggestLogin(thrown, login)
      throw thrown
    }
  } finally {
    logins?.close()
  }
}

/** A URL only selects among its own logins, so that no other service sees a token. */
function chooseLogin(register: Register, name: string | undefined, url: string | undefined): Login | undefined {
  const { current, logins } = register
  const fits = ({ baseUrl }: Login) => url === undefined || baseUrl === url
  if (name === undefined)
    return logins.find((login) => login.name === current && fits(login)) ?? newest(logins.filter(fits))
  const login = findLogin(register, name)
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
    const next = commandOf('login', ...(url === undefined ? [] : ['--base-url', url]), '--for', 'conversations.list')
    super(77, `There is no login${where}.`, hint, next)
  }
}

/** Suggests a new login after an error, with the scopes of the last login and the scopes that were missing. */
function suggestLogin(thrown: unknown, { name, baseUrl, connection }: Login): void {
  if (!isSupportWorkspaceError(thrown)) return
  const needsSelf = thrown instanceof ActorSelfRequiredError
  const scope = needsSelf ? operations.find(({ id }) => id === thrown.operation)?.scope : undefined
  const missing = thrown instanceof InsufficientScopeError ? thrown.scopesToRequest : scope === undefined ? [] : [scope]
  if (thrown.remedy !== 'reconnect' && !needsSelf && missing.length === 0) return
  const scopes = [...new Set([...(connection.scopes ?? []), ...missing])]
  const actor = needsSelf ? 'self' : connection.actor
  const where = baseUrl === defaultUrl ? [] : ['--base-url', baseUrl]
  suggest(thrown, commandOf('login', '--profile', name, ...where, '--actor', actor, '--scope', scopes.join(',')))
}
