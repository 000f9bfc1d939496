import { toHex } from '../bytes.ts'

/** Identifies an entry: the time of its login and 80 random bits. An id is never used twice. */
export type EntryId = string

/** Whether a value has the form of an id. The second form is that of version 0.1: random only. */
export function isEntryId(value: unknown): value is EntryId {
  return typeof value === 'string' && /^([0-9a-f]{12}-[0-9a-f]{20}|[0-9a-f]{32})$/.test(value)
}

/** @param time in milliseconds since the Unix epoch */
export function newEntryId(time: number): EntryId {
  const random = toHex(crypto.getRandomValues(new Uint8Array(10)))
  return `${Math.max(0, Math.trunc(time)).toString(16).padStart(12, '0')}-${random}`
}

let last = 0

/** Returns the time for the ids of a login, in milliseconds since the Unix epoch. Unique in a process, so logins have an order. */
export function loginTime(): number {
  last = Math.max(Date.now(), last + 1)
  return last
}

/** Returns the login time of an entry, in milliseconds since the Unix epoch; -1 if the id does not contain it. */
export function timeOf(id: EntryId): number {
  return id.includes('-') ? Number.parseInt(id, 16) : -1
}

/** Compares ids by age, oldest first. */
export function byAge(one: EntryId, other: EntryId): number {
  return timeOf(one) - timeOf(other) || (one < other ? -1 : one > other ? 1 : 0)
}
