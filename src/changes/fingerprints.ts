import { isObject } from '../shared/json.ts'

/** Increase it if the same item gets another fingerprint, for example because of another algorithm. */
const algorithm = 1

/** Compares items with fingerprints of their earlier states. */
export class Fingerprints {
  readonly #ignored: ReadonlySet<string>
  #mark: Promise<string> | undefined

  /** @param ignored names of fields, at any depth, that do not count */
  constructor(ignored: readonly string[]) {
    this.#ignored = new Set(ignored)
  }

  /**
   * Returns a short digest of what counts of an item, with a mark of the rules before it. 64 bits of SHA-256 suffice,
   * because a fingerprint is only compared with earlier fingerprints of the same item.
   */
  async of(item: object): Promise<string> {
    this.#mark ??= digest(JSON.stringify([algorithm, [...this.#ignored].sort()])).then((text) => text.slice(0, 2))
    const counted = (value: object) =>
      Object.fromEntries(
        Object.entries(value)
          .filter(([name]) => !this.#ignored.has(name))
          .sort(([one], [other]) => (one < other ? -1 : 1)),
      )
    const text = JSON.stringify(item, (_, found: unknown) => (isObject(found) ? counted(found) : found))
    return (await this.#mark) + (await digest(text))
  }
}

/** Whether two fingerprints were made by the same rules. Otherwise, comparing them tells nothing about the item. */
export function areComparable(one: string, other: string): boolean {
  return one.slice(0, 2) === other.slice(0, 2)
}

/** Returns 64 bits of the SHA-256 digest of a text as base64url, in 11 characters. */
async function digest(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)), 0, 8)
  return btoa(String.fromCharCode(...bytes))
    .slice(0, 11)
    .replaceAll('+', '-')
    .replaceAll('/', '_')
}
