import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'

export interface PostgresServer {
  /** Creates an empty database and returns its URL. */
  createDatabase(): Promise<string>
  /** Ends it as a crash does, and starts it again after `pause` milliseconds. */
  crash(pause: number): Promise<void>
  /** Ends the connections of all clients. */
  terminate(): Promise<void>
  /** Stops responding for `pause` milliseconds, as after a failover: connections stay open. */
  silence(pause: number): Promise<void>
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
  const start = async () => {
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
    const stop = async (signal: NodeJS.Signals) => {
      server.kill(signal)
      await ended
    }
    return { pid: server.pid ?? 0, stop }
  }
  let server = await start()
  const urlOf = (database: string) => `postgres://postgres@localhost/${database}?host=${encodeURIComponent(folder)}`
  const run = async (sql: string) => {
    const client = new pg.Client(urlOf('postgres'))
    await client.connect()
    await client.query(sql)
    await client.end()
  }
  let databases = 0
  return {
    createDatabase: async () => {
      databases += 1
      const name = `test_${databases}`
      await run(`CREATE DATABASE ${name}`)
      return urlOf(name)
    },
    crash: async (pause) => {
      await server.stop('SIGQUIT')
      await setTimeout(pause)
      server = await start()
    },
    terminate: () => run('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()'),
    silence: async (pause) => {
      const children = execFileSync('ps', ['--ppid', String(server.pid), '-o', 'pid='], { encoding: 'utf8' })
      const pids = [server.pid, ...children.trim().split(/\s+/).map(Number)]
      for (const pid of pids) kill(pid, 'SIGSTOP')
      await setTimeout(pause)
      for (const pid of pids) kill(pid, 'SIGCONT')
    },
    close: async () => {
      // A smart shutdown, which waits for the connections that are being closed. A faster one would end them with an error.
      await server.stop('SIGTERM')
      rmSync(folder, { recursive: true })
    },
  }
}

/** A process may have ended meanwhile. */
function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {}
}

/** Postgres refuses to run as root. Returns an ordinary user for it; undefined if this process is not root. */
function ordinaryUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}
