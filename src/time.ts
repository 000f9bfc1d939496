/**
 * The date of a timestamp of the service. Most are epoch seconds (specification, section 1); null and absent stay
 * undefined.
 *
 * @param seconds epoch seconds.
 */
export function toDate(seconds: number): Date
export function toDate(seconds: number | null | undefined): Date | undefined
export function toDate(seconds: number | null | undefined): Date | undefined {
  return typeof seconds === 'number' ? new Date(seconds * 1000) : undefined
}
