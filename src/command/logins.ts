import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ChangeableOptions } from '../index.ts'
import { type AccessToken, type Connection, ConnectionStore } from '../oauth/index.ts'
import { parseObject } from '../shared/json.ts'
import { type SqliteStorage, sqliteStorage } from '../storage/index.ts'
import { CommandError, commandOf, usage } from './errors.ts'
import { checkPrivateFile, dataFolder, preparePrivateFolder, requireSqlite } from './private-files.ts'
import type { Io } from './terminal.ts'

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
  readonly baseUrl: string
  readonly clientId: string
  readonly redirectUri: string
}

/** The names of the logins, beside their tokens. */
export interface Register {
  readonly current?: string
  readonly logins: readonly Login[]
  readonly apps: readonly KnownApp[]
}

const empty: Register = { logins: [], apps: [] }

/** The key of the register in the storage, which also has the connections. */
const registerKey = 'command:logins'

/** How to save a token. */
export interface SaveOptions {
  readonly baseUrl: string
  /** The name that was asked for. */
  readonly name: string | undefined
  /** Whether the name can be taken from another organization. */
  readonly replace: boolean | undefined
  readonly app?: KnownApp
}

/**
 * The logins of the user of this machine, in one SQLite file. The tokens are in connection stores, one for each
 * service, and the register has their names. Two processes can log in and out at the same time.
 */
export class Logins {
  readonly file: string
  /** The changes to files that other users could read, in sentences. */
  readonly repairs: readonly string[]
  readonly #storage: SqliteStorage

  private constructor(file: string, repairs: readonly string[]) {
    this.file = file
    this.repairs = repairs
    this.#storage = sqliteStorage(file)
  }

  /** Opens the file, which is created if need be. */
  static async open({ env, platform }: Io): Promise<Logins> {
    requireSqlite('Stored logins')
    const folder = dataFolder({ env, platform })
    const ofFolder = await preparePrivateFolder(folder, platform)
    const file = join(folder, 'logins.db')
    const ofFiles: string[] = []
    for (const path of [file, `${file}-wal`, `${file}-shm`]) ofFiles.push(...(await checkPrivateFile(path, platform)))
    // A copy would lose what another process still writes to the file.
    if (ofFiles.length > 0)
      ofFiles.push(`Who opened it before can still read it, and later tokens too: remove ${file}* and log in again.`)
    const logins = new Logins(file, [...ofFolder, ...ofFiles])
    // Creates the file before the consent, so that a problem with the file is found first.
    await logins.read()
    return logins
  }

  /** Opens the file, if there is one. */
  static async openExisting(io: Io): Promise<Logins | undefined> {
    return existsSync(join(dataFolder(io), 'logins.db')) ? Logins.open(io) : undefined
  }

  close(): void {
    this.#storage.close()
  }

  async read(): Promise<Register> {
    return parseRegister(await this.#storage.get(registerKey))
  }

  /** Returns the store with the tokens of a service. A token that is found revoked is dropped. */
  storeOf(baseUrl: string, client: ChangeableOptions = {}): ConnectionStore {
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
    const { name, before } = chooseName(await this.read(), identity, options)
    const login: Login = { name, baseUrl: options.baseUrl, connection: await store.save(token) }
    const register = await this.#change(({ logins, apps }) => ({
      current: name,
      // Other names of the same connection have the new token as well.
      logins: [
        ...logins
          .filter((each) => each.name !== name)
          .map((each) => (isSame(each, login) ? { ...login, name: each.name } : each)),
        login,
      ],
      apps: options.app ? [options.app, ...apps.filter(({ baseUrl }) => baseUrl !== options.baseUrl)] : apps,
    }))
    if (before !== undefined) await this.#forget(before, register)
    return login
  }

  /** Makes a login the current one. */
  async use(name: string): Promise<void> {
    await this.#change((register) => {
      findLogin(register, name)
      return { ...register, current: name }
    })
  }

  /** Removes a login and its token, unless a newer one has taken its place. */
  async remove(seen: Login): Promise<void> {
    const register = await this.#change(({ current, logins, apps }) => {
      const now = findLogin({ logins, apps }, seen.name)
      if (!isSame(now, seen) || now.connection.connectedAt !== seen.connection.connectedAt) {
        throw new CommandError(75, `There is a newer login "${seen.name}".`, 'Log out again to remove that one.')
      }
      const left = logins.filter(({ name }) => name !== seen.name)
      const next = current === seen.name ? newest(left)?.name : current
      return { ...(next !== undefined && { current: next }), logins: left, apps }
    })
    await this.#forget(seen, register)
  }

  /** Returns the token of a login. The store gives it to none but the requests of its clients. */
  async tokenOf({ baseUrl, connection }: Login): Promise<string> {
    let header: string | null = null
    const workspace = await this.storeOf(baseUrl).workspace(connection.key, {
      validation: 'off',
      fetch: async (_url, init) => {
        header = new Headers(init?.headers as Record<string, string>).get('authorization')
        return Response.json({})
      },
    })
    await workspace.me()
    return String(header).replace(/^Bearer /, '')
  }

  /** Removes a token to which no name leads any more. */
  async #forget(login: Login, { logins }: Register): Promise<void> {
    const { baseUrl, connection } = login
    if (logins.some((each) => isSame(each, login))) return
    const store = this.storeOf(baseUrl)
    if ((await store.get(connection.key))?.connectedAt === connection.connectedAt) await store.remove(connection.key)
  }

  async #change(decide: (register: Register) => Register): Promise<Register> {
    for (;;) {
      const before = (await this.#storage.get(registerKey)) ?? null
      const register = decide(parseRegister(before))
      if (await this.#storage.compareAndSet(registerKey, before, JSON.stringify(register))) return register
    }
  }
}

/** Checks the file, because another program might have written to it. */
function parseRegister(text: string | null | undefined): Register {
  if (text === null || text === undefined) return empty
  const { current, logins, apps } = parseObject(text) ?? {}
  if (!Array.isArray(logins) || !Array.isArray(apps)) {
    throw new CommandError(70, 'The list of logins is damaged.', 'Remove the file of the logins, and log in again.')
  }
  return { ...(typeof current === 'string' && { current }), logins, apps }
}

/** Whether two logins are of the same connection, and so have the same token. */
function isSame(one: Pick<Login, 'baseUrl' | 'connection'>, other: Pick<Login, 'baseUrl' | 'connection'>): boolean {
  return one.baseUrl === other.baseUrl && one.connection.key === other.connection.key
}

/** Returns the login that was made last. */
export function newest(logins: readonly Login[]): Login | undefined {
  return [...logins].sort((one, other) => other.connection.connectedAt - one.connection.connectedAt)[0]
}

/** Returns the login with a name. */
export function findLogin({ logins }: Register, name: string): Login {
  const login = logins.find((each) => each.name === name)
  if (login !== undefined) return login
  const names = logins.map((each) => each.name).join(', ') || 'none'
  throw new CommandError(2, `There is no login "${name}".`, `There are: ${names}.`, commandOf('logins'))
}

/** Returns the name of a new login, and the login that it replaces. */
function chooseName({ logins }: Register, identity: Connection, { name, baseUrl, replace }: SaveOptions) {
  const login = { baseUrl, connection: identity }
  const chosen = name ?? logins.find((each) => isSame(each, login))?.name ?? freeName(logins, identity)
  const before = logins.find((each) => each.name === chosen)
  const isOther =
    before !== undefined &&
    (before.baseUrl !== baseUrl || before.connection.organization.id !== identity.organization.id)
  if (isOther && !replace) {
    const { organization } = before.connection
    throw new CommandError(
      2,
      `The name "${chosen}" belongs to ${organization.name ?? organization.id}, and the new token does not.`,
      'Nothing was stored. Log in with another --profile, or with --replace.',
    )
  }
  return { name: chosen, before }
}

/** The first login is `default`. Others are named by their organization and actor. */
function freeName(logins: readonly Login[], { organization, actor }: Connection): string {
  const slug = `${organization.name ?? organization.id}-${actor}`.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  const isFree = (name: string) => !logins.some((login) => login.name === name)
  for (let count = 0; ; count += 1) {
    const name = count === 0 ? 'default' : `${slug.replace(/^-|-$/g, '')}${count === 1 ? '' : `-${count}`}`
    if (isFree(name)) return name
  }
}

/** Checks the name of a profile. */
export function checkName(name: string | undefined): string | undefined {
  if (name === undefined || /^\w[\w-]{0,49}$/.test(name)) return name
  throw usage(
    'The name of a profile has letters, digits, "_" and "-" only, and no "-" at its start.',
    'Choose another.',
  )
}
