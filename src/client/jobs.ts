import type { ClientOptions } from '../core/index.ts'
import { isSupportWorkspaceError, type Remedy } from '../errors/index.ts'

/** The corresponding codes of `sysexits.h`: EX_DATAERR, EX_SOFTWARE, EX_TEMPFAIL, EX_NOPERM. */
const exitCodes: Readonly<Record<Remedy, number>> = { verify: 65, fix: 70, retry: 75, reconnect: 77 }

/**
 * Returns the exit code for an error that a program ends with: 65 for the remedy `verify`, 70 for `fix`, 75 for `retry`
 * and 77 for `reconnect`. Cron, systemd or a supervisor can act on it. Any other error, or a remedy that this version
 * does not know, is 1.
 *
 * @example
 * process.exitCode = exitCodeOf(new Error('a bug'))
 */
export function exitCodeOf(error: unknown): number {
  return isSupportWorkspaceError(error) ? (exitCodes[error.remedy] ?? 1) : 1
}

/**
 * Client options for programs that run unattended, such as an export at night, because they can wait longer before they
 * fail.
 *
 * @example
 * const patient = workspace.withOptions(jobOptions)
 * console.log((await patient.conversations.list().toArray()).length)
 */
export const jobOptions = {
  /** 30 seconds, the default. An attempt that hangs is ended, because the next one usually works. */
  timeout: 30_000,
  /**
   * No limit, because under a rate limit the last of many calls can wait for hours. In an outage, `maxRetries` ends the
   * call.
   */
  totalTimeout: Number.POSITIVE_INFINITY,
  /** Ten retries, which wait up to 55 seconds in all. They outlast the restart of a server or a load balancer. */
  maxRetries: 10,
  /**
   * 15 minutes. If the service asks for a longer wait, the job ends with `retry`, and its scheduler starts it again.
   */
  maxRetryAfter: 900_000,
} as const satisfies Partial<ClientOptions>
