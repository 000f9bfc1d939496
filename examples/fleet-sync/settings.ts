// Reads the settings from environment variables.

/** What every process reads from the environment. */
export interface Settings {
  readonly baseUrl: string
  /** A `redis://` URL, or the path of a Unix socket. */
  readonly redisUrl: string
  /** A `postgres://` URL, or the path of a SQLite file. */
  readonly databaseUrl: string
  /** Secrets for the stored tokens: the first encrypts, and each of them can decrypt. At least 32 characters each. */
  readonly storeSecrets: readonly [string, ...string[]]
  /** Default time between two sync passes of an organization, in milliseconds. */
  readonly interval: number
  /** Longest time that a job keeps its slot, in milliseconds. Then it goes to the back of the queue. */
  readonly slice: number
  /** Number of slots of a worker process: organizations that it reads at a time. */
  readonly slots: number
  /** The messages of an unchanged conversation are read once in this many sync passes. */
  readonly readAllEvery: number
  /** How long changes, deleted items, and organizations that have left, are kept, in milliseconds. */
  readonly retention: number
  /** Whether to add a note to each conversation whose messages are skipped. Needs connections with `actor=self`. */
  readonly addNotes: boolean
  /** Number of worker processes that the supervisor keeps running. */
  readonly workers: number
  /** Address of this machine at which the page is served. The page has no login. */
  readonly host: string
  readonly port: number
  /** Port at which a worker process without `start.ts` serves `/health`. */
  readonly healthPort: number | undefined
}

/** A setting that this process cannot work with. */
export class SettingsError extends Error {}

/** @throws SettingsError if one is missing or not a number. */
export function readSettings(env: NodeJS.ProcessEnv = process.env): Settings {
  const required = (name: string) => {
    const value = env[name]
    if (value) return value
    throw new SettingsError(`Set ${name}.`)
  }
  const number = (name: string, byDefault: number, least = Number.MIN_VALUE) => {
    const value = Number(env[name] ?? byDefault)
    if (value >= least) return value
    throw new SettingsError(`${name} must be a positive number.`)
  }
  return {
    baseUrl: required('BASE_URL'),
    redisUrl: required('REDIS_URL'),
    databaseUrl: required('DATABASE_URL'),
    storeSecrets: env.STORE_SECRETS ? (env.STORE_SECRETS.split(' ') as [string]) : [required('STORE_SECRET')],
    interval: number('SYNC_INTERVAL', 60) * 1_000,
    slice: number('SLICE', 10) * 1_000,
    slots: number('SLOTS', 20),
    readAllEvery: Math.ceil(number('READ_ALL_EVERY', 10)),
    retention: number('RETENTION_DAYS', 30) * 86_400_000,
    addNotes: env.FLEET_NOTES === '1',
    workers: Math.ceil(number('WORKERS', 2)),
    host: env.HOST ?? '127.0.0.1',
    port: number('PORT', 3_000, 0),
    healthPort: env.HEALTH_PORT === undefined ? undefined : number('HEALTH_PORT', 0, 0),
  }
}
