/** What every process of this example reads from the environment. */
export interface Settings {
  /** Base URL of the service. */
  readonly baseUrl: string
  /** A `redis://` URL, or the path of a Unix socket. */
  readonly redisUrl: string
  /** A `postgres://` URL, or the path of a SQLite file. */
  readonly databaseUrl: string
  /** Encrypts the stored tokens. At least 32 characters. */
  readonly storeSecret: string
  /** Time between the starts of two sweeps of a connection, in milliseconds. */
  readonly interval: number
  /** Whether to add a note to each new conversation. */
  readonly addNotes: boolean
  /** Number of sweeps that a worker process runs at a time. Most of the time they wait, for responses and rate limits. */
  readonly concurrency: number
}

export function readSettings(): Settings {
  return {
    baseUrl: required('BASE_URL'),
    redisUrl: required('REDIS_URL'),
    databaseUrl: required('DATABASE_URL'),
    storeSecret: required('STORE_SECRET'),
    interval: Number(process.env.SYNC_INTERVAL ?? 60) * 1000,
    addNotes: process.env.FLEET_NOTES === '1',
    concurrency: Number(process.env.CONCURRENCY ?? 20),
  }
}

/** Returns the environment of a process that reads these settings. */
export function toEnvironment(settings: Settings): NodeJS.ProcessEnv {
  return {
    BASE_URL: settings.baseUrl,
    REDIS_URL: settings.redisUrl,
    DATABASE_URL: settings.databaseUrl,
    STORE_SECRET: settings.storeSecret,
    SYNC_INTERVAL: String(settings.interval / 1000),
    FLEET_NOTES: settings.addNotes ? '1' : '0',
    CONCURRENCY: String(settings.concurrency),
  }
}

function required(name: string): string {
  const value = process.env[name]
  if (value) return value
  throw new Error(`Set ${name}.`)
}
