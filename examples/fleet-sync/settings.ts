// Reads the settings from environment variables.

export type Settings = Readonly<ReturnType<typeof readSettings>>

/** A setting that this process cannot work with. */
export class SettingsError extends Error {}

/** @throws SettingsError if one is missing or not a number. Times are returned in milliseconds. */
export function readSettings(env: NodeJS.ProcessEnv = process.env) {
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
    /** A `redis://` URL, or the path of a Unix socket. */
    redisUrl: required('REDIS_URL'),
    /** A `postgres://` URL. */
    databaseUrl: required('DATABASE_URL'),
    /** Secrets for the stored tokens: the first encrypts, and each of them can decrypt. At least 32 characters each. */
    storeSecrets: env.STORE_SECRETS ? env.STORE_SECRETS.split(' ') : [required('STORE_SECRET')],
    /** Time between two passes of an organization. */
    interval: number('SYNC_INTERVAL', 60) * 1_000,
    /** Time in which the messages of an unchanged conversation are read once. */
    auditEvery: number('AUDIT_EVERY', 86_400) * 1_000,
    /** Number of slots of a worker process: organizations that it reads at a time. */
    slots: Math.ceil(number('SLOTS', 20)),
    /** How long changes, deleted items, and organizations that have left, are kept. */
    retention: number('RETENTION_DAYS', 30) * 86_400_000,
    /** Number of worker processes that the supervisor keeps running. */
    workers: Math.ceil(number('WORKERS', 2)),
    /** Address of this machine at which the page is served. The page has no login. */
    host: env.HOST ?? '127.0.0.1',
    port: number('PORT', 3_000, 0),
  }
}
