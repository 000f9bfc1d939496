import { isDeepStrictEqual } from 'node:util'
import { type Command, Option } from '@commander-js/extra-typings'
import { jobOptions } from '../index.ts'
import { type AccessToken, type Connection, ConnectionStore, OAuthApp, scopesFor } from '../oauth/index.ts'
import { isLoopback } from '../shared/credentials.ts'
import { showIdentity } from './account.ts'
import { type Answer, listenAt } from './callback.ts'
import { CommandError, describeFailure, programName, usage } from './errors.ts'
import { findOperation, operationList } from './find-operation.ts'
import { givenName, type KnownApp, type Login, Logins, nameOf } from './logins.ts'
import { listOf, type OptionsOf } from './options.ts'
import { serviceUrl } from './session.ts'
import type { Terminal } from './terminal.ts'

const notes = `
One of --for and --scope is required. In a terminal, the command asks for what
else is missing. The client secret is in SUPPORT_WORKSPACE_CLIENT_SECRET or
asked for, and not stored. For a sandbox on this machine, its own values are
the default: press Enter at the question for the secret.

The address of the login is printed first. Open it as an admin, on any machine.
If the browser cannot come back to this machine, paste the address that it
landed on.

Creating messages, notes, conversations and contacts, and inviting members,
needs --actor self. Such a token acts as you.

Operations for --for:
${operationList()}
`

const declareLogin = (program: Command) =>
  program
    .command('login')
    .description('log in and store the token')
    .option('--for <operations>', 'what the token is for, such as conversations.list,messages.create')
    .option('--scope <scopes>', 'scopes to request, such as conversations:read,tasks:read')
    .addOption(
      new Option('--actor <actor>', 'act as the app, or as yourself').choices(['app', 'self'] as const).default('app'),
    )
    .option('--client-id <id>', 'client id of the app (default: that of the last login)')
    .option('--redirect-uri <uri>', 'redirect URI, as registered for the app (default: that of the last login)')
    .option('--base-url <url>', 'the service (default: $SUPPORT_WORKSPACE_URL, or https://api.supportwire.app)')
    .option('--profile <name>', 'name of the login (default: default, or the organization)')
    .option('--expect-organization <id or name>', 'refuse the token of another organization')
    .option('--replace', 'let --profile be the name of another organization')
    .option('--no-browser', 'only print the address')
    .option('--with-token', 'read a token from stdin instead, for example of a secret store')
    .addHelpText('after', notes)

type Flags = OptionsOf<typeof declareLogin>

/** Adds `login`, which gets a token from an admin's consent or from stdin, and stores it. */
export function addLogin(program: Command, terminal: Terminal): void {
  declareLogin(program).action((flags) => login(flags, terminal))
}

async function login(flags: Flags, terminal: Terminal): Promise<void> {
  const { io } = terminal
  const baseUrl = serviceUrl(io, flags.baseUrl)
  const name = givenName(io, flags.profile)
  // What is wrong with the options, before a folder is created.
  if (!flags.withToken) requestedScopes(flags)
  // Before the consent, which would be lost if the token could not be stored.
  using logins = await Logins.open(terminal)
  const before = (await logins.list()).find((each) => each.name === name)?.connection.organization
  if (before !== undefined && !flags.replace) {
    terminal.say(`The login "${name}" belongs to ${nameOf(before)}. Choose that organization.`)
  }
  const needs = flags.withToken ? undefined : await findNeeds(flags, baseUrl, await logins.appOf(baseUrl), terminal)
  const keep = async (token: AccessToken | string): Promise<Login> => {
    // Asks the service whose token it is, before anything is written.
    const client = { maxRetries: jobOptions.maxRetries, logger: terminal.logger }
    const identity = await new ConnectionStore({ baseUrl, client }).save(token)
    checkOrganization(identity, flags.expectOrganization)
    return logins.save(token, identity, { baseUrl, name, replace: flags.replace, app: needs?.app })
  }
  const { connection, name: chosen } =
    needs === undefined
      ? await keep(await readToken(terminal))
      : await receive(
          new OAuthApp({ ...needs.app, baseUrl, clientSecret: needs.clientSecret }),
          needs.scope,
          flags,
          keep,
          terminal,
        )
  if (io.env.SUPPORT_WORKSPACE_TOKEN) {
    terminal.note('SUPPORT_WORKSPACE_TOKEN is set. Commands without --profile use that token, and not this login.')
  }
  const missing = needs?.scope.filter((each) => connection.scopes?.includes(each) === false) ?? []
  if (missing.length > 0) terminal.note(`Not granted: ${missing.join(', ')}.`, { missing })
  await showIdentity(terminal, connection, { source: 'login', profile: chosen, storedIn: logins.file, baseUrl })
}

/** What a login needs. */
interface LoginNeeds {
  readonly scope: readonly string[]
  readonly app: KnownApp
  readonly clientSecret: string
}

/** What a sandbox on this machine has, unless it was started with others. */
const sandboxApp = {
  clientId: 'app_sandbox',
  redirectUri: 'http://127.0.0.1:3000/callback',
  clientSecret: 'secret_sandbox',
}

/**
 * Returns what a login needs: from the options, the environment, the last login to the service and a person, in this
 * order. The error names everything that is missing.
 */
async function findNeeds(
  flags: Flags,
  baseUrl: string,
  known: KnownApp | undefined,
  terminal: Terminal,
): Promise<LoginNeeds> {
  const scope = requestedScopes(flags)
  const usual = isLoopback(new URL(baseUrl)) ? sandboxApp : undefined
  const values = {
    clientId: flags.clientId ?? known?.clientId ?? usual?.clientId,
    redirectUri: flags.redirectUri ?? known?.redirectUri ?? usual?.redirectUri,
    clientSecret: terminal.io.env.SUPPORT_WORKSPACE_CLIENT_SECRET || undefined,
  }
  if (!terminal.canAsk) values.clientSecret ??= usual?.clientSecret
  const missing = [
    ...(scope.length === 0
      ? ['--for OPERATIONS or --scope SCOPES, because a token can do no more than it asked for']
      : []),
    ...(values.clientId === undefined ? ['--client-id ID, of your app'] : []),
    ...(values.redirectUri === undefined ? ['--redirect-uri URI, as it is registered for your app'] : []),
    ...(values.clientSecret === undefined
      ? ['the client secret, in SUPPORT_WORKSPACE_CLIENT_SECRET or in a terminal']
      : []),
  ]
  if (missing.length > 0 && (!terminal.canAsk || scope.length === 0)) {
    const list = missing.map((each) => `\n  ${each}`).join('')
    const hint = `\nThe next login to ${baseUrl} remembers client id and redirect URI.`
    const all = scope.length === 0 ? `\nOperations:\n${operationList()}` : ''
    throw usage(`The login to ${baseUrl} lacks:${list}`, `${hint}${all}`)
  }
  const clientId = values.clientId ?? typed(await terminal.ask('Client id of your app: '), 'client id')
  const redirectUri = values.redirectUri ?? typed(await terminal.ask('Redirect URI of your app: '), 'redirect URI')
  const question = usual === undefined ? 'Client secret of your app: ' : 'Client secret (Enter for that of a sandbox): '
  const clientSecret =
    values.clientSecret ?? typed((await terminal.askSecret(question)) || usual?.clientSecret, 'client secret')
  return { scope, app: { clientId, redirectUri }, clientSecret }
}

/** Returns an answer, or names what was not typed. */
function typed(answer: string | undefined, what: string): string {
  if (answer) return answer
  const others = what === 'client secret' ? ', or set SUPPORT_WORKSPACE_CLIENT_SECRET' : ''
  throw usage(`No ${what} was typed.`, `Run it again and type that of your app${others}.`)
}

function requestedScopes({ for: operations, scope, actor }: Flags): string[] {
  const wanted = listOf(operations ?? '').map(findOperation)
  const authoring = wanted.find((operation) => operation.actor === 'self')
  if (authoring !== undefined && actor === 'app')
    throw usage(`${authoring.id} needs a token that acts as you.`, 'Pass --actor self.')
  return [...new Set([...scopesFor(...wanted.map(({ id }) => id)), ...listOf(scope ?? '')])]
}

/** Reads the token of `--with-token`. A terminal would show it as it is typed. */
async function readToken(terminal: Terminal): Promise<string> {
  if (terminal.io.stdin.isTTY) {
    throw usage(
      '--with-token reads a pipe, and stdin is a terminal.',
      `For example: pass show token | ${programName} login --with-token`,
    )
  }
  return String(await terminal.readAll()).trim()
}

function checkOrganization({ organization }: Connection, expected: string | undefined): void {
  if (expected === undefined || expected === organization.id || expected === organization.name) return
  throw new CommandError(
    77,
    `The token belongs to ${nameOf(organization)}, and not to ${expected}.`,
    'Nothing was stored. Log in again, and choose the other organization.',
  )
}

/**
 * Waits until the browser comes back, or the person pastes the address of the callback.
 *
 * @param keep identifies and stores the token
 */
async function receive(
  app: OAuthApp,
  scope: readonly string[],
  { actor, browser }: Flags,
  keep: (token: AccessToken) => Promise<Login>,
  terminal: Terminal,
): Promise<Login> {
  const { signal, loginTimeout = 300_000, openBrowser } = terminal.io
  const { url, transaction } = await app.startLogin({ scope, actor })
  signal.throwIfAborted()
  const outcome = Promise.withResolvers<Login>()
  // An interrupt can come before the outcome is awaited.
  outcome.promise.catch(() => {})
  let login: Promise<Login> | undefined
  const answer = async (address: string): Promise<Answer> => {
    if (!isCallback(address, url)) return { status: 400, text: 'This is not the address of the login.' }
    // A browser can send the same request twice.
    login ??= app.finishLogin(address, transaction, { signal }).then(keep)
    try {
      const stored = await login
      const text = `Logged in to ${nameOf(stored.connection.organization)}. You can close this page.`
      return { status: 200, text, sent: () => outcome.resolve(stored) }
    } catch (thrown) {
      const { message, hint } = describeFailure(thrown, [])
      return { status: 400, text: `The login has failed. ${message} ${hint ?? ''}`, sent: () => outcome.reject(thrown) }
    }
  }
  const late = new CommandError(124, 'The login took too long.', 'Run the same command again.')
  const timer = setTimeout(() => outcome.reject(late), loginTimeout)
  signal.addEventListener('abort', () => outcome.reject(signal.reason), { once: true })
  const { close, problem } = await listenAt(app.redirectUri, answer)
  const atEnd = () => {
    // Nothing can bring the answer any more.
    if (problem !== undefined && login === undefined)
      outcome.reject(
        usage(`${problem} And stdin is closed.`, 'Free the port, or run this where the address can be pasted.'),
      )
  }
  const stopReading = terminal.onLine(async (line) => {
    if (line.trim() === '') return
    const { sent } = await answer(line.trim())
    if (sent !== undefined) sent()
    else terminal.note('That is not the address that the browser landed on. Paste all of it, from http to its end.')
  }, atEnd)
  try {
    const wait = problem === undefined ? 'If the browser cannot come back here, ' : `${problem} After the consent, `
    const paste = `${wait}paste the address that the browser landed on.`
    terminal.note(`Open this address as an admin:\n\n  ${url}\n\n${paste}`, { address: url })
    // The result is ignored, because on some machines the opener succeeds although it opens no browser.
    if (browser && terminal.canAsk) openBrowser(url).catch(() => {})
    return await outcome.promise
  } finally {
    clearTimeout(timer)
    stopReading()
    close()
  }
}

/** Whether an address is the redirect URI with the state of this login. Others do not end the login. */
function isCallback(address: string, authorizeUrl: string): boolean {
  if (!URL.canParse(address)) return false
  const { origin, pathname, searchParams } = new URL(address)
  const asked = new URL(authorizeUrl).searchParams
  const expected = new URL(asked.get('redirect_uri') ?? '')
  const isThere = origin === expected.origin && pathname === expected.pathname
  return isThere && isDeepStrictEqual(searchParams.getAll('state'), asked.getAll('state'))
}
