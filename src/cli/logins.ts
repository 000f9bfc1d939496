import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { ChangeableOptions } from '../index.ts'
import { type AccessToken, type Connection, ConnectionStore } from '../oauth/index.ts'
import { type SqliteStorage, sqliteStorage } from '../storage/index.ts'
import { CommandError, commandOf, usage } from './errors.ts'
import { createFolder, dataFolder, inDataFolder, makePrivate, requireSqlite } from './private-files.ts'
import { type Io, oneLine, type Terminal } from './terminal.ts'

/** A login under its name. */
export interface Login {
  /** The name of the profile. */
  readonly name: string
  /** The service that the token was issued for. It is sent nowhere else. */
  readonly baseUrl: string
  readonly connection: Connection
}

/** The app that a login was made with. Its secret is not kept. */
export interface KnownApp {
  readonly clientId: string
  readonly redirectUri: string
}

/** The key of the list of logins in the storage, which also has the connections. */
const listKey = 'command:logins'

/** How to save a token. */
interface SaveOptions {
  readonly baseUrl: string
  /** The name that was asked for. */
  readonly name: string | undefined
  /** Whether the name can be taken from another organization. */
  readonly replace: boolean | undefined
  readonly app: KnownApp | undefined
}

/**
 * The logins of the user of this machine, in one SQLite file. The tokens are in connection stores, one for each
 * service, and a list has their names. Two processes can log in and out at the same time.
 */
export class Logins {
  readonly file: string
  readonly #storage: SqliteStorage
  readonly #terminal: Terminal

  private constructor(file: string, terminal: Terminal) {
    this.file = file
    this.#terminal = terminal
    this.#storage = sqliteStorage(file)
  }

  /** Opens the file, which is created if need be. */
  static async open(terminal: Terminal): Promise<Logins> {
    requireSqlite('Stored logins')
    const file = fileOf(terminal.io)
    return inDataFolder(file, () => Logins.#open(file, terminal))
  }

  static async #open(file: string, terminal: Terminal): Promise<Logins> {
    const folder = dirname(file)
    await createFolder(folder)
    await makePrivate(folder, 'folder', terminal)
    let wasOpen = false
    for (const path of [file, `${file}-wal`, `${file}-shm`])
      wasOpen = (await makePrivate(path, 'file', terminal)) || wasOpen
    // A copy would lose what another process still writes to the file.
    if (wasOpen)
      terminal.note(`Who opened it before can still read it, and later tokens too: remove ${file}* and log in again.`)
    const logins = new Logins(file, terminal)
    // Creates the file before the consent, so that a problem with the file is found first.
    await logins.list()
    return logins
  }

  /** Opens the file, if there is one. */
  static async openExisting(terminal: Terminal): Promise<Logins | undefined> {
    // A link that leads nowhere is refused, too.
    const file = fileOf(terminal.io)
    const found = await inDataFolder(file, async () => lstatSync(file, { throwIfNoEntry: false }))
    return found && Logins.open(terminal)
  }

  [Symbol.dispose](): void {
    this.#storage.close()
  }

  /** Returns the logins. The first one is the current one. */
  async list(): Promise<readonly Login[]> {
    return JSON.parse((await this.#storage.get(listKey)) ?? '[]')
  }

  /** Returns the app of the last login to a service. */
  async appOf(baseUrl: string): Promise<KnownApp | undefined> {
    return JSON.parse((await this.#storage.get(appKey(baseUrl))) ?? 'null') ?? undefined
  }

  /** Returns the store with the tokens of a service. A token that is found revoked is dropped. */
  storeOf(baseUrl: string, client: ChangeableOptions = { logger: this.#terminal.logger }): ConnectionStore {
    return new ConnectionStore({ baseUrl, storage: this.#storage, keepRevoked: true, client })
  }

  /**
   * Saves a token under a name, and makes it the current one.
   *
   * @param identity what the token is bound to
   * @throws CommandError if the name belongs to another organization. Nothing is written then.
   */
  async save(token: AccessToken | string, identity: Connection, options: SaveOptions): Promise<Login> {
    const store = this.storeOf(options.baseUrl)
    const { name, before } = chooseName(await this.list(), identity, options)
    const login: Login = { name, baseUrl: options.baseUrl, connection: await store.save(token) }
    const logins = await this.#change((before) => [
      login,
      // Other names of the same connection have the new token as well.
      ...without(name, before).map((each) => (isSame(each, login) ? { ...login, name: each.name } : each)),
    ])
    if (options.app !== undefined) {
      const key = appKey(login.baseUrl)
      // If another login has changed it meanwhile, either app is the last one.
      await this.#storage.compareAndSet(key, (await this.#storage.get(key)) ?? null, JSON.stringify(options.app))
    }
    if (before !== undefined) await this.#forget(before, logins)
    return login
  }

  /** Makes a login the current one. */
  async use(name: string): Promise<Login> {
    const logins = await this.#change((before) => [findLogin(before, name), ...without(name, before)])
    return findLogin(logins, name)
  }

  /** Removes a login and its token, unless a newer one has taken its place. Returns the other logins. */
  async remove(seen: Login): Promise<readonly Login[]> {
    const left = await this.#change((logins) => {
      if (!isDeepStrictEqual(findLogin(logins, seen.name), seen)) {
        throw new CommandError(75, `There is a newer login "${seen.name}".`, 'Log out again to remove that one.')
      }
      return without(seen.name, logins)
    })
    await this.#forget(seen, left)
    return left
  }

  /** Returns the token of a login. */
  tokenOf({ baseUrl, connection }: Login): Promise<string> {
    return this.storeOf(baseUrl).token(connection.key)
  }

  /** Removes a token to which no name leads any more. */
  async #forget(login: Login, logins: readonly Login[]): Promise<void> {
    const { baseUrl, connection } = login
    if (logins.some((each) => isSame(each, login))) return
    const store = this.storeOf(baseUrl)
    if ((await store.get(connection.key))?.connectedAt === connection.connectedAt) await store.remove(connection.key)
  }

  async #change(decide: (logins: readonly Login[]) => readonly Login[]): Promise<readonly Login[]> {
    for (;;) {
      const before = (await this.#storage.get(listKey)) ?? null
      const logins = decide(JSON.parse(before ?? '[]'))
      if (await this.#storage.compareAndSet(listKey, before, JSON.stringify(logins))) return logins
    }
  }
}

function appKey(baseUrl: string): string {
  return `command:app:${baseUrl}`
}

function fileOf(io: Io): string {
  return join(dataFolder(io), 'logins.db')
}

function without(name: string, logins: readonly Login[]): readonly Login[] {
  return logins.filter((login) => login.name !== name)
}

/** Whether two logins are of the same connection, and so have the same token. */
function isSame(one: Omit<Login, 'name'>, other: Omit<Login, 'name'>): boolean {
  return one.baseUrl === other.baseUrl && one.connection.key === other.connection.key
}

/** Returns the name of a party, and its id if it has another one. */
export function nameOf({ name, id }: Connection['organization']): string {
  return oneLine(name === undefined ? id : `${name} (${id})`)
}

/** Returns the login with a name. */
export function findLogin(logins: readonly Login[], name: string): Login {
  const login = logins.find((each) => each.name === name)
  if (login !== undefined) return login
  const names = logins.map((each) => each.name).join(', ') || 'none'
  throw new CommandError(2, `There is no login "${name}".`, `There are: ${names}.`, commandOf('logins'))
}

/** Returns the name of a new login, and the login that it replaces. */
function chooseName(logins: readonly Login[], identity: Connection, { name, baseUrl, replace }: SaveOptions) {
  const login = { baseUrl, connection: identity }
  const chosen = name ?? logins.find((each) => isSame(each, login))?.name ?? freeName(logins, identity)
  const before = logins.find((each) => each.name === chosen)
  const organization = before?.connection.organization
  const isSameOrganization = before?.baseUrl === baseUrl && organization?.id === identity.organization.id
  if (organization !== undefined && !isSameOrganization && !replace) {
    throw new CommandError(
      2,
      `The name "${chosen}" belongs to ${nameOf(organization)}, and the new token does not.`,
      'Nothing was stored. Log in with another --profile, or with --replace.',
    )
  }
  return { name: chosen, before }
}

/** The first login is `default`. Others are named by their organization and actor. */
function freeName(logins: readonly Login[], { organization, actor }: Connection): string {
  const words = `${organization.name ?? organization.id}-${actor}`.toLowerCase().match(/[a-z0-9]+/g) ?? []
  const slug = words.join('-')
  const numbered = logins.map((_, index) => `${slug}-${index + 2}`)
  const isFree = (name: string) => !logins.some((login) => login.name === name)
  return ['default', slug, ...numbered].find(isFree) ?? slug
}

/** Returns the name of a login that an option or the environment names, if any. */
export function givenName({ env }: Io, option: string | undefined): string | undefined {
  const name = option ?? (env.SUPPORT_WORKSPACE_PROFILE || undefined)
  if (name === undefined || /^\w[\w-]{0,49}$/.test(name)) return name
  throw usage(
    'The name of a profile has letters, digits, "_" and "-" only, and no "-" at its start.',
    'Choose another.',
  )
}
