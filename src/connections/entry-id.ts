/** Names an entry: the time of its login and 80 random bits. No id is ever used twice. */
export type EntryId = string

/** The second form is that of version 0.1: random only. */
export const idPattern = /^([0-9a-f]{12}-[0-9a-f]{20}|[0-9a-f]{32})$/

/** @param time in ms since the epoch */
export function newEntryId(time: number): EntryId {
  const random = Array.from(crypto.getRandomValues(new Uint8Array(10)), (byte) => byte.toString(16).padStart(2, '0'))
  return `${Math.max(0, Math.trunc(time)).toString(16).padStart(12, '0')}-${random.join('')}`
}

let last = 0

/** The time for the ids of a login, in ms since the epoch. No two in a process are the same, so they have an order. */
export function loginTime(): number {
  last = Math.max(Date.now(), last + 1)
  return last
}

/** When the login of an entry was, in ms since the epoch; -1 where the id does not tell. */
export function timeOf(id: EntryId): number {
  return id.includes('-') ? Number.parseInt(id, 16) : -1
}

/** Sorts ids, oldest first. */
export function byAge(one: EntryId, other: EntryId): number {
  return timeOf(one) - timeOf(other) || (one < other ? -1 : one > other ? 1 : 0)
}
