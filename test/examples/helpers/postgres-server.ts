import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import pg from 'pg'

export interface PostgresServer {
  /** Creates an empty database and returns its URL. */
  createDatabase(): Promise<string>
  close(): Promise<void>
}

/** The folder of `initdb` and `postgres`; undefined if they are not installed. */
export function findPostgres(): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...globSync('/usr/lib/postgresql/*/bin')]
  return folders.find((folder) => ['initdb', 'postgres'].every((name) => existsSync(join(folder, name))))
}

/** Starts a server with a new cluster in a temporary folder, on a Unix socket. It does not survive a crash of the machine. */
export async function startPostgres(binaries: string): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'))
  const user = ordinaryUser()
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const initialize = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync']
  execFileSync(join(binaries, 'initdb'), initialize, { ...user, cwd: folder, stdio: 'ignore' })
  const options = ['-D', data, '-k', folder, '-c', 'listen_addresses=', '-c', 'fsync=off', '-c', 'max_connections=200']
  const server = spawn(join(binaries, 'postgres'), options, {
    ...user,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(server, 'close')
  await new Promise<void>((resolve, reject) => {
    let log = ''
    server.stderr.on('data', (piece: Buffer) => {
      log += piece
      if (log.includes('ready to accept connections')) resolve()
    })
    ended.then(() => reject(new Error(`postgres ended before it was ready:\n${log}`)), reject)
  })
  const urlOf = (database: string) => `postgres://postgres@localhost/${database}?host=${encodeURIComponent(folder)}`
  const admin = new pg.Client(urlOf('postgres'))
  await admin.connect()
  let databases = 0
  return {
    createDatabase: async () => {
      databases += 1
      const name = `test_${databases}`
      await admin.query(`CREATE DATABASE ${name}`)
      return urlOf(name)
    },
    close: async () => {
      await admin.end()
      // A smart shutdown, which waits for the connections that are being closed. A faster one would end them with an error.
      server.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true })
    },
  }
}

/** Postgres refuses to run as root. Returns an ordinary user for it; undefined if this process is not root. */
function ordinaryUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}
