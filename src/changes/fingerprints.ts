import { sha256 } from '../shared/bytes.ts'
import { sortedJson } from '../shared/json.ts'

/** Increase it if the same item gets another fingerprint, for example because of another algorithm. */
const algorithm = 2

/** The length of the mark at the start of a fingerprint. */
const markLength = 4

/**
 * Returns a function that returns a short digest of what counts of an item, with a mark of the rules before it.
 *
 * @param ignored names of fields, at any depth, that do not count
 */
export function fingerprints(ignored: readonly string[]): (item: object) => Promise<string> {
  const names = new Set(ignored)
  const mark = digest(JSON.stringify([algorithm, [...names].sort()]))
  return async (item) => (await mark).slice(0, markLength) + (await digest(sortedJson(item, names)))
}

/** Whether two fingerprints were made by the same rules. Otherwise, comparing them tells nothing about the item. */
export function areComparable(one: string, other: string): boolean {
  return one.slice(0, markLength) === other.slice(0, markLength)
}

/**
 * Whether the time for the audit of a conversation lies between two times. It comes once in each period. If the
 * conversation changes, its time moves, and its messages are read anyway.
 */
export function isTurn(print: string, after: number, until: number, period: number): boolean {
  const phase = Number.parseInt(print.slice(-8), 16) / 2 ** 32
  return Math.floor(until / period - phase) > Math.floor(after / period - phase)
}

/** 64 bits suffice, because a fingerprint is only compared with earlier fingerprints of the same item. */
async function digest(text: string): Promise<string> {
  return (await sha256(text)).slice(0, 16)
}
