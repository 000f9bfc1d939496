/**
 * The wait that a `Retry-After` header asks for, in ms: seconds or an HTTP date (RFC 9110, section 10.2.3).
 * Undefined when there is none or it is neither.
 */
export function parseRetryAfter(value: string | null, now: number = Date.now()): number | undefined {
  const text = value?.trim() ?? ''
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000
  // An HTTP date begins with the name of a day; Date.parse alone would take "-1" and "2030" for dates.
  if (!/^[A-Z][a-z]+,? /.test(text)) return undefined
  // The oldest of the three forms of a date names no zone; it is GMT like the others.
  const date = Date.parse(/ [A-Z]+$/.test(text) ? text : `${text} GMT`)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
