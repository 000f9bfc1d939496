import type { Command } from '@commander-js/extra-typings'
import { usage } from './errors.ts'
import { showRows } from './format.ts'
import { findLogin, givenName, type Login, Logins, nameOf } from './logins.ts'
import { profileOption } from './options.ts'
import { type Identity, identityOf, type Origin, type Session, type SessionFlags, withSession } from './session.ts'
import { oneLine, type Terminal } from './terminal.ts'

/** Adds `whoami`, `token`, `logins`, `use` and `logout`. */
export function addIdentity(program: Command, terminal: Terminal): void {
  program
    .command('whoami')
    .description('ask the service whose token it is; the health check of a job')
    .addOption(profileOption)
    .action((flags) => withSession(terminal, flags, (session) => whoami(session, terminal)))
  program
    .command('token')
    .description('print the token to a pipe')
    .addOption(profileOption)
    .option('--show', 'print it to a terminal too')
    .action((flags) =>
      withSession(terminal, flags, async ({ readToken }) => {
        if (terminal.io.stdout.isTTY && !flags.show) throw usage('The token would be shown.', 'Pass --show.')
        const token = await readToken()
        await terminal.show({ token }, token)
      }),
    )
  program
    .command('logins')
    .description('list the stored logins, without their tokens')
    .action(() => listLogins(terminal))
  program
    .command('use')
    .description('make a login the current one')
    .argument('<name>', 'name of the login')
    .action(async (name) => {
      using logins = await Logins.openExisting(terminal)
      const login = logins === undefined ? findLogin([], name) : await logins.use(name)
      await terminal.show(
        currentOf(login),
        `The current login is ${login.name}: ${describeIdentity(login.connection)}.`,
      )
    })
  program
    .command('logout')
    .description('remove a stored login and its token')
    .addOption(profileOption)
    .action((flags) => logout(flags, terminal))
}

/** Shows whose token it is, and where it is kept. */
export async function showIdentity(terminal: Terminal, identity: Identity, origin: Origin): Promise<void> {
  const { organization, actor, user, scopes } = identity
  const rows = [
    ...(origin.profile === undefined ? [] : [['profile', origin.profile]]),
    ['service', origin.baseUrl],
    ['scopes', oneLine(scopes?.join(' ') ?? 'unknown')],
    ['token in', placeOf(origin, terminal.io.platform)],
  ]
  const text = rows.map(([name = '', value]) => `  ${name.padEnd(10)}${value}`).join('\n')
  await terminal.show({ ...origin, organization, actor, user, scopes }, `${describeIdentity(identity)}\n${text}`)
}

/** Returns where a token is kept, and how. */
export function placeOf({ source, storedIn }: Pick<Origin, 'source' | 'storedIn'>, platform: string): string {
  const access = platform === 'win32' ? 'in the folder of your account' : 'readable by you only'
  return source === 'login' ? `${storedIn} (${access}, not encrypted)` : storedIn
}

async function whoami({ workspace, origin }: Session, terminal: Terminal): Promise<void> {
  await showIdentity(terminal, identityOf(await workspace.me({ signal: terminal.io.signal })), origin)
}

/** Returns organization, actor and person in words. */
export function describeIdentity({ organization, actor, user }: Identity): string {
  return `${nameOf(organization)}, ${actor === 'self' ? `as ${user ? nameOf(user) : 'a person'}, self` : 'as the app'}`
}

async function listLogins(terminal: Terminal): Promise<void> {
  using store = await Logins.openExisting(terminal)
  const logins = (await store?.list()) ?? []
  const rows = logins.map(async (login) => {
    const { name, baseUrl, connection } = login
    const { organization, actor, user, scopes, connectedAt } = connection
    const stored = await store?.storeOf(baseUrl).get(connection.key)
    const isRevoked = stored?.revokedAt !== undefined || stored === undefined
    const current = login === logins[0]
    const since = new Date(connectedAt).toISOString().slice(0, 10)
    const who = user === undefined ? actor : `${actor} ${nameOf(user)}`
    const state = isRevoked ? ['revoked'] : []
    return {
      value: { name, current, baseUrl, organization, actor, user, scopes, connectedAt, isRevoked },
      cells: [`${current ? '*' : ' '} ${name}`, nameOf(organization), who, baseUrl, since, ...state],
    }
  })
  await showRows(['  name', 'organization', 'actor', 'service', 'since', ''], await Promise.all(rows), terminal)
  if (logins.length === 0) terminal.note('There are no logins.')
}

async function logout({ profile }: SessionFlags, terminal: Terminal): Promise<void> {
  using store = await Logins.openExisting(terminal)
  const logins = (await store?.list()) ?? []
  const name = givenName(terminal.io, profile)
  const login = name === undefined ? logins[0] : findLogin(logins, name)
  if (store === undefined || login === undefined) return terminal.note('There is no login.')
  const [current] = await store.remove(login)
  terminal.note(
    `The token of ${nameOf(login.connection.organization)} was removed from this machine. It still works: an admin revokes it in the dashboard.`,
  )
  const next =
    current === undefined
      ? 'No login is left.'
      : `The current login is now ${current.name}: ${describeIdentity(current.connection)}.`
  await terminal.show({ removed: login.name, ...currentOf(current) }, next)
}

/** Returns the login that commands use now, for programs. */
function currentOf(login: Login | undefined) {
  return { current: login?.name ?? null, organization: login?.connection.organization ?? null }
}
