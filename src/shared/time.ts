/**
 * Converts a timestamp of the service to a `Date`. Returns undefined for null and undefined.
 *
 * @example
 * const [newest] = (await workspace.conversations.list()).data
 * console.log(toDate(newest?.inserted_at)?.toISOString())
 *
 * @param seconds seconds since the Unix epoch ([specification](docs/service.md#conventions))
 */
export function toDate(seconds: number): Date
export function toDate(seconds: number | null | undefined): Date | undefined
export function toDate(seconds: number | null | undefined): Date | undefined {
  return typeof seconds === 'number' ? new Date(seconds * 1000) : undefined
}

/** The latest time that is read as seconds since the epoch, in the year 5138. Milliseconds are larger. */
const latestTime = 1e11

/**
 * Returns a timestamp of the service in seconds. Undefined for anything else, such as milliseconds or a text.
 *
 * @internal
 */
export function secondsOf(time: unknown): number | undefined {
  return typeof time === 'number' && time < latestTime ? time : undefined
}
